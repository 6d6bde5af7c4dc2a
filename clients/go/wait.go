package beckon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Wait is one thing to wait for: [ForAnswer] or [ForTime].
type Wait struct {
	question *v1.RequestDecisionRequest
	timer    string
	after    time.Duration
}

// ForAnswer waits for the answer to a question. Its key, the first argument of
// [AskAction] and of its like, names it in this task for ever.
func ForAnswer(question *v1.RequestDecisionRequest) Wait { return Wait{question: question} }

// ForTime waits for d from the first run that says so; the key names it. Later
// runs may say another time and wait for the first one all the same.
func ForTime(key string, d time.Duration) Wait { return Wait{timer: key, after: d} }

func (w Wait) key() string {
	if w.question != nil {
		return w.question.GetKey()
	}
	return w.timer
}

// Outcome is what became of one [Wait].
type Outcome struct {
	// Key names it.
	Key string
	// Happened: the question is closed, or the time has passed.
	Happened bool
	// Reply is the answer to the first item; [ReplyTo] reads the others.
	Reply Reply
	// Decision is the question as it stands; nil for a time, and where the very
	// action was denied before.
	Decision *v1.Decision
}

// Ask asks the person and gives the answer. Unless it comes within the
// Worker.Patience, the task sleeps: Ask returns [ErrSuspended], the handler is
// to return it, and is run again once the person has answered, where Ask with
// the same key gives the answer at once. Sleeping costs nothing and takes no
// place of a worker, whether it is for a second or for a month.
//
// A refusal is a reply and no error. Errors: [ErrSuspended], [*KeyError] where
// the key stands for another question, [*Error], those of [context.Cause].
func (t *Task) Ask(ctx context.Context, question *v1.RequestDecisionRequest) (Reply, error) {
	got, err := t.WaitAll(ctx, ForAnswer(question))
	if err != nil {
		return Reply{Verdict: Waiting}, err
	}
	return got[0].Reply, nil
}

// Sleep lets d pass, counted from the first run that comes here, in the way
// that [Task.Ask] waits: after the Worker.Patience it returns [ErrSuspended],
// and in the run that follows the sleep it returns nil at once.
func (t *Task) Sleep(ctx context.Context, key string, d time.Duration) error {
	_, err := t.WaitAll(ctx, ForTime(key, d))
	return err
}

// WaitAll is [Task.Ask] and [Task.Sleep] for several at once: all are asked
// before it waits. There is one outcome for each, in order.
func (t *Task) WaitAll(ctx context.Context, waits ...Wait) ([]Outcome, error) {
	return t.wait(ctx, v1.WaitMode_WAIT_MODE_ALL, waits)
}

// WaitAny waits for the first of several, such as an answer or a time. Those
// that have not happened stay as they are, and Happened says which.
func (t *Task) WaitAny(ctx context.Context, waits ...Wait) ([]Outcome, error) {
	return t.wait(ctx, v1.WaitMode_WAIT_MODE_ANY, waits)
}

func (t *Task) wait(ctx context.Context, mode v1.WaitMode, waits []Wait) ([]Outcome, error) {
	if err := checkKeys(waits); err != nil {
		return nil, err
	}
	patience := time.NewTimer(max(t.worker.Patience, 0))
	defer patience.Stop()
	for {
		if err := t.usable(ctx); err != nil {
			return nil, err
		}
		news := t.listen() // before the look, so that nothing falls between
		got, err := t.look(ctx, waits)
		if err != nil || satisfied(mode, got) {
			return got, err
		}
		if t.worker.Patience > 0 {
			select {
			case <-news:
				continue
			case <-ctx.Done():
				continue
			case <-patience.C:
			}
		}
		return nil, t.suspend(waitSet(mode, got), fmt.Errorf("%w (it waits for %s)", ErrSuspended, pendingKeys(got)))
	}
}

// maxKey is the longest key the server takes.
const maxKey = 128

func checkKeys(waits []Wait) error {
	if len(waits) == 0 {
		return &KeyError{Why: "is missing: there is nothing to wait for"}
	}
	for _, w := range waits {
		switch key := w.key(); {
		case key == "":
			return &KeyError{Why: "is missing: what is asked or waited for without one would be asked again in each run"}
		case len(key) > maxKey:
			return &KeyError{Key: key, Why: fmt.Sprintf("is longer than %d bytes", maxKey)}
		case strings.HasPrefix(key, reserved):
			return &KeyError{Key: key, Why: "begins with " + reserved + ", which is kept for the SDK"}
		}
	}
	return nil
}

func satisfied(mode v1.WaitMode, got []Outcome) bool {
	happened := func(o Outcome) bool { return o.Happened }
	if mode == v1.WaitMode_WAIT_MODE_ANY {
		return slices.ContainsFunc(got, happened)
	}
	return !slices.ContainsFunc(got, func(o Outcome) bool { return !o.Happened })
}

// waitSet names what has not happened.
func waitSet(mode v1.WaitMode, got []Outcome) *v1.WaitSet {
	set := &v1.WaitSet{Mode: mode}
	for _, o := range got {
		switch {
		case o.Happened:
		case o.Decision != nil:
			set.DecisionIds = append(set.DecisionIds, o.Decision.GetId())
		default:
			set.Timers = append(set.Timers, o.Key)
		}
	}
	return set
}

func pendingKeys(got []Outcome) string {
	var keys []string
	for _, o := range got {
		if !o.Happened {
			keys = append(keys, o.Key)
		}
	}
	return strings.Join(keys, ", ")
}

// look asks what was not asked yet, and reads how everything stands.
func (t *Task) look(ctx context.Context, waits []Wait) ([]Outcome, error) {
	timers, err := t.timers(ctx, waits)
	if err != nil {
		return nil, err
	}
	got := make([]Outcome, len(waits))
	for i, w := range waits {
		if w.question != nil {
			got[i], err = t.lookQuestion(ctx, w.question)
		} else {
			got[i], err = t.lookTimer(ctx, w, timers[w.timer])
		}
		if err != nil {
			return nil, err
		}
	}
	return got, nil
}

func (t *Task) lookQuestion(ctx context.Context, q *v1.RequestDecisionRequest) (Outcome, error) {
	q, _ = proto.Clone(q).(*v1.RequestDecisionRequest)
	d, err := try(ctx, t.work.agent, func() (*v1.Decision, error) { return t.work.Ask(ctx, q) })
	o := Outcome{Key: q.GetKey(), Decision: d}
	switch ReasonOf(err) {
	case ReasonDeniedBefore:
		o.Happened, o.Decision, o.Reply = true, nil, Reply{Verdict: Denied}
		return o, nil
	case ReasonKeyReused:
		return o, &KeyError{Key: q.GetKey(), Why: "was used for another question in this task: each question needs its own"}
	}
	o.Reply = ReplyTo(d, "")
	o.Happened = o.Reply.Verdict != Waiting
	return o, err
}

func (t *Task) timers(ctx context.Context, waits []Wait) (map[string]*v1.Timer, error) {
	if !slices.ContainsFunc(waits, func(w Wait) bool { return w.question == nil }) {
		return nil, nil
	}
	res, err := try(ctx, t.work.agent, func() (*v1.ListTimersResponse, error) {
		return t.work.agent.Timers.ListTimers(ctx, &v1.ListTimersRequest{TaskId: t.ID()})
	})
	known := map[string]*v1.Timer{}
	for _, timer := range res.GetTimers() {
		known[timer.GetKey()] = timer
	}
	return known, err
}

// lookTimer sets a timer that is not there yet. One that is there stays as it
// was set: to set it anew would be to wait anew.
func (t *Task) lookTimer(ctx context.Context, w Wait, known *v1.Timer) (Outcome, error) {
	o := Outcome{Key: w.timer, Happened: known.GetFired() || known == nil && w.after <= 0}
	if known != nil || o.Happened {
		return o, nil
	}
	res, err := try(ctx, t.work.agent, func() (*v1.SetTimerResponse, error) {
		return t.work.agent.Timers.SetTimer(ctx, &v1.SetTimerRequest{
			TaskId: t.ID(), LeaseId: t.work.Lease, Key: w.timer,
			When: &v1.SetTimerRequest_After{After: durationpb.New(w.after)},
		})
	})
	o.Happened = res.GetTimer().GetFired()
	return o, err
}
