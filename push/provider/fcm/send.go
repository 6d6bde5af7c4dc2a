package fcm

import (
	"context"
	"net/http"

	"firebase.google.com/go/v4/messaging"

	"github.com/beckon-dev/beckon/push"
)

// Reasons of ours.
const (
	reasonTokenForm = "token_form"
	reasonTooLarge  = "payload_too_large"
	reasonKit       = "refused_by_kit"
	reasonNotSent   = "not_sent"
	reasonNoAnswer  = "no_answer"
)

// Send makes one attempt. An access token that FCM refuses is replaced once for
// the same attempt: a refused request delivered nothing.
func (p *Provider) Send(ctx context.Context, m push.Message) push.Verdict {
	if !ValidToken(m.Address.Kind, m.Address.Token) {
		return push.Verdict{Class: push.Bug, Reason: reasonTokenForm}
	}
	message, err := Render(m, p.now())
	if err != nil {
		return push.Verdict{Class: push.Bug, Reason: reasonTooLarge}
	}
	v, refused := p.attempt(ctx, message)
	if refused {
		v, _ = p.attempt(ctx, message)
	}
	return v
}

// attempt is one exchange; refused tells that its access token, which is
// forgotten then, was the fault.
func (p *Provider) attempt(ctx context.Context, message *messaging.Message) (v push.Verdict, refused bool) {
	bearer, err := p.tokens.get(ctx)
	if err != nil {
		return classifyToken(err, p.now()), false
	}
	x := &exchange{bearer: bearer}
	// What the kit returns says less than the answer it was given.
	_, err = p.client.Send(context.WithValue(ctx, exchangeKey{}, x), message)
	switch {
	case x.answer.Status != 0:
		v = Classify(x.answer, p.now())
	case x.wrote.Load():
		return push.Verdict{Class: push.Ambiguous, Reason: reasonNoAnswer}, false
	case err != nil && !x.started.Load() && ctx.Err() == nil:
		return push.Verdict{Class: push.Bug, Reason: reasonKit}, false
	default:
		return push.Verdict{Class: push.Backoff, Reason: reasonNotSent, Unsent: true}, false
	}
	// A key of Apple's that Firebase holds is refused with 401 as well.
	if x.answer.Status == http.StatusUnauthorized && v.Reason != codeThirdPartyAuth && v.Reason != codeAPNsAuth {
		p.tokens.drop(bearer)
		return v, true
	}
	return v, false
}
