package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/task"
)

// checkCounters: R26. What is counted is what is there.
func (w *world) checkCounters(tx *store.Read) {
	open, unread := w.model.badge()
	want := store.Counters{OpenDecisions: open, UnreadThreads: unread}
	w.same("R26", "the badge", tx.Counters(), want)
	rows, err := tx.Attention()
	w.must(err)
	w.same("R26", "the attention set", rows, want)
	w.same("R26", "the number of live tasks", tx.LiveTaskCount(), w.model.liveTasks())
}

// checkQueues: R1. Pointers and claimable tasks are the same set.
func (w *world) checkQueues() {
	for _, a := range w.agents {
		var got, want []string
		w.must(w.store.ReadyTasks(w.ctx, a.Agent, func(r store.ReadyTask) bool {
			got = append(got, r.Task+" "+r.Labels["os"])
			return true
		}))
		for _, t := range w.model.claimable(a.Agent) {
			want = append(want, t.id+" "+t.labels)
		}
		if !slices.Equal(got, want) {
			w.failf("R1", "agent %s may claim %v, want %v", a.Agent, got, want)
		}
	}
}

// due is one thing that time will bring about.
type due struct {
	at   time.Time
	kind store.DueKind
	id   string
}

func (d due) String() string {
	return fmt.Sprintf("%s %s at %s", d.kind, strings.ReplaceAll(d.id, "\x00", " "), d.at.Format(time.RFC3339Nano))
}

// dues lists what time alone will bring about, earliest first.
func (m *model) dues() []due {
	var all []due
	add := func(kind store.DueKind, id string, at time.Time) {
		if !at.IsZero() {
			all = append(all, due{at, kind, id})
		}
	}
	for _, t := range m.tasks {
		if t.phase == task.Running {
			add(store.DueLease, t.id, t.until)
			add(store.DueSilence, t.id, t.taken.Add(farAway))
		}
		if t.claimable() {
			add(store.DueWorker, t.id, t.readySince.Add(farAway))
		}
		if t.phase == task.Waiting {
			add(store.DueWait, t.id, t.wait.until)
		}
		add(store.DueDeadline, t.id, t.dueDeadline())
		for key, timer := range t.timers {
			if !timer.fired {
				add(store.DueTimer, store.TimerID(t.id, key), timer.at)
			}
		}
	}
	for _, d := range m.decisions {
		add(store.DueDecision, d.id, d.dueAt())
	}
	slices.SortFunc(all, func(a, b due) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return slices.Compare([]string{string(a.kind), a.id}, []string{string(b.kind), b.id})
	})
	return all
}

// checkDue: R6. Whatever waits for time has a pointer at that time, so that a
// process that starts from nothing finds it.
func (w *world) checkDue() {
	rows, err := w.store.TakeDue(w.ctx, w.wall.AddDate(100, 0, 0), 1<<20)
	w.must(err)
	var got []due
	for _, r := range rows {
		got = append(got, due{r.Time, r.Kind, r.ID})
	}
	if want := w.model.dues(); !slices.EqualFunc(got, want, func(a, b due) bool {
		return a.at.Equal(b.at) && a.kind == b.kind && a.id == b.id
	}) {
		w.failf("R6", "time will bring about %v, want %v", got, want)
	}
}

// checkStuck: R6. The server finds nothing itself that nobody would move.
func (w *world) checkStuck() {
	stuck, err := w.app.FindStuck(w.ctx)
	w.must(err)
	if len(stuck) > 0 {
		w.failf("R6", "without a next mover: %+v", stuck)
	}
}

// checkAlerts: R20, R21. The outbox has a row for each call that the story
// demands, and none besides.
func (w *world) checkAlerts(tx *store.Read) {
	w.alerts.hear(w.model.facts, w.vendor.alive)
	addresses, err := tx.Addresses()
	w.must(err)
	w.alerts.handle(w.model, w.vendor.alive, func(id string) string {
		for _, a := range addresses {
			if a.ID == id {
				return a.Installation
			}
		}
		return ""
	})
	w.vendor.alive = w.vendor.alive[:0]
	for _, a := range addresses {
		if a.State != push.AddressDead {
			w.vendor.alive = append(w.vendor.alive, a.ID)
		}
	}
	rows, err := tx.Deliveries()
	w.must(err)
	rows = w.checkWithdrawals(rows)
	for _, row := range rows {
		key := called(row)
		if !w.alerts.want[key] {
			w.failf("R20", "the outbox has %s, which nothing in the story calls for", key)
		}
	}
	if len(rows) == len(w.alerts.want) {
		return
	}
	have := map[alertKey]bool{}
	for _, row := range rows {
		key := called(row)
		if have[key] {
			w.failf("R21", "the outbox has %s twice", key)
		}
		have[key] = true
	}
	for key := range w.alerts.want {
		if !have[key] {
			w.failf("R21", "the outbox has lost %s", key)
		}
	}
}

// checkWithdrawals: R22. What takes back an alert does so once, for a subject
// that was handled elsewhere. It returns the other rows.
func (w *world) checkWithdrawals(rows []push.Delivery) []push.Delivery {
	seen := map[screenKey]bool{}
	return slices.DeleteFunc(rows, func(row push.Delivery) bool {
		if row.Key() == "" {
			return true // shows nothing; see quiet.go
		}
		if row.Kind != push.Withdraw {
			return false
		}
		key := taken(row)
		if !w.alerts.back[key] || !w.alerts.wanted(key) {
			w.failf("R22", "the outbox takes back %s, which nothing in the story calls for", key)
		}
		if seen[key] {
			w.failf("R22", "the outbox takes back %s twice", key)
		}
		seen[key] = true
		return true
	})
}

// headers remember when each header in the account scope last moved.
type headers struct {
	head  changelog.Seq
	moved map[string]time.Time
}

// headerEvery is how often chatter may move a header.
const headerEvery = 2 * time.Second

// checkHeaders: R24. What moved in the account scope in this step; and chatter
// moves nothing more often than every two seconds.
func (w *world) checkHeaders(chatter bool) {
	w.view(func(tx *store.Read) error {
		page, err := tx.Changes(changelog.AccountScope, w.seen.head, store.PageBytes)
		if err != nil {
			return err
		}
		for _, e := range page.Put {
			key := fmt.Sprintf("%d %s", e.Kind, e.ID)
			last, known := w.seen.moved[key]
			if chatter && known && w.now().Sub(last) < headerEvery {
				w.failf("R24", "chatter moved the header of %s after %s", e.ID, w.now().Sub(last))
			}
			w.seen.moved[key] = w.now()
		}
		w.seen.head = page.AsOf.Seq
		return nil
	})
}
