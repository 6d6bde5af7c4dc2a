package plan

import (
	"time"

	"github.com/beckon-dev/beckon/push"
)

const (
	// wireLimit is the smallest payload limit of the vendors (APNs and FCM,
	// 4,096 bytes).
	wireLimit = 4096
	// frame is kept free for what the vendor's own format adds around text and
	// payload; providers measure the result again.
	frame = 512
	// minText is the room that buttons must leave for words.
	minText = 256
)

// Input is everything Compose turns into a message.
type Input struct {
	// Row is the claimed delivery, Address what Fresh returned for it.
	Row     push.Delivery
	Address push.Address
	// Card is set for a decision, Result for a result, Closing for a withdrawal.
	Card    *Card
	Result  *Result
	Closing Closing
	// Tags are the collapse ids that a sweep takes away.
	Tags []string
	// Asked is the lower-case hex digest an answer has to name.
	Asked string
	// AsOf is the account's opaque stamp at this read.
	AsOf  string
	Badge push.Badge
	// Deadline is the decision's, zero where it has none.
	Deadline time.Time
	// OptedIn and Probation: see Offer.
	OptedIn   bool
	Probation bool
	// Tap mints the tap token of one verb. It is called at most once for each
	// verb and only for verbs that may be offered; an empty token means no
	// button. Nil means no buttons at all.
	Tap func(push.Verb) string
}

// Compose renders one message. Words are cut before anything else, and where
// anything of the card is cut there is no Approve.
func Compose(in Input) push.Message {
	m := push.Message{
		Delivery:   in.Row.ID,
		Address:    in.Address,
		ProviderID: in.Row.ProviderID,
		CollapseID: in.Row.CollapseID,
		ExpiresAt:  in.Row.ExpiresAt,
		Payload: push.Payload{
			Kind:    in.Row.Kind,
			Account: in.Address.AccountTag,
			Subject: in.Row.Subject,
			AsOf:    in.AsOf,
			Badge:   in.Badge,
		},
	}
	if in.Row.Kind == push.DecisionRequired && in.Card != nil {
		m.Payload.Asked, m.Payload.ExpiresAt = in.Asked, in.Deadline
		composeDecision(in, &m)
		return m
	}
	switch in.Row.Kind {
	case push.Withdraw:
		m.Text = push.Text{Title: in.Closing.title()}
		return m
	case push.Test:
		m.Text = push.Text{Title: testTitle}
		return m
	case push.Sweep, push.BadgeOnly:
		composeSilent(in, &m)
		return m
	default: // a result, or a question without its card
	}
	var r Result
	if in.Result != nil {
		r = *in.Result
	}
	m.Text, _ = resultLines(r, in.Address.Level, in.Badge.Count).fit(room(m.Payload))
	return m
}

// maxSweep bounds the payload of a sweep in bytes.
const maxSweep = 3000

// composeSilent names as many handled alerts as fit, the newest first to stay.
// Apple stores one push of an app for a phone that is off: what takes no place on
// the screen must not take that of an alert, so it comes now or never.
func composeSilent(in Input, m *push.Message) {
	m.Payload.Tags = in.Tags
	for len(m.Payload.Tags) > 0 && len(m.Payload.Encode()) > maxSweep {
		m.Payload.Tags = m.Payload.Tags[1:]
	}
	if in.Row.Lane == push.LaneAPNs {
		m.ExpiresAt = time.Time{}
	}
}

// composeDecision tries the richest set of buttons first and gives up Approve
// for a card that does not fit, then Deny for one that leaves no words.
func composeDecision(in Input, m *push.Message) {
	l := decisionLines(*in.Card, in.Address.Level, in.Badge.Count)
	offer := Offer{
		Class: in.Card.Class, MustView: in.Card.MustView, Tappable: in.Card.Tappable,
		Level: in.Address.Level, OptedIn: in.OptedIn, Probation: in.Probation, Whole: l.plain && !in.Card.Marked,
	}
	deny := button(in, push.Deny)
	m.Payload.Actions = deny
	left := room(m.Payload)
	if _, whole := l.fit(left); whole && deny != nil && MayApprove(offer) {
		m.Payload.Actions = append(button(in, push.Approve), deny...)
		if text, whole := l.fit(room(m.Payload)); whole {
			m.Text = text
			return
		}
		m.Payload.Actions = deny
	}
	if left < minText && m.Payload.Actions != nil {
		m.Payload.Actions = nil
		left = room(m.Payload)
	}
	m.Text, _ = l.fit(left)
}

func button(in Input, verb push.Verb) []push.Action {
	if in.Tap == nil || !in.Card.Tappable {
		return nil
	}
	token := in.Tap(verb)
	if token == "" {
		return nil
	}
	return []push.Action{{Verb: verb, Token: token}}
}

// room is what is left for words beside the payload.
func room(p push.Payload) int { return wireLimit - frame - len(p.Encode()) }
