package beckon_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// BeginEffect says GO to a new effect and to one that failed, as the server
// does; anything else is known.
func (f *fakeServer) BeginEffect(_ context.Context, r *v1.BeginEffectRequest) (*v1.BeginEffectResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.GetGrantId() == "used" {
		return nil, refusal(connect.CodeFailedPrecondition, &v1.ErrorInfo{Reason: "GRANT_USED"})
	}
	if f.effect == nil {
		f.effect = &v1.Effect{Id: "eff", Key: r.GetKey(), Action: &v1.Action{ArgsJson: []byte(`{"n":1}`)}}
	}
	known := f.effect.GetState() != v1.EffectState_EFFECT_STATE_UNSPECIFIED && f.effect.GetState() != v1.EffectState_EFFECT_STATE_FAILED
	if known {
		return &v1.BeginEffectResponse{Outcome: v1.BeginOutcome_BEGIN_OUTCOME_KNOWN, Effect: f.ledger()}, nil
	}
	f.effect.State, f.effect.AttemptId = v1.EffectState_EFFECT_STATE_BEGUN, r.GetAttemptId()
	f.effect.Generation++
	return &v1.BeginEffectResponse{Outcome: v1.BeginOutcome_BEGIN_OUTCOME_GO, Effect: f.ledger(), Permit: "permit"}, nil
}

func (f *fakeServer) ConfirmEffect(_ context.Context, r *v1.ConfirmEffectRequest) (*v1.ConfirmEffectResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.GetGeneration() == f.effect.GetGeneration() {
		f.effect.State, f.effect.Receipt = v1.EffectState_EFFECT_STATE_CONFIRMED, r.GetReceipt()
		if r.GetResult() == v1.EffectResult_EFFECT_RESULT_DEFINITE_FAILURE {
			f.effect.State = v1.EffectState_EFFECT_STATE_FAILED
		}
	}
	return &v1.ConfirmEffectResponse{Effect: f.ledger()}, nil
}

// ledger is a copy of the row; mu is held.
func (f *fakeServer) ledger() *v1.Effect {
	e, _ := proto.Clone(f.effect).(*v1.Effect)
	return e
}

// sender is the outside world: it counts what reaches it.
type sender struct {
	sent int
	got  beckon.Go
	err  error
	// after runs once it was sent.
	after func()
}

func (s *sender) send(_ context.Context, g beckon.Go) (string, error) {
	s.sent++
	s.got = g
	if s.after != nil {
		s.after()
	}
	return "receipt", s.err
}

func approval(grant string) *v1.Decision { return &v1.Decision{Grants: []*v1.Grant{{Id: grant}}} }

// effectWork is a task in hand on a fake server.
func effectWork(t *testing.T) (*fakeServer, *beckon.Work) {
	t.Helper()
	f := newFake()
	return f, working(t, f)
}

// What was approved is run once, with exactly those arguments; what is done is
// not run again, and that is no error.
func TestEffect_RunsOnce(t *testing.T) {
	t.Parallel()
	f, w := effectWork(t)
	s := &sender{}
	for range 3 {
		e, err := w.Effect(t.Context(), "send", approval("grt"), s.send)
		if err != nil || e.GetState() != v1.EffectState_EFFECT_STATE_CONFIRMED || e.GetReceipt() != "receipt" {
			t.Fatal(e, err)
		}
	}
	if s.sent != 1 || string(s.got.Args) != `{"n":1}` || s.got.Permit != "permit" || f.ledger().GetGeneration() != 1 {
		t.Errorf("sent %d times: %+v", s.sent, s.got)
	}
}

// A lost answer to begin or to confirm runs nothing twice, and what was begun
// for nothing is tried again.
func TestEffect_LostAnswers(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*fakeServer, *sender){
		"begin":                func(f *fakeServer, _ *sender) { f.with(func() { f.lose = 1 }) },
		"begin, away for long": func(f *fakeServer, _ *sender) { f.with(func() { f.lose, f.refuse = 6, 3 }) },
		"confirm":              func(f *fakeServer, s *sender) { s.after = func() { f.with(func() { f.lose = 1 }) } },
		"confirm, often": func(f *fakeServer, s *sender) {
			s.after = func() { f.with(func() { f.lose, f.refuse = 6, 3 }) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, w := effectWork(t)
			s := &sender{}
			lose(f, s)
			e, err := w.Effect(t.Context(), "send", approval("grt"), s.send)
			if err != nil || e.GetState() != v1.EffectState_EFFECT_STATE_CONFIRMED || s.sent != 1 {
				t.Errorf("sent %d times, %v, %v", s.sent, e, err)
			}
			if want := map[string]uint32{"begin": 2, "begin, away for long": 2}[name]; want != 0 && e.GetGeneration() != want {
				t.Errorf("generation %d", e.GetGeneration())
			}
		})
	}
}

// A caller that gives up after the thing was done still says that it was.
func TestEffect_ConfirmsAfterCancel(t *testing.T) {
	t.Parallel()
	f, w := effectWork(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := &sender{after: cancel}
	if _, err := w.Effect(ctx, "send", approval("grt"), s.send); err != nil {
		t.Fatal(err)
	}
	if got := f.ledger().GetState(); got != v1.EffectState_EFFECT_STATE_CONFIRMED {
		t.Error(got)
	}
}

// A refusal of the provider is a definite failure; anything else is not known,
// and nothing is said.
func TestEffect_Failures(t *testing.T) {
	t.Parallel()
	refused, timeout := errors.New("402 no money"), errors.New("timeout")
	for name, row := range map[string]struct {
		err  error
		want v1.EffectState
	}{
		"definite": {beckon.Definite(refused), v1.EffectState_EFFECT_STATE_FAILED},
		"unknown":  {timeout, v1.EffectState_EFFECT_STATE_BEGUN},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, w := effectWork(t)
			s := &sender{err: row.err}
			_, err := w.Effect(t.Context(), "send", approval("grt"), s.send)
			e, ok := errors.AsType[*beckon.EffectError](err)
			if !ok || e.Effect.GetState() != row.want || !errors.Is(err, refused) && !errors.Is(err, timeout) {
				t.Errorf("%v", err)
			}
			if got := f.ledger().GetState(); got != row.want {
				t.Error(got)
			}
		})
	}
}

// What is known and not done is a typed error, and nothing is run.
func TestEffect_Known(t *testing.T) {
	t.Parallel()
	for state, done := range map[v1.EffectState]bool{
		v1.EffectState_EFFECT_STATE_BEGUN: false, v1.EffectState_EFFECT_STATE_UNCERTAIN: false,
		v1.EffectState_EFFECT_STATE_RESOLVED_BY_HUMAN: false, v1.EffectState_EFFECT_STATE_CONFIRMED: true,
	} {
		f, w := effectWork(t)
		f.with(func() {
			f.effect = &v1.Effect{Id: "eff", Key: "send", State: state, Generation: 1, AttemptId: "another's"}
		})
		s := &sender{}
		e, err := w.Effect(t.Context(), "send", approval("grt"), s.send)
		known, ok := errors.AsType[*beckon.EffectError](err)
		if s.sent != 0 || ok == done || e.GetState() != state || ok && (known.Effect.GetState() != state || !strings.Contains(err.Error(), state.String())) {
			t.Errorf("%s: sent %d, %v, %v", state, s.sent, e, err)
		}
	}
	_, w := effectWork(t)
	s := &sender{}
	if _, err := w.Effect(t.Context(), "send", approval("used"), s.send); beckon.ReasonOf(err) != "GRANT_USED" || s.sent != 0 {
		t.Errorf("a used grant: %v", err)
	}
	if _, err := w.Effect(t.Context(), "send", &v1.Decision{}, s.send); err == nil || s.sent != 0 {
		t.Errorf("no grant: %v", err)
	}
}
