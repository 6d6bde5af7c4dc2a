package beckon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// stored is what the loop keeps in a checkpoint. A checkpoint of anything else
// is read as the handler's state.
type stored struct {
	// Beckon is the version of this shape.
	Beckon int `json:"beckon"`
	// State is the handler's own.
	State json.RawMessage `json:"state,omitempty"`
	// Steps are what finished steps have returned.
	Steps map[string]json.RawMessage `json:"steps,omitempty"`
	// Inbox are signals that were acknowledged and not taken.
	Inbox []json.RawMessage `json:"inbox,omitempty"`
	// Heard is the highest signal that ever was in the inbox.
	Heard uint64 `json:"heard,omitempty"`
	// Tries is how often the handler failed since it last stored something.
	Tries int `json:"tries,omitempty"`
}

const (
	storedShape = 1
	// maxAcks is how many signals one call takes.
	maxAcks = 256
	// maxCheckpoint is what the server keeps of one task.
	maxCheckpoint = 1 << 20
)

// ErrTooLarge is returned where state, steps and messages that nobody took are
// more than 1 MiB together.
var ErrTooLarge = errors.New("beckon: the checkpoint is larger than 1 MiB")

// ErrNewer is why a handler is not run: a worker with a higher Schema has stored
// the task's state.
var ErrNewer = errors.New("beckon: the checkpoint is of a newer worker")

func newTask(worker Worker, work *Work, cancel context.CancelCauseFunc) (*Task, error) {
	t := &Task{
		worker: worker, work: work, cancel: cancel, version: work.Checkpoint.GetVersion(),
		taken: map[uint64]bool{}, fresh: map[uint64]bool{}, steps: map[string]bool{}, heard: make(chan struct{}),
	}
	if work.Checkpoint.GetSchemaVersion() > worker.Schema {
		return t, ErrNewer
	}
	if err := t.read(work.Checkpoint.GetData()); err != nil {
		return t, &stateError{err}
	}
	t.told(work.Signals, false)
	return t, nil
}

// stateError is a checkpoint that cannot be read. Its task is never written to.
type stateError struct{ error }

func (e *stateError) Unwrap() error { return e.error }

// read takes over what is stored.
func (t *Task) read(data []byte) error {
	var err error
	if t.stored, err = readStored(data); err != nil {
		return err
	}
	for _, raw := range t.stored.Inbox {
		s := &v1.Signal{}
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, s); err != nil {
			return err
		}
		t.inbox = append(t.inbox, s)
	}
	c, err := t.next(false, func(*stored) {})
	t.saved = c.raw
	return err
}

func readStored(data []byte) (stored, error) {
	s := stored{Beckon: storedShape}
	if len(data) == 0 {
		return s, nil
	}
	var shape struct {
		Beckon int `json:"beckon"`
	}
	if !json.Valid(data) {
		var err error
		s.State, err = json.Marshal(data) // bytes, to be loaded as such
		return s, err
	}
	if json.Unmarshal(data, &shape) != nil || shape.Beckon == 0 {
		s.State = data
		return s, nil //nolint:nilerr // it is the handler's own shape
	}
	if shape.Beckon > storedShape {
		return s, ErrNewer
	}
	return s, json.Unmarshal(data, &s)
}

// told takes signals in, fresh ones while the handler runs. Those that can be
// asked for elsewhere are hints, and are only acknowledged.
func (t *Task) told(signals []*v1.Signal, fresh bool) {
	if len(signals) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range signals {
		t.acks = append(t.acks, s.GetId())
		if s.GetId() <= t.stored.Heard || hint(s.GetKind()) {
			continue
		}
		t.inbox = append(t.inbox, s)
		t.fresh[s.GetId()] = fresh
		t.stored.Heard = s.GetId()
	}
	close(t.heard)
	t.heard = make(chan struct{})
}

func hint(kind v1.SignalKind) bool {
	switch kind {
	case v1.SignalKind_SIGNAL_KIND_DECISION_CLOSED, v1.SignalKind_SIGNAL_KIND_APPROVAL_REVOKED,
		v1.SignalKind_SIGNAL_KIND_HOLD_LIFTED, v1.SignalKind_SIGNAL_KIND_WAIT_TIMEOUT, v1.SignalKind_SIGNAL_KIND_TIMER_FIRED,
		v1.SignalKind_SIGNAL_KIND_EFFECT_SETTLED, v1.SignalKind_SIGNAL_KIND_EFFECT_UNCERTAIN:
		return true
	default:
		return false
	}
}

// listen gives a channel that is closed at the next news.
func (t *Task) listen() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.heard
}

// commit is one version of the checkpoint on its way to the server.
type commit struct {
	stored stored
	raw    []byte
	// write is nil where nothing has changed.
	write *v1.CheckpointWrite
	acks  []uint64
	// settled are signals of the inbox that do not come again.
	settled map[uint64]bool
}

// next makes the version that follows; saving is held, or nobody else has the
// task yet. With settle the signals that were taken are left out of it. What
// came during this run and was not looked at is left out as well and not
// acknowledged: it wakes the task, and the next run can see it from its start.
func (t *Task) next(settle bool, change func(*stored)) (commit, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := commit{stored: t.stored, settled: map[uint64]bool{}}
	c.stored.Inbox, c.stored.Steps = nil, maps.Clone(t.stored.Steps)
	unseen := map[uint64]bool{}
	for _, s := range t.inbox {
		switch id := s.GetId(); {
		case t.fresh[id] && !t.taken[id]:
			if len(unseen) == 0 {
				c.stored.Heard = id - 1
			}
			unseen[id] = true
		case settle && t.taken[id]:
			c.settled[id] = true
		default:
			raw, err := protojson.Marshal(s)
			if err != nil {
				return c, err
			}
			c.stored.Inbox = append(c.stored.Inbox, raw)
		}
	}
	for _, id := range t.acks {
		if !unseen[id] && len(c.acks) < maxAcks {
			c.acks = append(c.acks, id)
		}
	}
	change(&c.stored)
	var err error
	if c.raw, err = json.Marshal(c.stored); err == nil && len(c.raw) > maxCheckpoint {
		err = ErrTooLarge
	}
	if !bytes.Equal(c.raw, t.saved) {
		c.write = t.write(c.raw)
	}
	return c, err
}

func (t *Task) write(raw []byte) *v1.CheckpointWrite {
	return &v1.CheckpointWrite{ExpectedVersion: t.version, Data: raw, SchemaVersion: t.worker.Schema}
}

// save commits a change of what is stored, with all that was heard.
func (t *Task) save(ctx context.Context, settle bool, change func(*stored)) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	t.saving.Lock()
	defer t.saving.Unlock()
	c, err := t.next(settle, change)
	if err != nil {
		return err
	}
	if c.write == nil { // the same again, but there may be something to acknowledge
		c.write = t.write(c.raw)
	}
	version, err := try(ctx, t.work.agent, func() (uint64, error) { return t.work.Save(ctx, c.write, c.acks...) })
	if err == nil {
		t.committed(version, c)
	}
	return err
}

// committed notes what was saved. More may have been heard meanwhile.
func (t *Task) committed(version uint64, c commit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	heard := t.stored.Heard
	t.stored, t.version, t.saved = c.stored, version, c.raw
	t.stored.Heard, t.stored.Inbox = heard, nil
	t.acks = slices.DeleteFunc(t.acks, func(id uint64) bool { return slices.Contains(c.acks, id) })
	t.inbox = slices.DeleteFunc(t.inbox, func(s *v1.Signal) bool { return c.settled[s.GetId()] })
}
