package sim

import (
	"fmt"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// requestDecision asks: something new, the same again, another question under a
// known name, one that takes the place of another, or what was denied before.
func (w *world) requestDecision(h hand) {
	a := ask{task: h.task, lease: h.lease, q: pick(w, questions()), ceiling: h.worker.agent.ceiling}
	a.name = fmt.Sprintf("q%d", w.rand.IntN(12))
	a.timeout = pick(w, []time.Duration{0, 0, 5 * time.Second, 5 * time.Second, time.Minute, 20 * time.Minute})
	a.stopTask = w.chance(5)
	cmd := app.RequestDecision{
		Held: h.named, Name: a.name, Kind: a.q.kind, Title: "May I?", Reason: "It says so.", Items: a.q.items(), Timeout: a.timeout,
		OnExpiry: decision.TellAgent, Calls: decision.Calls{Off: true},
	}
	if a.stopTask {
		cmd.OnExpiry = decision.StopTask
	}
	if open := h.task.openOf(); len(open) > 0 && w.chance(5) {
		a.supersedes = pick(w, open)
	} else if len(w.model.decisions) > 0 && w.chance(20) {
		a.supersedes = pick(w, w.model.decisions)
	}
	if a.supersedes != nil {
		cmd.Supersedes = a.supersedes.id
	}
	var fresh *mDecision
	text := fmt.Sprintf("%s %s timeout %s stop %v supersedes %q", a.name, a.q.name, a.timeout, a.stopTask, cmd.Supersedes)
	w.with(h, "RequestDecision", "R12", text, func() (string, error) {
		d, err := w.app.RequestDecision(w.ctx, h.principal, cmd)
		return "ok " + w.known(d), err
	}, func() string {
		var answer string
		var d *mDecision
		var isNew bool
		if answer, d, isNew = w.model.request(a); d == nil {
			return answer
		}
		if fresh = nil; isNew {
			fresh = d
			return "ok new"
		}
		return "ok " + d.id + " " + d.status.String() + d.permits()
	}, func() {
		if fresh != nil && fresh.status != decision.Pending {
			w.failf("R10", "a new question is %s", fresh.status)
		}
	})
}

// known names a question that the model has met, or says that it is new.
func (w *world) known(d decision.State) string {
	if w.model.decisionOf(d.ID) == nil {
		return "new"
	}
	return d.ID + " " + d.Status.String() + permits(d)
}

// withdrawDecision takes a question back, with or without a lease.
func (w *world) withdrawDecision() {
	d := w.someDecision()
	if d != nil && d.q.ofServer() && !w.chance(3) {
		d = w.someDecision()
	}
	if d == nil {
		return
	}
	p := w.agentOf(d.task.agent).Principal
	w.attempt(call{
		name: "WithdrawDecision", rule: "R10", decision: d, text: "WithdrawDecision " + d.id,
		do: func() (string, error) {
			s, err := w.app.WithdrawDecision(w.ctx, p, d.id, app.Obsolete)
			return "ok " + s.Status.String(), err
		},
		judge: func() string {
			switch {
			case d.q.ofServer():
				return "NOT_FOUND"
			case w.model.killed:
				return "KILL_SWITCH"
			}
			w.model.closeAs(d, decision.Withdrawn)
			return "ok " + d.status.String()
		},
	})
}

// waitDecision reads a question as its agent does that polls.
func (w *world) waitDecision() {
	d := w.someDecision()
	if d == nil {
		return
	}
	a := pick(w, w.agents)
	w.attempt(call{
		name: "WaitDecision", rule: "R10", decision: d, reads: true, text: a.Agent + " WaitDecision " + d.id,
		do: func() (string, error) {
			s, err := w.app.WaitDecision(w.ctx, a.Principal, d.id, 0)
			return s.Status.String() + " " + answerText(s.Answer) + permits(s), err
		},
		judge: func() string {
			if a.Agent != d.task.agent {
				return "NOT_FOUND"
			}
			if w.model.killed {
				return "KILL_SWITCH"
			}
			return d.status.String() + " " + d.answer + d.permits()
		},
	})
}

func (w *world) agentOf(id string) *agent {
	return *find2(w.agents, func(a *agent) bool { return a.Agent == id })
}

// find2 is find for lists that are known to have it.
func find2[T any](all []T, is func(T) bool) *T {
	for i := range all {
		if is(all[i]) {
			return &all[i]
		}
	}
	return nil
}

// someDecision picks one, mostly an open one.
func (w *world) someDecision() *mDecision {
	var open []*mDecision
	for _, d := range w.model.decisions {
		if d.status != decision.Pending {
			continue
		}
		if open = append(open, d); d.late(w.now()) && w.chance(3) {
			return d // for no other moment shows who closes it
		}
	}
	switch {
	case len(open) > 0 && !w.chance(3):
		if w.chance(2) {
			return rare(w, open, func(d *mDecision) string { return d.state(w.now()) })
		}
		return pick(w, open)
	case len(w.model.decisions) > 0:
		return rare(w, w.model.decisions, func(d *mDecision) string { return d.state(w.now()) })
	default:
		return nil
	}
}

// getTask reads a task as somebody does who may or may not.
func (w *world) getTask() {
	if len(w.model.tasks) == 0 {
		return
	}
	t, a := w.rareTask(), pick(w, w.agents)
	w.attempt(call{
		name: "GetTask", rule: "R29", task: t, reads: true, text: a.Agent + " GetTask " + t.id,
		do: func() (string, error) {
			r, err := w.app.GetTask(w.ctx, a.Principal, t.id)
			return fmt.Sprintf("ok %s %d", r.Task.Phase, len(r.Decisions)), err
		},
		judge: func() string {
			if a.Agent != t.agent {
				return "NOT_FOUND"
			}
			return fmt.Sprintf("ok %s %d", t.phase, min(len(t.asked)+t.cards, 20))
		},
	})
}

// unknownTask names a task that is not there, and one of another account.
func (w *world) unknownTask() {
	account, err := store.NewAccountKey(w.random)
	w.must(err)
	if w.chance(2) {
		account = w.account
	}
	id, err := store.NewID(store.KindTask, account, w.wall, w.random)
	w.must(err)
	p := pick(w, w.devices).Principal
	w.attempt(call{
		name: "StopTask", rule: "R29", text: "StopTask unknown " + id,
		do: func() (string, error) {
			_, err := w.app.StopTask(w.ctx, p, app.StopTask{Key: w.name("unknown"), Task: id})
			return "ok", err
		},
		judge: func() string { return "NOT_FOUND" },
	})
}
