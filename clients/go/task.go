package beckon

import (
	"context"
	"iter"
	"sync"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Task is a task in the hands of a handler. A handler is run from its beginning
// each time its task goes on, so what it does to the world outside goes through
// methods with keys: under the same key the same thing is not asked, waited for
// or done again. Keys are the handler's own stable words, of an order or a step,
// and never come from time, chance or position. Its methods may be called from
// several goroutines, all of which have to end with the handler.
type Task struct {
	worker Worker
	work   *Work
	cancel context.CancelCauseFunc

	// saving is held over a commit of the checkpoint, so that versions follow
	// one another.
	saving sync.Mutex

	// mu keeps what is below.
	mu      sync.Mutex
	version uint64
	stored  stored
	// saved is what the newest checkpoint holds, byte for byte.
	saved []byte
	inbox []*v1.Signal
	taken map[uint64]bool
	// fresh are those of the inbox that came during this run.
	fresh map[uint64]bool
	// acks are heard and not acknowledged.
	acks []uint64
	// heard is closed at the next news.
	heard chan struct{}
	// steps are those that were begun in this run.
	steps  map[string]bool
	over   error
	sleeps *v1.WaitSet
	result *v1.TaskResult
}

// ID is the task's id.
func (t *Task) ID() string { return t.work.ID() }

// Input is what the task was created with.
func (t *Task) Input() []byte { return t.work.Task.GetInput() }

// Info is the task as it stood when it was claimed.
func (t *Task) Info() *v1.Task { return t.work.Task }

// Version numbers the result that this run works on, from 1. It grows when the
// person sends a result back, so keys that have it in them begin anew then.
func (t *Task) Version() uint32 { return t.work.Task.GetResultVersion() + 1 }

// Work is the claim behind the task, for calls that have no method here. Its
// lease and its checkpoint are the loop's: do not yield, release, save, complete
// or fail it.
func (t *Task) Work() *Work { return t.work }

// SetResult says what the task is completed with when the handler returns nil.
// Without one there is nothing to read.
func (t *Task) SetResult(r *v1.TaskResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result = r
}

// ended is what completes the task.
func (t *Task) ended() (*v1.TaskResult, []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.result, t.acks[:min(len(t.acks), maxAcks)]
}

// Progress replaces the one line that says how far the work is.
func (t *Task) Progress(ctx context.Context, text string) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	return t.work.Progress(ctx, text)
}

// Say writes to the person in the thread, once under its key. It calls nobody.
func (t *Task) Say(ctx context.Context, key, text string) error {
	return t.Append(ctx, &v1.ItemDraft{
		ClientId: key, Role: v1.ItemRole_ITEM_ROLE_AGENT, Kind: v1.ItemKind_ITEM_KIND_MESSAGE, Notable: true,
		Parts: []*v1.Part{{Part: &v1.Part_Text{Text: text}}},
	})
}

// Append adds items to the thread, each once under its client id.
func (t *Task) Append(ctx context.Context, items ...*v1.ItemDraft) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	_, err := t.work.AppendAll(ctx, items)
	return err
}

// Signals are what the task was told and cannot ask for again: messages, a
// result that was sent back, and kinds that this version does not know. What
// was iterated over comes again in each run until the next [Task.Checkpoint],
// which is where the handler keeps what it has made of it; both are one commit.
// What comes while the handler runs is there the next time it looks, and where
// it does not look any more it is run again before it sleeps.
// Answers, timers and effects are not among them: their methods know.
func (t *Task) Signals() iter.Seq[*v1.Signal] {
	return func(yield func(*v1.Signal) bool) {
		for n := 0; ; n++ {
			s := t.take(n)
			if s == nil || !yield(s) {
				return
			}
		}
	}
}

// take gives signal n of the inbox and notes that it was looked at.
func (t *Task) take(n int) *v1.Signal {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n >= len(t.inbox) {
		return nil
	}
	t.taken[t.inbox[n].GetId()] = true
	return t.inbox[n]
}

// Messages are the texts of [Task.Signals] that the person wrote.
func (t *Task) Messages() iter.Seq[string] {
	return func(yield func(string) bool) {
		for s := range t.Signals() {
			if s.GetKind() == v1.SignalKind_SIGNAL_KIND_MESSAGE && !yield(s.GetText()) {
				return
			}
		}
	}
}

// SentBack is what the person wrote when they sent the last result back, for a
// task with review; false where none was. It stays until the next
// [Task.Checkpoint].
func (t *Task) SentBack() (text string, ok bool) {
	for s := range t.Signals() {
		if s.GetKind() == v1.SignalKind_SIGNAL_KIND_RESULT_SENT_BACK {
			text, ok = s.GetText(), true
		}
	}
	return text, ok
}

// usable says why nothing more is done in this run: it sleeps, or ctx has ended.
func (t *Task) usable(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over != nil {
		return t.over
	}
	return causeOf(ctx)
}

// suspend puts the task to sleep when the handler returns, whatever it returns.
func (t *Task) suspend(wait *v1.WaitSet, why error) error {
	t.mu.Lock()
	if t.over == nil {
		t.over, t.sleeps = why, wait
	}
	why = t.over
	t.mu.Unlock()
	t.cancel(why)
	return why
}

func (t *Task) asleep() *v1.WaitSet {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sleeps
}
