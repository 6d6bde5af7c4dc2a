package phone

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/sync/proof"
)

// Press is a person's tap on a button of an alert on the lock screen. The result
// is what the server said; an answer that does not count comes with a
// *RefusedError. Other errors: device.ErrNotShown, ErrNoButton, ErrForeign, and
// those of a server that could not be reached.
func (a *App) Press(ctx context.Context, key, verb string) (Result, error) {
	return a.press(ctx, key, verb, false)
}

func (a *App) press(ctx context.Context, key, verb string, auto bool) (Result, error) {
	a.pressing.Lock()
	defer a.pressing.Unlock()
	a.setLast(Result{})
	err := a.cfg.Device.Act(context.WithValue(ctx, autoKey{}, auto), a.cfg.Topic, key, verb)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last, err
}

// autoKey marks the context of a tap nobody made.
type autoKey struct{}

func (a *App) setLast(r Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = r
}

// Act is called by the system when a button was tapped.
func (a *App) Act(ctx context.Context, n device.Notification, verb string) error {
	p, err := a.mine(n)
	if err != nil {
		return err
	}
	e := event(Tapped, n, p)
	e.Action = verb
	e.Auto, _ = ctx.Value(autoKey{}).(bool)
	limited, cancel := context.WithTimeout(ctx, a.cfg.Window)
	defer cancel()
	result, err := a.redeem(limited, n, p, verb)
	a.setLast(result)
	if err != nil {
		e.Error = err.Error()
	}
	e.Result = &result
	a.tell(e)
	if !result.Counted() {
		a.explain(n, result)
	}
	if result.Outcome != "" {
		a.fail(event(Failed, n, p), a.Sync(limited))
	}
	return err
}

// redeem sends what the button stands for, once or, under faults, differently.
func (a *App) redeem(ctx context.Context, n device.Notification, p *v1.PushPayload, verb string) (Result, error) {
	token, ok := tokenOf(p, verb)
	if !ok || len(buttons(n, p, a.now())) == 0 {
		return Result{}, ErrNoButton
	}
	fault := a.Fault()
	switch fault {
	case WrongVerb:
		other := Deny
		if verb == Deny {
			other = Approve
		}
		if token, ok = tokenOf(p, other); !ok {
			return Result{}, ErrNoButton
		}
	case ForgedToken:
		token = forge(token)
	default:
	}
	result, err := a.send(ctx, p, verb, token, randomText())
	if fault == Replay {
		result, err = a.send(ctx, p, verb, token, randomText())
	}
	return result, err
}

// tapBody is the body of POST /act; see PROTOCOL.md §7.
type tapBody struct {
	Token     string `json:"token"`
	AnswerKey string `json:"answer_key"`
	View      string `json:"view,omitempty"`
	Proof     string `json:"proof,omitempty"`
}

// send redeems a token. Denying needs the token alone. Anything else is read
// first, signed, and sent now or never; a lost answer is asked for again under
// the same answer key while the system lets the app run.
func (a *App) send(ctx context.Context, p *v1.PushPayload, verb, token, key string) (Result, error) {
	body := tapBody{Token: token, AnswerKey: key}
	if verb != Deny && a.Fault() != NoProof {
		view, signature, err := a.proveTap(ctx, p, verb, key)
		if err != nil {
			return Result{AnswerKey: key, Reason: reasonOf(err)}, err
		}
		body.View, body.Proof = view.String(), base64.StdEncoding.EncodeToString(signature)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return Result{}, err
	}
	a.mu.Lock()
	srv := a.server
	a.mu.Unlock()
	var result Result
	err = insist(ctx, func(ctx context.Context) error {
		var err error
		result, err = post(ctx, srv, raw)
		return err
	})
	result.AnswerKey = key
	if err != nil {
		return result, fmt.Errorf("phone: send the tap: %w", err)
	}
	if !result.Counted() {
		return result, &RefusedError{Result: result}
	}
	return result, nil
}

// proveTap signs the one answer a verb stands for, about the card as the push
// named it.
func (a *App) proveTap(ctx context.Context, p *v1.PushPayload, verb, key string) (proof.Digest, []byte, error) {
	var d *v1.Decision
	err := insist(ctx, func(ctx context.Context) error {
		return a.do(ctx, func(ctx context.Context, srv *server) error {
			res, err := srv.decisions.GetDecision(ctx, &v1.GetDecisionRequest{DecisionId: p.GetDecision()})
			d = res.GetDecision()
			return err
		})
	})
	if err != nil {
		return proof.Digest{}, nil, fmt.Errorf("phone: read the decision: %w", err)
	}
	items, err := tapItems(d, verb)
	if err != nil {
		return proof.Digest{}, nil, err
	}
	asked, err := proof.ParseDigest(p.GetAskedDigest())
	if err != nil {
		return proof.Digest{}, nil, ErrMalformed
	}
	if p.GetRevision() == d.GetRevision() {
		if err := checkAsked(d, asked); err != nil {
			return proof.Digest{}, nil, err
		}
	}
	return a.prove(a.State().InstallKey, d.GetId(), p.GetRevision(), asked, items, key)
}

// errUnanswered is a server that did not get to judging a tap.
var errUnanswered = errors.New("phone: the server did not answer the tap")

// post sends a tap once. The error is set only where nobody judged it.
func post(ctx context.Context, srv *server, body []byte) (Result, error) {
	if srv == nil {
		return Result{Reason: "NOT_PAIRED"}, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.base+"/act", bytes.NewReader(body))
	if err != nil {
		return Result{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := srv.http.Do(req)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return Result{}, err
	}
	switch res.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Result{Status: res.StatusCode}, errUnanswered
	}
	return readTap(res.StatusCode, raw), nil
}

// readTap reads the answer to a tap: an outcome with perhaps a winner, or the
// reason of a refusal.
func readTap(status int, raw []byte) Result {
	var body struct {
		Outcome    string `json:"outcome"`
		NeededStep int32  `json:"needed_step"`
		Error      struct {
			Reason string `json:"reason"`
		} `json:"error"`
		Winner *struct {
			Installation string    `json:"installation_id"`
			Label        string    `json:"installation_label"`
			Time         time.Time `json:"answer_time"`
		} `json:"winner"`
	}
	out := Result{Status: status}
	if json.Unmarshal(raw, &body) == nil {
		out.Outcome, out.Reason, out.Needed = body.Outcome, body.Error.Reason, stepWord(v1.Step(body.NeededStep))
		if body.Winner != nil {
			out.Winner = &Winner{body.Winner.Installation, body.Winner.Label, body.Winner.Time}
		}
	}
	if status != http.StatusOK && out.Reason == "" {
		out.Reason = http.StatusText(status)
	}
	return out
}

// explain puts up, without a sound, why a tap did not count: the alert it was made
// on is gone, and silence would look like success. It may be opened like the
// one before.
func (a *App) explain(n device.Notification, r Result) {
	n.Title, n.Body = "Not answered from here", "Open to look at it."
	switch r.Outcome {
	case "CONFLICT":
		n.Title = "Already answered"
		if r.Winner != nil && r.Winner.Label != "" {
			n.Title = "Already answered on " + r.Winner.Label
		}
	case "EXPIRED":
		n.Title, n.Body = "Too late", "Nothing was done."
	case "CLOSED":
		n.Title, n.Body = "No longer asked", "Nothing was done."
	case "STALE":
		n.Title = "The question has changed"
	}
	n.ID, n.Category, n.Level = n.ID+"/local", "", device.Passive
	n.Badge, n.Sound, n.Wake, n.Mutable = nil, "", false, false
	a.cfg.Device.Notify(n)
}
