package apns

import (
	"context"
	"errors"
	"net/http/httptrace"
	"time"

	"github.com/sideshow/apns2"

	"github.com/beckon-dev/beckon/push"
)

// Reasons of ours.
const (
	reasonTokenForm = "token_form"
	reasonTooLarge  = "payload_too_large"
	reasonSigning   = "signing"
	reasonNotSent   = "not_sent"
	reasonNoAnswer  = "no_answer"
)

// Send makes one attempt. A token that Apple calls expired is signed anew, on a
// new connection, once: the old connection would go on refusing for ever.
func (p *Provider) Send(ctx context.Context, m push.Message) push.Verdict {
	if !ValidToken(m.Address.Token) {
		return push.Verdict{Class: push.Bug, Reason: reasonTokenForm}
	}
	slots := p.slots[m.Address.Env]
	if len(slots) == 0 {
		return push.Verdict{Class: push.Suspect, Reason: push.ReasonNoEnvironment}
	}
	body, err := Render(m)
	if err != nil {
		return push.Verdict{Class: push.Bug, Reason: reasonTooLarge}
	}
	l := slots[p.next.Add(1)%uint64(len(slots))]
	v := l.attempt(ctx, m, body)
	if v.Reason == apns2.ReasonExpiredProviderToken {
		v = l.attempt(ctx, m, body)
	}
	return v
}

// attempt is one HTTP exchange on the slot's session, and what the answer means
// for that session.
func (l *slot) attempt(ctx context.Context, m push.Message, body []byte) push.Verdict {
	s, leave, err := l.enter(ctx)
	switch {
	case errors.Is(err, errSigning):
		return push.Verdict{Class: push.Cred, Reason: reasonSigning}
	case err != nil:
		return push.Verdict{Class: push.Backoff, Reason: reasonNotSent, Unsent: true}
	}
	defer l.release(s)
	answers := s.answers.Load()
	v := l.exchange(ctx, s, m, body)
	leave(v.Class != push.Cred && v.Reason != reasonNotSent && v.Reason != reasonNoAnswer)
	switch v.Reason {
	case apns2.ReasonExpiredProviderToken:
		l.renew(s)
	case apns2.ReasonInternalServerError, apns2.ReasonTooManyProviderTokenUpdates:
		// After the first some connections answer nothing else any more; the
		// second is remembered per connection.
		l.reconnect(s)
	case reasonNoAnswer:
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && s.answers.Load() == answers {
			// Nothing came back for a whole attempt: it is not this answer that is
			// slow, and the next attempt must not find out again.
			l.reconnect(s)
		}
	}
	return v
}

func (l *slot) exchange(ctx context.Context, s *session, m push.Message, body []byte) push.Verdict {
	x := &exchange{body: body, bearer: s.token.bearer}
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { x.wrote.Store(true) }})
	_, err := s.client.PushWithContext(ctx, notification(m))
	switch {
	case x.answer.Status != 0:
		s.answers.Add(1)
		return Classify(x.answer, l.config.Now())
	case err != nil && x.wrote.Load():
		return push.Verdict{Class: push.Ambiguous, Reason: reasonNoAnswer}
	}
	v := push.Verdict{Class: push.Backoff, Reason: reasonNotSent, Unsent: true}
	if soon, ok := errors.AsType[tooSoonError](err); ok {
		v.RetryAfter = soon.wait
	}
	return v
}

// notification is the part of the message that apns2 turns into headers; the
// transport puts in the body.
func notification(m push.Message) *apns2.Notification {
	n := &apns2.Notification{
		ApnsID:      m.ProviderID,
		CollapseID:  m.CollapseID,
		DeviceToken: m.Address.Token,
		Topic:       m.Address.Topic,
		Priority:    apns2.PriorityHigh,
		PushType:    apns2.PushTypeAlert,
		Expiration:  time.Unix(nowOrNever, 0),
		Payload:     struct{}{},
	}
	switch m.Payload.Kind {
	case push.Sweep: // Apple takes no other priority for these
		n.PushType, n.Priority = apns2.PushTypeBackground, apns2.PriorityLow
	case push.BadgeOnly:
		n.Priority = apns2.PriorityLow
	default:
	}
	if !m.ExpiresAt.IsZero() {
		n.Expiration = time.Unix(max(m.ExpiresAt.Unix(), nowOrNever+1), 0)
	}
	return n
}
