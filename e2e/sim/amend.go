package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/decision"
)

// amend puts other words on an open question: R10. Whoever saw it before has to
// look again, and is called to.
func (m *model) amend(d *mDecision, reason string) string {
	switch {
	case d.q.ofServer():
		return "NOT_FOUND"
	case m.killed:
		return "KILL_SWITCH"
	case d.status != decision.Pending || d.late(m.now()):
		return "CLOSED"
	case d.reason != reason && d.revision >= decision.MaxRevisions:
		return "INVALID"
	}
	if d.reason != reason {
		d.reason = reason
		d.revision++
		m.facts = append(m.facts, fact{kind: factAsked, subject: d.id, version: d.revision})
	}
	return fmt.Sprintf("ok %d", d.revision)
}

// amendDecision is an agent that has more to say about a question.
func (w *world) amendDecision() {
	d := w.someDecision()
	if d == nil {
		return
	}
	p, reason := w.agentOf(d.task.agent).Principal, pick(w, []string{"It is urgent.", "It can wait."})
	w.attempt(call{
		name: "AmendDecision", rule: "R10", decision: d, text: fmt.Sprintf("AmendDecision %s %q", d.id, reason),
		do: func() (string, error) {
			s, err := w.app.AmendDecision(w.ctx, p, d.id, decision.Amendment{Reason: reason})
			return fmt.Sprintf("ok %d", s.Revision), err
		},
		judge: func() string { return w.model.amend(d, reason) },
	})
}

// denyAll refuses what is open, in the order in which it was asked: each is an
// answer of its own, and what its end brings about may close the next.
func (m *model) denyAll(device string, of *mTask) (denied, skipped []string) {
	var open []*mDecision
	for _, d := range m.decisions {
		if d.status == decision.Pending && (of == nil || d.task == of) {
			open = append(open, d)
		}
	}
	slices.SortFunc(open, func(a, b *mDecision) int { return cmp.Compare(a.id, b.id) })
	for _, d := range open {
		r := reply{d: d, revision: d.revision, digest: true, seen: true, device: device}
		for range d.q.acts {
			r.options = append(r.options, d.q.no())
		}
		switch {
		case d.status != decision.Pending: // closed by the end of another
		case !d.q.refuses(d.q.no()):
			skipped = append(skipped, d.id)
		case m.answer(r) != "EXPIRED":
			denied = append(denied, d.id)
		}
	}
	return denied, skipped
}

// denyAllOpen is a person who refuses everything at once, of one task or of all.
func (w *world) denyAllOpen() {
	by, key := pick(w, w.devices), w.name("deny")
	cmd := app.DenyAllOpen{Key: key, Surface: decision.SurfaceApp}
	var of *mTask
	if d := w.someDecision(); d != nil && !w.chance(4) {
		of = d.task
		cmd.Task = of.id
	}
	w.attempt(call{
		name: "DenyAllOpen", rule: "R10", task: of, text: fmt.Sprintf("%s DenyAllOpen %s %q", by.label, key, cmd.Task),
		do: func() (string, error) {
			r, err := w.app.DenyAllOpen(w.ctx, by.Principal, cmd)
			slices.Sort(r.Denied)
			slices.Sort(r.Skipped)
			return fmt.Sprintf("ok %v, not %v", r.Denied, r.Skipped), err
		},
		judge: func() string {
			return w.onceOnly(by.Installation, "DenyAllOpen "+key, cmd.Task, func() (string, bool) {
				denied, skipped := w.model.denyAll(by.Installation, of)
				return fmt.Sprintf("ok %v, not %v", denied, skipped), true
			})
		},
	})
}
