package sim

import (
	"fmt"
	"slices"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// revoke takes one approval back: R13. What was used, has ended or was taken
// back before stays as it is.
func (m *model) revoke(d *mDecision, i int) string {
	g := &d.grants[i]
	if g.state == decision.Armed {
		g.state = decision.Void
		m.signal(d.task, mSignal{kind: task.ApprovalRevoked, d: d})
	}
	if g.state == decision.Void && d.task.live() {
		return "revoked"
	}
	return "ended"
}

// granted reports whether a person has ever approved something in a task.
func (t *mTask) granted() bool {
	return slices.ContainsFunc(t.asked, func(d *mDecision) bool { return len(d.grants) > 0 })
}

// learnGrants takes over the names of grants.
func (w *world) learnGrants(tx *store.Read, d *mDecision) {
	if len(d.grants) == 0 || d.grants[0].id != "" {
		return
	}
	s, err := tx.Decision(d.id)
	w.must(err)
	for i := range min(len(d.grants), len(s.Grants)) {
		d.grants[i].id = s.Grants[i].ID
	}
}

// revokeGrant takes an approval back, mostly one that is still good;
// of a task where one is named.
func (w *world) revokeGrant(of *mTask) {
	var all, armed []*mDecision
	for _, d := range w.model.decisions {
		if len(d.grants) == 0 || of != nil && d.task != of {
			continue
		}
		all = append(all, d)
		if d.grants[0].state == decision.Armed {
			armed = append(armed, d)
		}
	}
	if len(armed) > 0 && w.chance(2) {
		all = armed
	}
	if len(all) == 0 {
		return
	}
	d, by := rare(w, all, func(d *mDecision) string { return d.task.state() }), pick(w, w.devices)
	i := w.rand.IntN(len(d.grants))
	outcomes := map[app.RevokeOutcome]string{app.GrantRevoked: "revoked", app.GrantTooLate: "too late", app.GrantEnded: "ended"}
	w.visits[Cell{"grant", grantStates[d.grants[i].state], "RevokeGrant"}]++
	w.attempt(call{
		name: "RevokeGrant", rule: "R13", task: d.task, text: fmt.Sprintf("%s RevokeGrant %s", by.label, d.grants[i].id),
		do: func() (string, error) {
			r, err := w.app.RevokeGrant(w.ctx, by.Principal, d.grants[i].id)
			return outcomes[r.Outcome], err
		},
		judge: func() string { return w.model.revoke(d, i) },
	})
}

// grantStates are the words for the table of visits.
var grantStates = [...]string{"", "ARMED", "CONSUMED", "VOID", "GRANT_EXPIRED"}
