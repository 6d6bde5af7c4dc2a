package phone

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/proof"
)

var (
	// ErrGone answers an alert whose subject the account does not have.
	ErrGone = errors.New("phone: there is nothing behind the alert")
	// ErrNotOpen answers an answer to what is not on the screen of the app.
	ErrNotOpen = errors.New("phone: open the decision first")
	// ErrOption answers an option that the open card does not have.
	ErrOption = errors.New("phone: the card has no such option")
)

// Card is what the opened app shows: a decision with its ways to answer, or a
// result.
type Card struct {
	Decision string `json:"decision,omitempty"`
	Revision uint32 `json:"revision,omitempty"`
	Thread   string `json:"thread"`
	Task     string `json:"task"`
	// State is the decision's; "RESULT" or "FAILURE" for the end of a task.
	State string `json:"state"`
	Title string `json:"title"`
	Class string `json:"class,omitempty"`
	// Reason is the agent's word, Facts are the server's.
	Reason string     `json:"agent_reason,omitempty"`
	Items  []CardItem `json:"items,omitempty"`
	// Text is what a result says.
	Text   string  `json:"text,omitempty"`
	Winner *Winner `json:"winner,omitempty"`

	decision *v1.Decision
}

// CardItem is one question on a card.
type CardItem struct {
	ID       string       `json:"id"`
	Question string       `json:"question,omitempty"`
	Facts    []string     `json:"facts,omitempty"`
	Options  []CardOption `json:"options"`
}

// CardOption is one way to answer it.
type CardOption struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

func decisionCard(d *v1.Decision) Card {
	out := Card{
		Decision: d.GetId(), Revision: d.GetRevision(), Thread: d.GetThreadId(), Task: d.GetTaskId(),
		State: strings.TrimPrefix(d.GetState().String(), "DECISION_STATE_"), Title: d.GetTitle(),
		Class:  strings.TrimPrefix(d.GetEffectClass().String(), "EFFECT_CLASS_"),
		Reason: d.GetAgentReason(), decision: d,
	}
	for _, it := range d.GetItems() {
		item := CardItem{ID: it.GetId(), Question: it.GetQuestion()}
		for _, f := range it.GetFacts() {
			item.Facts = append(item.Facts, f.GetLabel()+": "+f.GetValue())
		}
		for _, o := range it.GetOptions() {
			item.Options = append(item.Options, CardOption{ID: o.GetId(), Label: o.GetLabel()})
		}
		out.Items = append(out.Items, item)
	}
	if w := d.GetAnswer(); w != nil {
		out.Winner = &Winner{w.GetInstallationId(), w.GetInstallationLabel(), w.GetAnswerTime().AsTime()}
	}
	return out
}

// resultCard is the last word of a task in its thread; a.reading is held.
func (a *App) resultCard(thread, task string) Card {
	out := Card{Thread: thread, Task: task, State: "RESULT"}
	var h v1.TaskHeader
	if a.held("", changelog.TaskHeader, task, &h) {
		out.Title = h.GetTitle()
	}
	var last uint64
	for e := range a.views[thread].All() {
		var it v1.Item
		if e.Kind != changelog.Item || proto.Unmarshal(e.Body, &it) != nil || it.GetTaskId() != task || it.GetPosition() < last {
			continue
		}
		if it.GetKind() != v1.ItemKind_ITEM_KIND_RESULT && it.GetKind() != v1.ItemKind_ITEM_KIND_FAILURE {
			continue
		}
		last, out.State = it.GetPosition(), strings.TrimPrefix(it.GetKind().String(), "ITEM_KIND_")
		var said []string
		for _, p := range it.GetParts() {
			if p.GetText() != "" {
				said = append(said, p.GetText())
			}
		}
		out.Text = strings.Join(said, "\n")
	}
	return out
}

// Answer answers the decision that is open in the app, as it was shown. choices
// are option ids, one for each item in order; text goes with the first. The
// result is what the server said; an answer that does not count comes with a
// *RefusedError. Other errors: ErrNotOpen, ErrOption, ErrDigest, those of the
// server.
func (a *App) Answer(ctx context.Context, choices []string, text string) (Result, error) {
	a.pressing.Lock()
	defer a.pressing.Unlock()
	a.mu.Lock()
	card := a.opened
	a.mu.Unlock()
	if card == nil || card.decision == nil {
		return Result{}, ErrNotOpen
	}
	d := card.decision
	items, err := chosen(d, choices, text)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Window) // now or never
	defer cancel()
	result, err := a.answer(ctx, d, items)
	e := Event{
		Kind: Answered, Thread: d.GetThreadId(), Task: d.GetTaskId(), Decision: d.GetId(), Revision: d.GetRevision(),
		Action: strings.Join(choices, ","), Result: &result,
	}
	if err != nil {
		e.Error = err.Error()
	}
	a.tell(e)
	if result.Outcome != "" {
		a.fail(Event{Decision: d.GetId()}, a.Sync(ctx))
	}
	return result, err
}

func chosen(d *v1.Decision, choices []string, text string) ([]*v1.AnswerItem, error) {
	if len(choices) != len(d.GetItems()) {
		return nil, fmt.Errorf("%w: it has %d items", ErrOption, len(d.GetItems()))
	}
	var out []*v1.AnswerItem
	for i, it := range d.GetItems() {
		known := false
		for _, o := range it.GetOptions() {
			known = known || o.GetId() == choices[i]
		}
		if !known {
			return nil, fmt.Errorf("%w: %q", ErrOption, choices[i])
		}
		out = append(out, &v1.AnswerItem{ItemId: it.GetId(), OptionIds: []string{choices[i]}})
	}
	out[0].Text = text
	return out, nil
}

// answer signs with the install key, and with the approval key, which asks for
// the person's face, where the class or the server wants it.
func (a *App) answer(ctx context.Context, d *v1.Decision, items []*v1.AnswerItem) (Result, error) {
	asked, err := proof.DigestFromBytes(d.GetAskedDigest())
	if err != nil {
		return Result{}, ErrDigest
	}
	if err := checkAsked(d, asked); err != nil {
		return Result{}, err
	}
	state, key := a.State(), randomText()
	signer := state.InstallKey
	if d.GetEffectClass() >= v1.EffectClass_EFFECT_CLASS_IRREVERSIBLE {
		signer = state.ApprovalKey
	}
	result, err := a.submit(ctx, d, asked, items, signer, key)
	if err == nil && result.Needed == stepWord(v1.Step_STEP_VERIFIED) {
		result, err = a.submit(ctx, d, asked, items, state.ApprovalKey, key)
	}
	if err == nil && !result.Counted() {
		err = &RefusedError{Result: result}
	}
	return result, err
}

func (a *App) submit(ctx context.Context, d *v1.Decision, asked proof.Digest, items []*v1.AnswerItem, signer []byte, key string) (Result, error) {
	out := Result{AnswerKey: key}
	view, signature, err := a.prove(signer, d.GetId(), d.GetRevision(), asked, items, key)
	if err != nil {
		return out, err
	}
	req := &v1.AnswerDecisionRequest{
		DecisionId: d.GetId(), Revision: d.GetRevision(), AskedDigest: asked[:], ViewDigest: view[:],
		AnswerKey: key, Items: items, Proof: signature, Surface: v1.Surface_SURFACE_APP, Unlocked: true,
	}
	var res *v1.AnswerDecisionResponse
	err = insist(ctx, func(ctx context.Context) error {
		return a.do(ctx, func(ctx context.Context, srv *server) error {
			var err error
			res, err = srv.decisions.AnswerDecision(ctx, req)
			return err
		})
	})
	if err != nil {
		out.Reason = reasonOf(err)
		return out, err
	}
	out.Outcome, out.Needed = outcomeWord(res.GetOutcome()), stepWord(res.GetNeededStep())
	if w := res.GetWinner(); w != nil {
		out.Winner = &Winner{w.GetInstallationId(), w.GetInstallationLabel(), w.GetAnswerTime().AsTime()}
	}
	return out, nil
}
