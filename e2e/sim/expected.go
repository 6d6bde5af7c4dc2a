package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// model is what the server has to hold, from the rules and from what callers
// were told.
type model struct {
	now     func() time.Time
	started time.Time
	limits  bounds

	threads   []*mThread
	tasks     []*mTask
	decisions []*mDecision
	once      map[string]remembered
	// killed: the person has stopped every agent.
	killed bool
	// facts is the story of what may call a person, oldest first.
	facts []fact
}

// bounds are the limits the model has to know.
type bounds struct {
	tasks, decisions, decisionsPerTask int
	attempts                           int
	lease                              time.Duration
	remember                           time.Duration
}

// remembered is the first answer given under an idempotency key.
type remembered struct {
	body, answer string
	until        time.Time
}

// fact is one thing that happened to a subject.
type fact struct {
	kind    factKind
	subject string
	// version is that of the card that was asked.
	version uint32
	// answered, result: see the end of a task.
	answered, result bool
	phase            task.Phase
	// lost: the end was brought about by lost workers.
	lost bool
}

type factKind uint8

const (
	factAsked factKind = iota + 1
	factEnded
)

type mThread struct {
	id               string
	head, notable    uint64
	readGen, readPos uint64
	live             []*mTask
	last             *mTask
	agent            string
	noMessages       bool
}

func (th *mThread) unread() bool { return th.notable > min(th.readPos, th.notable) }

type mSignal struct {
	id   uint64
	kind task.SignalKind
	d    *mDecision
	text string
}

type mCheck struct {
	version uint64
	data    string
}

type mWait struct {
	all   bool
	named []*mDecision
	// timers are named by their keys.
	timers []string
	until  time.Time
	// retry: its worker was lost again and again.
	retry bool
}

// names reports whether the set waits for d.
func (w mWait) names(d *mDecision) bool { return slices.Contains(w.named, d) }

type mTask struct {
	id     string
	thread *mThread
	agent  string
	labels string
	mute   bool // reads no messages
	review bool // a person accepts the result before it ends the task

	phase task.Phase
	// stop and paused are the holds of a person; expiring: the clock has stopped it.
	stop, paused, expiring bool
	// deadline is when nobody wants it any more; zero where there is none.
	deadline time.Time
	lease    string
	claim    string
	length   time.Duration
	until    time.Time
	taken    time.Time // when the lease began
	wait     mWait

	// ended is how the last lease was given back.
	endedLease, endedBy, endedBody string
	endedPhase                     task.Phase

	attempts, max int
	check         mCheck
	signals       []mSignal
	lastSignal    uint64
	answered      bool
	names         map[string]*mDecision
	asked         []*mDecision
	denied        map[string]bool
	items         map[string]bool
	timers        map[string]*mTimer
	result        string
	// offer is the open question about the result, versions how many results
	// were offered, cards how many questions about them there were; accepted: a
	// person took one.
	offer    *mDecision
	versions uint32
	cards    int
	accepted bool
	failure  string
	progress string

	// readySince and readyOrder are its place in the queue.
	readySince time.Time
	// endPosition is where the timeline tells of the end; 0 where that item is
	// not notable.
	endPosition uint64
	// readBy is the device on which the end was read.
	readBy string
}

func (t *mTask) live() bool { return !t.phase.Terminal() }

// state is the row of the visits table.
func (t *mTask) state() string {
	switch {
	case t == nil:
		return "none"
	case t.stop && t.live():
		return t.phase.String() + "/STOP"
	case t.paused && t.live():
		return t.phase.String() + "/PAUSE"
	default:
		return t.phase.String()
	}
}

type mGrant struct {
	id   string
	item string
	// args are the arguments it is for, as they were written; digest names the
	// action with them.
	args   string
	digest decision.Digest
	state  decision.GrantState
	until  time.Time
}

type mDecision struct {
	id        string
	task      *mTask
	q         question
	name      string
	reason    string
	status    decision.Status
	revision  uint32
	until     time.Time
	stopTask  bool
	answer    string // options and texts of the winner
	meant     string // the same, whatever spelling it came in
	winner    string // its installation
	grants    []mGrant
	delivered bool
}

func (d *mDecision) late(now time.Time) bool { return !d.until.IsZero() && !now.Before(d.until) }

func (d *mDecision) state(now time.Time) string {
	switch {
	case d == nil:
		return "none"
	case d.status == decision.Pending && d.late(now):
		return "PENDING/late"
	default:
		return d.status.String()
	}
}

// openOf lists the open questions of a task.
func (t *mTask) openOf() []*mDecision {
	var open []*mDecision
	for _, d := range t.asked {
		if d.status == decision.Pending {
			open = append(open, d)
		}
	}
	return open
}

// taskOf and decisionOf find by id; nil where there is none.
func (m *model) taskOf(id string) *mTask {
	return find(m.tasks, func(t *mTask) bool { return t.id == id })
}

func (m *model) decisionOf(id string) *mDecision {
	return find(m.decisions, func(d *mDecision) bool { return d.id == id })
}

func find[T any](all []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// claimable: a worker may have it.
func (t *mTask) claimable() bool { return t.phase == task.Ready && !t.stop && !t.paused }

// claimable lists what a worker of an agent may find, in the order in which it
// finds it.
func (m *model) claimable(agent string) []*mTask {
	var ready []*mTask
	for _, t := range m.tasks {
		if t.agent == agent && t.claimable() {
			ready = append(ready, t)
		}
	}
	slices.SortFunc(ready, func(a, b *mTask) int {
		return cmp.Or(a.readySince.Compare(b.readySince), cmp.Compare(a.id, b.id))
	})
	return ready
}

// badge is what the person still has to look at.
func (m *model) badge() (open, unread uint32) {
	for _, d := range m.decisions {
		if d.status == decision.Pending {
			open++
		}
	}
	for _, th := range m.threads {
		if th.unread() {
			unread++
		}
	}
	return open, unread
}

func (m *model) liveTasks() int {
	n := 0
	for _, t := range m.tasks {
		if t.live() {
			n++
		}
	}
	return n
}
