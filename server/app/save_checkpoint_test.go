package app_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// R3: state and the signals it reflects are one commit.
func TestSaveCheckpoint_TakesSignalsAlong(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.ask(held, "write", decision.WriteReversible)
	h.answer(h.phone, d, "approve")
	h.say(s.Thread, "also")
	h.clock.Advance(time.Second)
	w := h.watch(s.Thread)
	v, err := h.app.SaveCheckpoint(t.Context(), h.agent, app.SaveCheckpoint{
		Held: held, Checkpoint: app.CheckpointWrite{Data: []byte("a")}, Ack: []uint64{1, 99},
	})
	check(t, err)
	w.expect("a checkpoint", effects{Commits: 1, Thread: []string{"decision"}, Audit: []string{"answer.delivered by agent"}})
	if v != 1 {
		t.Errorf("version %d", v)
	}
	if left := h.signals(s.ID); len(left) != 1 || left[0].Kind != task.Message {
		t.Errorf("unacknowledged: %+v", left)
	}
	if got := h.decision(d.ID).Answer; !got.DeliverTime.Equal(h.clock.Now()) || got.Time.Equal(got.DeliverTime) {
		t.Errorf("recorded %v, delivered %v", got.Time, got.DeliverTime)
	}
}

// A repeat whose first answer got lost meets a conflict that names the version,
// and acknowledges nothing.
func TestSaveCheckpoint_Conflict(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	save := func(expected uint64, data string, acks ...uint64) error {
		_, err := h.app.SaveCheckpoint(t.Context(), h.agent, app.SaveCheckpoint{
			Held: held, Checkpoint: app.CheckpointWrite{Expected: expected, Data: []byte(data)}, Ack: acks,
		})
		return err
	}
	check(t, save(0, "a"))
	h.say(s.Thread, "later")
	w := h.watch(s.Thread)
	sameError(t, save(0, "b", 1), &task.CheckpointConflictError{Version: 1})
	sameError(t, save(2, "b", 1), &task.CheckpointConflictError{Version: 1})
	w.expect("a conflict", effects{})
	for i := range 5 {
		check(t, save(uint64(i+1), fmt.Sprint(i)))
	}
	_, err := h.app.ReleaseTask(t.Context(), h.agent, held)
	check(t, err)
	if c := h.claim("again"); c.Checkpoint.Version != 6 || string(c.Checkpoint.Data) != "4" || len(c.Signals) != 1 {
		t.Errorf("claimed with version %d, %q", c.Checkpoint.Version, c.Checkpoint.Data)
	}
	// The last three are kept, no more.
	var kept []uint64
	h.view(h.account, func(tx *store.Read) error {
		for v := uint64(1); v <= 7; v++ {
			if _, err := tx.Checkpoint(task.State{ID: s.ID, Checkpoint: v}); err == nil {
				kept = append(kept, v)
			}
		}
		return nil
	})
	if diff := cmp.Diff([]uint64{4, 5, 6}, kept); diff != "" {
		t.Errorf("kept versions (-want +got):\n%s", diff)
	}
}

func TestSaveCheckpoint_OneMebibyte(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	data := bytes.Repeat([]byte{0, 1, 254, 255}, 1<<18)
	_, err := h.app.SaveCheckpoint(t.Context(), h.agent, app.SaveCheckpoint{Held: held, Checkpoint: app.CheckpointWrite{Data: data}})
	check(t, err)
	_, err = h.app.ReleaseTask(t.Context(), h.agent, held)
	check(t, err)
	if c := h.claim("again"); !bytes.Equal(c.Checkpoint.Data, data) {
		t.Error("the checkpoint came back changed")
	}
}

// A worker whose answer got lost says the same again; only the same bytes under
// the same lease are that.
func TestSaveCheckpoint_Repeated(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	c := app.SaveCheckpoint{Held: held, Checkpoint: app.CheckpointWrite{Data: []byte("a"), NextStep: "b"}}
	for range 2 {
		version, err := h.app.SaveCheckpoint(t.Context(), h.agent, c)
		if err != nil || version != 1 {
			t.Fatalf("version %d, %v", version, err)
		}
	}
	if got := h.task(s.ID).Checkpoint; got != 1 {
		t.Errorf("stored as version %d", got)
	}
	other := c
	other.Lease = "lse_other"
	_, err := h.app.SaveCheckpoint(t.Context(), h.agent, other)
	sameError(t, err, task.ErrLeaseLost)
}
