package apns

import (
	"encoding/json"
	"errors"

	"github.com/beckon-dev/beckon/push"
)

// MaxPayload is the limit of an alert in bytes on the wire (Apple: "Generating a
// remote notification").
const MaxPayload = 4096

// ErrTooLarge answers a message that does not fit, measured as it would be sent.
var ErrTooLarge = errors.New("apns: payload too large")

// Categories an app registers its buttons under. The buttons that can work are
// told by the actions in the payload; the category lets iOS draw them.
const (
	CategoryDecision = "BECKON_DECISION"
	CategoryDeny     = "BECKON_DECISION_DENY"
	CategoryApprove  = "BECKON_DECISION_APPROVE"
	CategoryResult   = "BECKON_RESULT"
)

type wireMessage struct {
	APS    wireAPS         `json:"aps"`
	Beckon json.RawMessage `json:"beckon"`
}

// wireAPS has the keys of Apple's "Generating a remote notification" that we use.
type wireAPS struct {
	Alert     wireAlert `json:"alert"`
	Badge     uint32    `json:"badge,omitempty"`
	Sound     string    `json:"sound,omitempty"`
	ThreadID  string    `json:"thread-id,omitempty"`
	Category  string    `json:"category,omitempty"`
	Level     string    `json:"interruption-level"`
	Relevance float64   `json:"relevance-score,omitempty"`
	Mutable   int       `json:"mutable-content"`
}

// wireQuiet has what a push without an alert consists of.
type wireQuiet struct {
	APS    any             `json:"aps"`
	Beckon json.RawMessage `json:"beckon"`
}

// wireWake asks for the app, wireBadge changes the number and nothing else.
// (Apple: "Generating a remote notification".)
type (
	wireWake struct {
		Available int `json:"content-available"`
	}
	wireBadge struct {
		Badge uint32 `json:"badge"`
	}
)

type wireAlert struct {
	Title string `json:"title"`
	Body  string `json:"body,omitempty"`
}

// Render writes the exact bytes of a message. A badge of zero is left out: it
// would wipe every delivered notification of the app, and only the app itself
// knows when nothing is left to show. The error is ErrTooLarge.
func Render(m push.Message) ([]byte, error) {
	if quiet, is := quietAPS(m); is {
		return sized(push.EncodeJSON(wireQuiet{APS: quiet, Beckon: m.Payload.Encode()}))
	}
	aps := wireAPS{
		Alert:    wireAlert{Title: m.Text.Title, Body: m.Text.Body},
		Badge:    m.Payload.Badge.Count,
		Sound:    "default",
		ThreadID: m.Payload.Thread,
		Category: CategoryResult,
		Level:    "active",
		Mutable:  1,
	}
	switch m.Payload.Kind {
	case push.Withdraw:
		// In the place of what it takes back, without sound or light; the app's
		// extension may remove it altogether. (Apple: "UNNotificationInterruptionLevel",
		// passive.)
		aps.Sound, aps.Category, aps.Level = "", "", "passive"
	case push.Test:
		aps.Category = ""
	case push.DecisionRequired:
		aps.Category, aps.Level, aps.Relevance = CategoryDecision, "time-sensitive", 1
		switch {
		case m.Payload.HasAction(push.Approve):
			aps.Category = CategoryApprove
		case m.Payload.HasAction(push.Deny):
			aps.Category = CategoryDeny
		}
	default: // a result, as it stands
	}
	return sized(push.EncodeJSON(wireMessage{APS: aps, Beckon: m.Payload.Encode()}))
}

// quietAPS is the part of a push that shows nothing. A badge of 0 is not one of
// them; see Render.
func quietAPS(m push.Message) (any, bool) {
	switch m.Payload.Kind {
	case push.Sweep:
		return wireWake{1}, true
	case push.BadgeOnly:
		return wireBadge{m.Payload.Badge.Count}, true
	default:
		return nil, false
	}
}

func sized(body []byte) ([]byte, error) {
	if len(body) > MaxPayload {
		return nil, ErrTooLarge
	}
	return body, nil
}

// ValidToken reports whether a device token has the only form Apple hands out:
// hex of even length. apns2 pastes it into the path as it is, so nothing else
// may come near it. Addresses are checked with it at registration.
func ValidToken(token string) bool {
	if len(token) < 32 || len(token) > 200 || len(token)%2 != 0 {
		return false
	}
	for _, c := range []byte(token) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}
