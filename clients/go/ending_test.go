package beckon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

func effectError(s v1.EffectState) error { return &EffectError{Effect: &v1.Effect{State: s}} }

// Each kind of return, under each reason to stop, ends a run in the way the
// package's documentation says.
func TestEndingOf(t *testing.T) {
	t.Parallel()
	bug := errors.New("bug")
	verbs := map[verb]string{toNothing: "nothing", toYield: "yield", toRelease: "release", toComplete: "complete", toFail: "fail", toRetry: "retry"}
	for i, row := range []struct {
		cause, err error
		asleep     bool
		want       string
	}{
		{want: "complete"},
		{err: bug, want: "retry"},
		{err: fmt.Errorf("in the shop: %w", Fail("no_money", "No money.")), want: "fail no_money"},
		{err: &RefusedError{Reply: Reply{Verdict: Denied}}, want: "complete quietly"},
		{err: &RefusedError{Reply: Reply{Verdict: Dismissed}}, want: "complete quietly"},
		{err: &RefusedError{Reply: Reply{Verdict: Expired}}, want: "fail no_answer"},
		{err: effectError(v1.EffectState_EFFECT_STATE_BEGUN), want: "release"},
		{err: effectError(v1.EffectState_EFFECT_STATE_UNCERTAIN), want: "release"},
		{err: effectError(v1.EffectState_EFFECT_STATE_RESOLVED_BY_HUMAN), want: "complete quietly"},
		{err: effectError(v1.EffectState_EFFECT_STATE_FAILED), want: "fail effect_failed"},
		{err: &KeyError{Key: "k"}, want: "fail handler_error"},
		{err: &stateError{bug}, want: "fail handler_error"},
		{err: &stateError{ErrNewer}, want: "release"},
		{err: &Error{Reason: ReasonLeaseLost}, want: "nothing"},
		{err: &Error{Reason: ReasonTaskEnded}, want: "nothing"},
		{err: &Error{Reason: ReasonKillSwitch}, want: "release"},
		{err: &Error{Reason: reasonHeld}, want: "release"},
		{err: &Error{Reason: "INVALID"}, want: "retry"},

		{cause: ErrSuspended, err: ErrSuspended, asleep: true, want: "yield"},
		{cause: ErrSuspended, asleep: true, want: "yield"},
		{cause: ErrSuspended, err: Fail("x", "y"), asleep: true, want: "yield"},
		{cause: ErrStopped, err: ErrSuspended, asleep: true, want: "yield"},
		{cause: ErrShutdown, err: bug, asleep: true, want: "yield"},
		{cause: ErrKillSwitch, err: ErrSuspended, asleep: true, want: "release"},
		{cause: ErrLeaseLost, err: ErrSuspended, asleep: true, want: "nothing"},

		{cause: ErrStopped, err: bug, want: "release"},
		{cause: ErrPaused, err: ErrPaused, want: "release"},
		{cause: ErrReview, err: bug, want: "release"},
		{cause: ErrShutdown, err: context.Canceled, want: "release"},
		{cause: ErrKillSwitch, err: bug, want: "release"},
		{cause: ErrLeaseLost, err: bug, want: "nothing"},
		{cause: fmt.Errorf("%w: %w", ErrLeaseLost, bug), want: "nothing"},
		{cause: ErrStopped, want: "complete"},
		{cause: ErrShutdown, want: "complete"},
		{cause: ErrKillSwitch, want: "complete"},
	} {
		e := endingOf(row.cause, row.err, row.asleep)
		got := verbs[e.verb]
		if e.failure != nil {
			got += " " + e.failure.GetCode()
		}
		if e.quiet {
			got += " quietly"
		}
		if got != row.want {
			t.Errorf("row %d: cause %v, error %v: %s, want %s", i, row.cause, row.err, got, row.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{1: time.Second, 2: 4 * time.Second, 5: 256 * time.Second, 7: time.Hour, 100: time.Hour} {
		if got := retryAfter(n); got != want {
			t.Errorf("%d: %v", n, got)
		}
	}
}

// What others have stored is the handler's state, whole.
func TestReadStored(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"":                             "",
		`{"n":1}`:                      `{"n":1}`,
		`[1]`:                          `[1]`,
		"step one":                     `"c3RlcCBvbmU="`,
		`{"beckon":1,"state":{"n":2}}`: `{"n":2}`,
	} {
		s, err := readStored([]byte(data))
		if err != nil || string(s.State) != want {
			t.Errorf("%s: %s, %v", data, s.State, err)
		}
	}
	if _, err := readStored([]byte(`{"beckon":2}`)); !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
}

// More than 256 signals, and those that came before, are taken in once.
func TestTold_Once(t *testing.T) {
	t.Parallel()
	var many []*v1.Signal
	for i := range 300 {
		many = append(many, &v1.Signal{Id: uint64(i + 1), Kind: v1.SignalKind_SIGNAL_KIND_MESSAGE, Text: "x"})
	}
	first, err := newTask(Worker{}, &Work{Signals: many}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	c, err := first.next(false, func(*stored) {})
	if err != nil || len(c.acks) != 256 || len(c.stored.Inbox) != 300 {
		t.Fatalf("%d acks, %d kept, %v", len(c.acks), len(c.stored.Inbox), err)
	}
	again, err := newTask(Worker{}, &Work{
		Checkpoint: &v1.Checkpoint{Version: 1, Data: c.raw},
		Signals:    append(many[256:], &v1.Signal{Id: 301, Kind: v1.SignalKind_SIGNAL_KIND_TIMER_FIRED}),
	}, func(error) {})
	if err != nil || len(again.inbox) != 300 || len(again.acks) != 45 {
		t.Errorf("%d kept, %d acks, %v", len(again.inbox), len(again.acks), err)
	}
	if c, _ := again.next(false, func(*stored) {}); c.write != nil {
		t.Error("what has not changed is written")
	}
	_, err = again.next(false, func(s *stored) { s.State, _ = json.Marshal(strings.Repeat("x", maxCheckpoint)) })
	if !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}
