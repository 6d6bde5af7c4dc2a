package sim

import (
	"fmt"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// alerts says, from the story alone, which subjects must have called the person
// and on which addresses. It knows nothing of how pushes are planned.
type alerts struct {
	told int
	// want has a line for every row that must be in the outbox.
	want map[alertKey]bool
	// showing are the subjects that called and are not handled yet; back are the
	// calls that may be taken back: their subject was handled, on another device.
	showing map[alertSubject]bool
	back    map[screenKey]bool
}

// alertSubject is what a call is about.
type alertSubject struct {
	kind    push.Kind
	subject string
}

// screenKey is what one subject has on the screen of one address.
type screenKey struct {
	kind             push.Kind
	subject, address string
}

func (k screenKey) String() string { return fmt.Sprintf("%s %s on %s", k.kind, k.subject, k.address) }

// alertKey names a call: one cause, one version of one subject, one address.
type alertKey struct {
	screenKey
	version uint32
}

func (k alertKey) String() string { return fmt.Sprintf("%s version %d", k.screenKey, k.version) }

// called is the call that a row stands for.
func called(row push.Delivery) alertKey {
	return alertKey{screenKey{row.Kind, row.Key(), row.Address}, row.Version}
}

// wanted reports whether any version of a subject had to call.
func (a *alerts) wanted(key screenKey) bool {
	for want := range a.want {
		if want.screenKey == key {
			return true
		}
	}
	return false
}

// hear takes in what has happened since, with the addresses that were alive
// when it did.
func (a *alerts) hear(facts []fact, alive []string) {
	for _, f := range facts[a.told:] {
		kind, rings := cause(f)
		if rings {
			a.showing[alertSubject{kind, f.subject}] = true
		}
		for _, address := range alive {
			if rings {
				a.want[alertKey{screenKey{kind, f.subject, address}, max(f.version, 1)}] = true
			}
		}
	}
	a.told = len(facts)
}

// cause is R20: a decision is required, or a result is ready. What a person
// brought about calls nobody, and neither does an end with nothing to read
// right after the person's own answer.
func cause(f fact) (push.Kind, bool) {
	switch {
	case f.kind == factAsked:
		return push.DecisionRequired, true
	case f.phase == task.Failed, f.phase == task.Expired:
		return push.ResultReady, true
	case f.phase == task.Completed:
		return push.ResultReady, f.result || !f.answered
	default:
		return push.ResultReady, false
	}
}

// handle notes what was handled since. The device that did it looks after its
// own screen.
func (a *alerts) handle(m *model, alive []string, deviceOf func(address string) string) {
	for s := range a.showing {
		over, by := m.closed(s)
		if !over {
			continue
		}
		delete(a.showing, s)
		for _, address := range alive {
			if by == "" || deviceOf(address) != by {
				a.back[screenKey{s.kind, s.subject, address}] = true
			}
		}
	}
}

// closed reports whether a subject was handled in the store, and on which
// device; none where time or the agent did it.
func (m *model) closed(s alertSubject) (over bool, by string) {
	if s.kind == push.DecisionRequired {
		d := m.decisionOf(s.subject)
		return d.status != decision.Pending, d.winner
	}
	t := m.taskOf(s.subject)
	return t.endPosition <= t.thread.readPos, t.readBy
}

// taken is the call that a withdrawal takes back.
func taken(row push.Delivery) screenKey {
	kind := push.ResultReady
	if row.Decision != "" {
		kind = push.DecisionRequired
	}
	return screenKey{kind, row.Key(), row.Address}
}

// handled reports whether nobody has to look at a subject any more.
func (m *model) handled(kind push.Kind, subject string, now time.Time) bool {
	if kind == push.DecisionRequired {
		d := m.decisionOf(subject)
		return d == nil || d.status != decision.Pending || d.late(now)
	}
	t := m.taskOf(subject)
	return t == nil || t.endPosition <= t.thread.readPos
}

// replaced reports whether a row calls to a version that is not the newest.
func (m *model) replaced(row push.Delivery) bool {
	if row.Kind != push.DecisionRequired {
		return false
	}
	d := m.decisionOf(row.Key())
	return d != nil && row.Version != d.revision
}
