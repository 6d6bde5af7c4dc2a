package sim

import (
	"fmt"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// heartbeat extends a lease and hears what is new.
func (w *world) heartbeat(h hand) {
	var heard []uint64
	w.with(h, "Heartbeat", "R3", "", func() (string, error) {
		r, err := w.app.Heartbeat(w.ctx, h.principal, app.Heartbeat{Held: h.named})
		heard = nil
		for _, s := range r.Signals {
			heard = append(heard, s.ID)
		}
		return fmt.Sprintf("ok until %s hold %s signals %s", r.Until.Format(time.RFC3339Nano), r.Hold.Kind, signalText(r.Signals)), err
	}, func() string {
		t := h.task
		if !t.holds(h.lease) {
			return "LEASE_LOST"
		}
		t.until = w.now().Add(t.length)
		if w.model.killed {
			return fmt.Sprintf("ok until %s hold STOP signals []", t.until.Format(time.RFC3339Nano))
		}
		return fmt.Sprintf("ok until %s hold %s signals %s", t.until.Format(time.RFC3339Nano), t.heldAs(), t.told(0))
	}, func() { h.heard = heard })
}

// checkpoint is a state to store, mostly on top of the newest the worker knows.
func (w *world) checkpoint(h hand) checkpointing {
	c := checkpointing{expected: h.check, data: w.name("state")}
	if w.chance(8) {
		c.expected++
	}
	return c
}

func (c checkpointing) write() app.CheckpointWrite {
	return app.CheckpointWrite{Expected: c.expected, Data: []byte(c.data), SchemaVersion: 1, NextStep: "next"}
}

func (w *world) saveCheckpoint(h hand) {
	c, acks := w.checkpoint(h), w.acks(h)
	w.with(h, "SaveCheckpoint", "R3", fmt.Sprintf("on %d acks %v", c.expected, acks), func() (string, error) {
		version, err := w.app.SaveCheckpoint(w.ctx, h.principal, app.SaveCheckpoint{Held: h.named, Checkpoint: c.write(), Ack: acks})
		return fmt.Sprintf("ok %d", version), err
	}, func() string {
		if !h.task.holds(h.lease) {
			return "LEASE_LOST"
		}
		if refused := w.model.save(h.task, c); refused != "" {
			return refused
		}
		w.model.ack(h.task, acks)
		return fmt.Sprintf("ok %d", h.task.check.version)
	}, func() { h.check = c.expected + 1 })
}

func (w *world) ackSignals(h hand) {
	acks := w.acks(h)
	w.with(h, "AckSignals", "R3", fmt.Sprint(acks), func() (string, error) {
		return "ok", w.app.AckSignals(w.ctx, h.principal, app.AckSignals{Held: h.named, Signals: acks})
	}, func() string {
		if !h.task.holds(h.lease) {
			return "LEASE_LOST"
		}
		h.task.attempts = 0
		w.model.ack(h.task, acks)
		return "ok"
	}, nil)
}

func (w *world) updateProgress(h hand) {
	line := w.name("progress")
	w.attempt(call{
		name: "UpdateProgress", rule: "R3", task: h.task, chatter: true,
		text: fmt.Sprintf("%s UpdateProgress %s %s %s", h.worker.name, h.task.id, h.lease, line),
		do: func() (string, error) {
			return "ok", w.app.UpdateProgress(w.ctx, h.principal, app.UpdateProgress{Held: h.named, Progress: task.Progress{Text: line}})
		},
		judge: w.model.stopped(func() string {
			if !h.task.holds(h.lease) {
				return "LEASE_LOST"
			}
			h.task.progress = line
			return "ok"
		}),
	})
}

// appendItems adds output, and at times something worth reading. A batch may
// repeat names of an earlier one.
func (w *world) appendItems(h hand) {
	notable := w.chance(4)
	var drafts []app.ItemDraft
	for range 1 + w.rand.IntN(3) {
		d := app.ItemDraft{ClientID: fmt.Sprintf("item%d", w.rand.IntN(40)), Role: thread.RoleTool, Kind: thread.Output}
		d.Parts = []thread.Part{{Output: &thread.OutputPart{Stream: thread.Stdout, Data: []byte("line")}}}
		if notable {
			d.Role, d.Kind, d.Notable, d.Parts = thread.RoleAgent, thread.Message, true, []thread.Part{{Text: "Look."}}
		}
		drafts = append(drafts, d)
	}
	w.attempt(call{
		name: "AppendItems", rule: "R3", task: h.task, chatter: !notable,
		text: fmt.Sprintf("%s AppendItems %s %s %d notable %v", h.worker.name, h.task.id, h.lease, len(drafts), notable),
		do: func() (string, error) {
			ids, err := w.app.AppendItems(w.ctx, h.principal, app.AppendItems{Held: h.named, Items: drafts})
			return fmt.Sprintf("ok %d", len(ids)), err
		},
		judge: w.model.stopped(func() string {
			t := h.task
			if !t.holds(h.lease) {
				return "LEASE_LOST"
			}
			for _, d := range drafts {
				if t.items[d.ClientID] {
					continue
				}
				t.items[d.ClientID] = true
				t.thread.head++
				if d.Notable {
					t.thread.notable++
				}
			}
			return fmt.Sprintf("ok %d", len(drafts))
		}),
	})
}

// yieldTask goes to sleep on some of the task's questions, or for a while.
func (w *world) yieldTask(h hand) {
	wait := mWait{all: w.chance(2)}
	cmd := app.YieldTask{Held: h.named, Wait: task.Wait{Mode: task.Any}, Ack: w.acks(h)}
	if wait.all {
		cmd.Wait.Mode = task.All
	}
	for _, d := range h.task.asked {
		if d.status != decision.Pending && !w.chance(3) {
			continue
		}
		if len(wait.named) < 3 && (w.chance(2) || d == h.task.asked[len(h.task.asked)-1]) {
			wait.named = append(wait.named, d)
		}
	}
	if len(w.model.decisions) > 0 && w.chance(25) {
		wait.named = append(wait.named, pick(w, w.model.decisions))
	}
	for _, d := range wait.named {
		cmd.Wait.Decisions = append(cmd.Wait.Decisions, d.id)
	}
	for _, key := range h.task.keys() {
		if w.chance(2) {
			wait.timers = append(wait.timers, key)
		}
	}
	if w.chance(40) {
		wait.timers = append(wait.timers, "t9")
	}
	cmd.Wait.Timers = wait.timers
	if w.chance(3) || len(wait.named)+len(wait.timers) == 0 && !w.chance(6) {
		wait.until = w.now().Add(time.Duration(w.rand.IntN(120)-5) * time.Second)
		cmd.Wait.Until = wait.until
	}
	var c *checkpointing
	if w.chance(2) {
		saved := w.checkpoint(h)
		c = &saved
		write := saved.write()
		cmd.Checkpoint = &write
	}
	text := fmt.Sprintf("all %v of %v %v until %s checkpoint %v acks %v", wait.all, cmd.Wait.Decisions, wait.timers, wait.until.Format("15:04:05.0"), c, cmd.Ack)
	w.with(h, "YieldTask", "R2", text, func() (string, error) {
		phase, err := w.app.YieldTask(w.ctx, h.principal, cmd)
		return "ok " + phase.String(), err
	}, func() string { return w.model.yield(h.task, h.lease, wait, c, cmd.Ack) }, nil)
}

func (w *world) releaseTask(h hand) {
	w.with(h, "ReleaseTask", "R3", "", func() (string, error) {
		phase, err := w.app.ReleaseTask(w.ctx, h.principal, h.named)
		return "ok " + phase.String(), err
	}, func() string { return w.model.release(h.task, h.lease) }, nil)
}

func (w *world) completeTask(h hand) {
	var result *task.Result
	summary, acks := "", w.acks(h)
	if w.chance(2) {
		summary = w.name("result")
		result = &task.Result{Summary: summary}
	}
	w.with(h, "CompleteTask", "R7", summary, func() (string, error) {
		s, err := w.app.CompleteTask(w.ctx, h.principal, app.CompleteTask{Held: h.named, Result: result, Ack: acks})
		return "ok " + s.Phase.String(), err
	}, func() string { return w.model.finish(h.task, h.lease, summary, "", acks) }, nil)
}

func (w *world) failTask(h hand) {
	code := w.name("code")
	w.with(h, "FailTask", "R7", code, func() (string, error) {
		s, err := w.app.FailTask(w.ctx, h.principal, app.FailTask{Held: h.named, Failure: task.Failure{Code: code, Text: "It broke."}})
		return "ok " + s.Phase.String(), err
	}, func() string { return w.model.finish(h.task, h.lease, "", code, nil) }, nil)
}
