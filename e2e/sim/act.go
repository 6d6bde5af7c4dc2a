package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/store"
)

// act is one step: chance picks who does what.
func (w *world) act() {
	if w.model.killed && w.chance(6) {
		w.setKillSwitch() // nobody leaves it on for long
	}
	switch n := w.rand.IntN(100); {
	case n < 5:
		w.createTask()
	case n < 12:
		w.claimTask()
	case n < 50:
		w.work()
	case n < 67:
		w.person()
	case n < 70:
		w.askAround()
	case n < 83:
		w.pushes()
	case n < 87:
		w.repeat()
	case n < 90:
		w.syncSome()
	case n < 91:
		w.compareReplicas()
	case n < 92:
		w.restart()
	default:
		w.sleep()
		if !w.chance(3) {
			w.processDue()
		}
	}
}

// work is what a worker does with a task in its hands.
func (w *world) work() {
	h, ok := w.hand()
	if !ok {
		w.claimOrCreate()
		return
	}
	if h.task.review && h.task.holds(h.lease) && w.chance(6) {
		w.completeTask(h)
		return
	}
	if h.task.granted() && h.task.holds(h.lease) && w.chance(5) {
		w.yieldTask(h) // it may, and it is not yet time
		return
	}
	switch n := w.rand.IntN(100); {
	case n < 28:
		w.requestDecision(h)
	case n < 34:
		w.heartbeat(h)
	case n < 40:
		w.saveCheckpoint(h)
	case n < 46:
		w.ackSignals(h)
	case n < 50:
		w.updateProgress(h)
	case n < 57:
		w.setTimer(h)
	case n < 60:
		w.cancelTimer(h)
	case n < 65:
		w.appendItems(h)
	case n < 80:
		w.yieldTask(h)
	case n < 86:
		w.releaseTask(h)
	case n < 91:
		w.completeTask(h)
	case n < 94:
		w.failTask(h)
	case n < 97:
		w.amendDecision()
	default:
		w.withdrawDecision()
	}
}

// claimOrCreate is what an idle worker does; it does not ask an empty queue for
// ever.
func (w *world) claimOrCreate() {
	waiting := 0
	for _, a := range w.agents {
		waiting += len(w.model.claimable(a.Agent))
	}
	if waiting > 0 {
		w.claimTask()
	} else {
		w.createTask()
	}
}

func (w *world) person() {
	switch n := w.rand.IntN(100); {
	case n < 44:
		w.answerDecision()
	case n < 53:
		w.tap()
	case n < 64:
		w.sendMessage()
	case n < 66:
		w.markRead()
	case n < 68:
		w.denyAllOpen()
	case n < 69:
		w.setKillSwitch()
	case n < 83:
		w.pauseOrResume()
	case n < 95:
		w.revokeGrant(nil)
	default:
		w.stopTask()
	}
}

func (w *world) askAround() {
	switch w.rand.IntN(5) {
	case 0, 1:
		w.waitDecision()
	case 2, 3:
		w.getTask()
	default:
		w.unknownTask()
	}
}

func (w *world) pushes() {
	switch {
	case w.chance(25):
		w.registerAgain()
	case len(w.vendor.results) > 0 && w.chance(3):
		w.finishPushes()
	case len(w.vendor.hands) > 0 && !w.chance(5):
		w.sendPush(anyDay)
	default:
		w.claimPushes()
	}
}

// sleep lets time pass, mostly little. A wall clock may also jump back.
func (w *world) sleep() {
	var by time.Duration
	switch n := w.rand.IntN(100); {
	case n < 60:
		by = time.Duration(w.rand.IntN(3000)) * time.Millisecond
	case n < 84:
		by = time.Duration(w.rand.IntN(40)) * time.Second
	case n < 94:
		by = time.Duration(w.rand.IntN(20*60)) * time.Second
	case n < 97:
		by = time.Duration(w.rand.IntN(30*3600)) * time.Second
	case n < 98:
		by = time.Duration(w.rand.IntN(35*24)) * time.Hour
	default:
		by = -time.Duration(w.rand.IntN(300)) * time.Second
	}
	w.wall = w.wall.Add(by)
	w.note("time passes", by.String())
}

// processDue lets time bring about what is due.
func (w *world) processDue() {
	plan := func() []due {
		all := w.model.dues()
		n := slices.IndexFunc(all, func(d due) bool { return d.at.After(w.wall) })
		if n < 0 {
			return all
		}
		return all[:n]
	}
	planned := plan()
	for _, d := range planned {
		w.visitDue(d)
	}
	w.attempt(call{
		name: "ProcessDue", rule: "R6", text: fmt.Sprintf("time brings about %v", planned), many: true,
		do: func() (string, error) {
			next, err := w.app.ProcessDue(w.ctx)
			return "next " + next.UTC().Format(time.RFC3339Nano), err
		},
		judge: func() string {
			// What is due in an account is one commit: all of it or nothing.
			if w.engine.commits > 0 {
				for _, d := range plan() {
					w.happen(d)
				}
			}
			var next time.Time
			if left := w.model.dues(); len(left) > 0 {
				next = left[0].at
			}
			return "next " + next.UTC().Format(time.RFC3339Nano)
		},
	})
}

// happen is one thing that time brings about.
func (w *world) happen(d due) {
	switch d.kind {
	case store.DueLease:
		w.model.loseLease(w.model.taskOf(d.id))
	case store.DueWait:
		w.model.wake(w.model.taskOf(d.id))
	case store.DueTimer:
		w.model.fire(d.id)
	case store.DueDeadline:
		w.model.overdue(w.model.taskOf(d.id))
	case store.DueDecision:
		w.model.expire(w.model.decisionOf(d.id))
	case store.DueWorker, store.DueSilence: // in no story
	}
}

func (w *world) visitDue(d due) {
	if d.kind == store.DueDecision {
		w.visits[Cell{"decision", w.model.decisionOf(d.id).state(w.now()), "due"}]++
		return
	}
	owner, _, _ := strings.Cut(d.id, "\x00")
	w.visits[Cell{"task", w.model.taskOf(owner).state(), "due " + string(d.kind)}]++
}

// drainRounds is more than any backoff of the run needs.
const drainRounds = 200

// drain ends the story well: the vendor takes everything, and then nothing that
// still calls for the person may have been lost.
func (w *world) drain() {
	w.step = w.Steps + 1
	w.retries = nil
	v := w.vendor
	for range drainRounds {
		w.engine.begin(0, false)
		rows, err := w.app.Outbox().Claim(w.ctx, lane, 64, deliveryLease)
		w.must(err)
		for _, row := range rows {
			v.leases[row.ID] = row.Lease
		}
		v.hands = append(v.hands, rows...)
		for len(v.hands) > 0 {
			w.sendPush(accepts)
		}
		w.must(w.app.Outbox().Finish(w.ctx, v.results))
		v.results = nil
		next, waiting, err := w.app.Outbox().NextDue(w.ctx, lane)
		w.must(err)
		if !waiting {
			break
		}
		w.wall = later(w.wall, next)
	}
	w.checkDrained()
	w.compareReplicas()
	w.check()
}

// checkDrained: R21. Every row has ended, and for a reason.
func (w *world) checkDrained() {
	w.view(func(tx *store.Read) error {
		rows, err := tx.Deliveries()
		if err != nil {
			return err
		}
		withdrawals := map[screenKey]push.Delivery{}
		for _, row := range rows {
			if row.Kind == push.Withdraw {
				withdrawals[taken(row)] = row
			}
		}
		for _, row := range rows {
			w.visits[Cell{"delivery", string(row.State), "at the end"}]++
			if !row.State.Final() {
				w.failf("R21", "row %s is still %s", row.ID, row.State)
			}
			if row.Kind != push.Withdraw && row.Key() != "" {
				w.checkTakenBack(row, withdrawals)
			}
		}
		return nil
	})
}

// checkTakenBack: R21, R22. What counts as accepted was sent, and what was
// accepted and is handled elsewhere was taken back, or the withdrawal says why
// not.
func (w *world) checkTakenBack(alert push.Delivery, withdrawals map[screenKey]push.Delivery) {
	key := called(alert)
	_, rang := w.vendor.rang[key]
	back, planned := withdrawals[key.screenKey]
	switch {
	case alert.State == push.Accepted && !rang:
		w.failf("R21", "%s counts as accepted and was never sent", key)
	case alert.State == push.Accepted && w.alerts.back[key.screenKey] && !planned:
		w.failf("R22", "%s is handled and still on the screen", key)
	case back.State == push.Accepted && !w.vendor.back[key.screenKey]:
		w.failf("R22", "%s counts as taken back and nothing was sent", key)
	case back.Reason == notShown && alert.State == push.Accepted:
		w.failf("R22", "%s was shown and its withdrawal says it was not", key)
	}
}

// dump is everything stored, table by table.
func (w *world) dump() ([]string, error) {
	var names []string
	for name := range w.engine.tables {
		names = append(names, string(name))
	}
	slices.Sort(names)
	var out []string
	err := w.engine.View(context.WithoutCancel(w.ctx), w.account, func(r store.Reader) error {
		for _, name := range names {
			if err := r.Scan(store.Table(name), nil, nil, func(k, v []byte) bool {
				out = append(out, fmt.Sprintf("%s %q = %q", name, k, v))
				return true
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}
