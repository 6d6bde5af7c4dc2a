package sim

import (
	"strings"
	"time"

	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// closeAs ends a question once, and tells its task.
func (m *model) closeAs(d *mDecision, to decision.Status) {
	if d.status != decision.Pending {
		return
	}
	d.status = to
	t := d.task
	if d.q.ofServer() {
		m.settle(d)
		return
	}
	if to == decision.Resolved && t.live() {
		t.answered = true
	}
	m.signal(t, mSignal{kind: task.DecisionClosed, d: d})
	if to == decision.Expired && d.stopTask {
		m.askStop(t)
	}
}

// expire ends a question in silence, and then the grants nobody used.
func (m *model) expire(d *mDecision) {
	now := m.now()
	if d.late(now) {
		m.closeAs(d, decision.Expired)
	}
	for i, g := range d.grants {
		if g.state == decision.Armed && !now.Before(g.until) {
			d.grants[i].state = decision.GrantExpired
		}
	}
}

// dueAt is when time alone changes a question.
func (d *mDecision) dueAt() time.Time {
	if d.status == decision.Pending {
		return d.until
	}
	var at time.Time
	for _, g := range d.grants {
		if g.state == decision.Armed && (at.IsZero() || g.until.Before(at)) {
			at = g.until
		}
	}
	return at
}

// reply is an answer as a client sends it.
type reply struct {
	d       *mDecision
	options []string
	text    string
	written writing
	// revision is that of the card that was shown. digest: its content was the
	// one shown; seen: all was opened.
	revision     uint32
	digest, seen bool
	// strength and tap say how present the person was.
	strength decision.Step
	needed   decision.Step
	device   string
	// broken: it does not fit the question.
	broken bool
}

// body is what was chosen and written, whatever spelling it came in.
func (r reply) body() string {
	if r.broken {
		return "broken"
	}
	return strings.Join(r.options, ";") + ";" + r.text + r.written.means
}

// kept is what is stored of it and told to the agent: every byte.
func (r reply) kept() string { return strings.Join(r.options, ";") + ";" + r.text + r.written.sent }

// raises: anything but a refusal does.
func (r reply) raises() bool {
	for _, o := range r.options {
		if !r.d.q.refuses(o) {
			return true
		}
	}
	return false
}

// grantLife is how long an approval may be used.
func grantLife(class decision.Class) time.Duration {
	if class == 4 {
		return time.Hour
	}
	return 24 * time.Hour
}

// answer is the outcome table of R10 and R11.
func (m *model) answer(r reply) string {
	d := r.d
	switch {
	case d.status == decision.Resolved && d.meant == r.body():
		return "SAME by " + d.winner
	case d.status == decision.Resolved:
		return "CONFLICT by " + d.winner
	case d.status == decision.Expired:
		return "EXPIRED"
	case d.status != decision.Pending:
		return "CLOSED"
	case d.late(m.now()):
		m.closeAs(d, decision.Expired)
		return "EXPIRED"
	case r.revision != d.revision || !r.digest:
		return "STALE"
	case r.broken, r.misplaced():
		return "INVALID"
	case r.written.breaks:
		return "FIELD " + d.q.field() + r.written.at
	case r.raises() && !r.seen:
		return "NEEDS_VIEW"
	case r.raises() && r.strength < r.needed:
		return "NEEDS_STEP_UP"
	case r.raises() && m.killed && !d.q.ofServer():
		return "KILL_SWITCH"
	}
	d.answer, d.meant, d.winner = r.kept(), r.body(), r.device
	for i, o := range r.options {
		if d.q.acts[i] != "" && !d.q.refuses(o) {
			sent, means := r.args(i)
			d.grants = append(d.grants, mGrant{
				item: d.q.items()[i].ID, args: sent, digest: actionDigest(d.q.acts[i], means),
				state: decision.Armed, until: m.now().Add(grantLife(d.q.class)),
			})
		}
		if d.q.refuses(o) {
			d.task.denied[d.q.denied(i)] = true
		}
	}
	m.closeAs(d, decision.Resolved)
	return "APPLIED by " + d.winner
}

// ask is one request for a decision.
type ask struct {
	task       *mTask
	lease      string
	name       string
	q          question
	timeout    time.Duration
	stopTask   bool
	supersedes *mDecision
	ceiling    decision.Class
}

// request is R12: asked once, found again, joined, refused. Its answer names
// the question that stands; fresh says that it is new, and the caller learns
// its id.
func (m *model) request(a ask) (answer string, d *mDecision, fresh bool) {
	t := a.task
	if have := t.names[a.name]; have != nil {
		if have.q.name != a.q.name {
			return "KEY_REUSED", nil, false
		}
		return "ok", have, false
	}
	switch {
	case !t.live():
		return "TASK_ENDED", nil, false
	case t.phase != task.Running || t.lease != a.lease:
		return "LEASE_LOST", nil, false
	case a.q.class > a.ceiling:
		return "CEILING", nil, false
	}
	for _, digest := range a.q.digests() {
		if t.denied[digest] {
			return "DENIED_BEFORE", nil, false
		}
	}
	for _, have := range t.openOf() {
		if have.q.name == a.q.name && have != a.supersedes && !have.late(m.now()) {
			t.names[a.name] = have
			return "ok", have, false
		}
	}
	if a.supersedes != nil && (a.supersedes.task != t || a.supersedes.q.ofServer()) {
		return "FIELD supersedes", nil, false
	}
	open, _ := m.badge()
	mine := len(t.openOf())
	if a.supersedes != nil && a.supersedes.status == decision.Pending {
		open, mine = open-1, mine-1
	}
	if mine >= m.limits.decisionsPerTask || int(open) >= m.limits.decisions {
		return "QUOTA", nil, false
	}
	if a.supersedes != nil {
		m.closeAs(a.supersedes, decision.Superseded)
	}
	d = &mDecision{task: t, q: a.q, name: a.name, reason: "It says so.", status: decision.Pending, revision: 1, stopTask: a.stopTask}
	if a.timeout > 0 {
		d.until = m.now().Add(a.timeout)
	}
	t.asked, m.decisions = append(t.asked, d), append(m.decisions, d)
	t.names[a.name] = d
	return "ok", d, true
}
