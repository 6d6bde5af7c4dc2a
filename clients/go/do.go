package beckon

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Do is what the function of an effect does: exactly what g says, once, and it
// returns what the provider gave for it. An error that is not [Definite] means
// that nobody knows.
type Do = func(ctx context.Context, g Go) (receipt string, err error)

// Effect does one thing to the world outside, once in the life of the task: it
// asks the person, unless a rule allows the action; waits as [Task.Ask] does;
// gets leave; runs fn with exactly the arguments that were approved, which may
// be the person's; and says how it went. question is of [AskAction]; its key
// names question and effect. What is done already, in an earlier run too, is no
// error and is not run again.
//
// Once fn runs it is not cut off by a stop, a pause or a shutdown before the
// Worker.Grace has passed: what is cut off halfway is uncertain.
//
// A handler returns the errors. [ErrSuspended]: it sleeps. [*RefusedError]: the
// person does not want it, or did not answer. [*EffectError]: nobody knows how
// it went, and the task is held while the person is asked; or the person has
// settled that it is not done; or the provider has refused. [*KeyError], [*Error].
func (t *Task) Effect(ctx context.Context, question *v1.RequestDecisionRequest, fn Do) (*v1.Effect, error) {
	items := question.GetItems()
	if len(items) != 1 || items[0].GetAction() == nil {
		return nil, errors.New("beckon: an effect needs a question about one action, see AskAction")
	}
	if err := checkKeys([]Wait{ForAnswer(question)}); err != nil {
		return nil, err
	}
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	key, action := question.GetKey(), items[0].GetAction()
	if action.GetEffectClass() == v1.EffectClass_EFFECT_CLASS_READ_PUBLIC {
		action, _ = proto.Clone(action).(*v1.Action)
		e, err := t.begin(ctx, &v1.BeginEffectRequest{Key: key, Action: action}, fn)
		if ReasonOf(err) != reasonNeedsGrant {
			return e, err
		}
	}
	got, err := t.WaitAll(ctx, ForAnswer(question))
	if err != nil {
		return nil, err
	}
	if got[0].Reply.Grant == nil {
		return nil, &RefusedError{Key: key, Reply: got[0].Reply}
	}
	return t.begin(ctx, &v1.BeginEffectRequest{Key: key, GrantId: got[0].Reply.Grant.GetId()}, fn)
}

// EffectBy is [Task.Effect] by an approval that is there already: the grant of
// one item of a decision with several, for example. The key names the effect.
func (t *Task) EffectBy(ctx context.Context, key string, grant *v1.Grant, fn Do) (*v1.Effect, error) {
	if err := checkKeys([]Wait{{timer: key}}); err != nil {
		return nil, err
	}
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	return t.begin(ctx, &v1.BeginEffectRequest{Key: key, GrantId: grant.GetId()}, fn)
}

// Reasons by which GO is refused.
const (
	reasonNeedsGrant   = "NEEDS_GRANT"
	reasonGrantVoid    = "GRANT_VOID"
	reasonGrantExpired = "GRANT_EXPIRED"
)

func (t *Task) begin(ctx context.Context, req *v1.BeginEffectRequest, fn Do) (*v1.Effect, error) {
	e, err := t.work.Do(ctx, req, func(_ context.Context, g Go) (string, error) {
		ctx, finish := outlast(ctx, t.worker.Grace)
		defer finish()
		return fn(ctx, g)
	})
	switch ReasonOf(err) {
	case reasonGrantVoid, ReasonDeniedBefore:
		return e, &RefusedError{Key: req.GetKey(), Reply: Reply{Verdict: Denied}}
	case reasonGrantExpired:
		return e, &RefusedError{Key: req.GetKey(), Reply: Reply{Verdict: Expired}}
	case ReasonKeyReused:
		return e, &KeyError{Key: req.GetKey(), Why: "was used for another effect in this task: each effect needs its own"}
	default:
		return e, err
	}
}
