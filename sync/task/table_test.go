package task_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/task"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const held, other = "lease-held", "lease-other"

// at is a task in a phase and under a hold, one lost lease behind it.
func at(p task.Phase, h task.HoldKind) task.State {
	s := task.State{
		ID: "tsk_1", Phase: p, Hold: task.Hold{Kind: h}, Attempts: 1, MaxAttempts: 3, Checkpoint: 4,
	}
	if h != task.HoldNone {
		s.Hold = task.Hold{Kind: h, By: "owner", Reason: "why", Since: now.Add(-time.Minute)}
	}
	switch p {
	case task.Running:
		s.Lease = task.Lease{ID: held, ClaimID: "claim-held", Length: time.Minute, Until: now.Add(20 * time.Second)}
	case task.Waiting:
		s.Wait = task.Wait{Mode: task.All, Decisions: []string{"d1", "d2"}}
	case task.Completed:
		s.Result, s.EndTime = &task.Result{Summary: "done"}, now
	case task.Failed:
		s.Failure, s.EndTime = &task.Failure{Code: "broken"}, now
	default: // READY has nothing of its own, nor have the other ends
	}
	return s
}

func lease(id, claim string) task.Lease {
	return task.Lease{ID: id, ClaimID: claim, Length: time.Minute, Until: now.Add(time.Minute)}
}

// row is one command in one variant. The outcomes are by phase (READY, RUNNING,
// WAITING, ended), and where the hold matters by hold, in the order NONE PAUSE
// STOP REVIEW: a phase, "+STOP" where the hold changes, "-" for nothing to do,
// or a refusal in lower case.
type row struct {
	// column is that of the package doc's table, empty for a variant that its
	// cells do not speak of.
	column  string
	name    string
	command task.Command
	given   func(*task.State)
	want    [4]string
}

func lastAttempt(s *task.State)  { s.Attempts = 2 }
func firstAttempt(s *task.State) { s.Attempts = 0 }
func retried(s *task.State) {
	if s.Phase == task.Waiting {
		s.Wait = task.Wait{Mode: task.Any, Until: now.Add(5 * time.Second), Retry: true}
	}
}
func wrapped(s *task.State) { s.Attempts, s.MaxAttempts = 0, 1 }

func afterRestore(s *task.State) { s.Restored, s.RestoreCard = true, "d7" }
func orphaned(s *task.State)     { wrapped(s); s.Restored = true }

// restoredTo is what a restore makes of a task: held for review, and of a
// RUNNING one the given phase.
func restoredTo(running string) [4]string {
	in := func(p string) string { return p + "+REVIEW " + p + "+REVIEW " }
	return [4]string{in("READY") + "READY READY", in(running) + "CANCELED " + running, in("WAITING") + "WAITING WAITING", "-"}
}

var patience = task.Patience{Show: 2 * time.Minute, Ask: time.Hour, Again: 24 * time.Hour}

func waitsFor(s *task.State) {
	s.ReadyTime, s.LookTime = now.Add(-time.Hour), now
	s.NoWorker = task.NoWorker{Since: now.Add(-time.Hour), For: "os=linux", Card: "d8", AskTime: now}
}

func heard(s *task.State) {
	s.SilenceAfter, s.SpokeTime, s.SilenceLook = time.Minute, now.Add(-time.Minute), now
}

func late(s *task.State) { s.Deadline = now }

func expiring(s *task.State) {
	s.Deadline, s.Expiring = now.Add(-time.Minute), s.Hold.Kind == task.HoldStop && !s.Phase.Terminal()
}

func offered(s *task.State) {
	if !s.Phase.Terminal() {
		s.Offer, s.Result = "d9", &task.Result{Summary: "ok"}
	}
}

func pausedBelow(s *task.State) {
	if s.Hold.Kind == task.HoldReview {
		s.Below = task.Hold{Kind: task.HoldPause, By: "owner", Since: now.Add(-time.Hour)}
	}
}

// held4 is what happens to a hold, the same in every phase but the ended ones.
func held4(byHold string) [4]string {
	in := func(p task.Phase) string {
		var cells []string
		for c := range strings.FieldsSeq(byHold) {
			if c != "-" {
				c = p.String() + "+" + c
			}
			cells = append(cells, c)
		}
		return strings.Join(cells, " ")
	}
	return [4]string{in(task.Ready), in(task.Running), in(task.Waiting), "-"}
}

func gaveBack(op task.Op) func(*task.State) {
	return func(s *task.State) { s.Ended = task.Ended{Lease: other, Op: op, Phase: s.Phase} }
}

func rows() []row {
	wait := task.Wait{Mode: task.Any, Decisions: []string{"d1"}}
	lost := [4]string{"lost", "lost", "lost", "lost"}
	nothing := [4]string{"-", "-", "-", "-"}
	kept := [4]string{"lost", "RUNNING", "lost", "lost"}
	back := func(to string) [4]string {
		return [4]string{"lost", to + " " + to + " CANCELED " + to, "lost", "lost"}
	}
	lose := func(to string) [4]string { return [4]string{"-", to + " " + to + " CANCELED " + to, "-", "-"} }
	onlyFree := "RUNNING refused refused refused"
	return []row{
		{"Claim", "new", task.Claim{Lease: lease(other, "claim-other")}, nil, [4]string{onlyFree, "refused", "refused", "refused"}},
		{"", "same claim id", task.Claim{Lease: lease(other, "claim-held")}, nil, [4]string{onlyFree, "RUNNING", "refused", "refused"}},
		{"", "no claim id", task.Claim{Lease: lease(other, "")}, nil, [4]string{onlyFree, "refused", "refused", "refused"}},
		{"Heartbeat etc.", "heartbeat", task.Heartbeat{Lease: held}, nil, kept},
		{"", "other lease", task.Heartbeat{Lease: other}, nil, lost},
		{"Heartbeat etc.", "checkpoint", task.SaveCheckpoint{Lease: held, Expected: 4}, nil, kept},
		{"", "does not follow", task.SaveCheckpoint{Lease: held, Expected: 3}, nil, [4]string{"lost", "conflict", "lost", "lost"}},
		{"", "other lease", task.SaveCheckpoint{Lease: other, Expected: 4}, nil, lost},
		{"Heartbeat etc.", "ack", task.Ack{Lease: held}, nil, kept},
		{"", "other lease", task.Ack{Lease: other}, nil, lost},
		{"", "speak", task.Speak{Lease: held}, heard, kept},
		{"", "speak where nobody listens", task.Speak{Lease: held}, nil, [4]string{"lost", "-", "lost", "lost"}},
		{"", "other lease", task.Speak{Lease: other}, heard, lost},
		{"", "silence", task.Listen{}, heard, [4]string{"-", "RUNNING", "-", "-"}},
		{"", "listened too early", task.Listen{}, func(s *task.State) { heard(s); s.SilenceLook = now.Add(1) }, nothing},
		{"", "where nobody listens", task.Listen{}, nil, nothing},
		{"Heartbeat etc.", "progress", task.UpdateProgress{Lease: held, Progress: task.Progress{Text: "half"}}, nil, kept},
		{"", "other lease", task.UpdateProgress{Lease: other}, nil, lost},
		{"Yield", "to sleep", task.Yield{Lease: held, Wait: wait}, nil, back("WAITING")},
		{"Yield", "satisfied", task.Yield{Lease: held, Wait: wait, Satisfied: true}, nil, back("READY")},
		{"Yield", "unacked", task.Yield{Lease: held, Wait: wait, Unacked: true}, nil, back("READY")},
		{"", "until alone", task.Yield{Lease: held, Wait: task.Wait{Until: now.Add(time.Hour)}}, nil, back("WAITING")},
		{"", "for nothing", task.Yield{Lease: held}, nil, [4]string{"lost", "empty", "lost", "lost"}},
		{"", "other lease", task.Yield{Lease: other, Wait: wait}, nil, lost},
		{"", "given back by yield", task.Yield{Lease: other, Wait: wait}, gaveBack(task.OpYield), nothing},
		{"", "given back by release", task.Yield{Lease: other, Wait: wait}, gaveBack(task.OpRelease), lost},
		{"Release", "release", task.Release{Lease: held}, nil, back("READY")},
		{"", "other lease", task.Release{Lease: other}, nil, lost},
		{"", "given up", task.Release{Lease: held, GiveUp: "why"}, nil, [4]string{"lost", "CANCELED", "lost", "lost"}},
		{"", "given back by release", task.Release{Lease: other}, gaveBack(task.OpRelease), nothing},
		{"", "given back by yield", task.Release{Lease: other}, gaveBack(task.OpYield), lost},
		{"", "nothing after release", task.Heartbeat{Lease: other}, gaveBack(task.OpRelease), lost},
		{"Complete", "complete", task.Complete{Lease: held, Result: &task.Result{Summary: "ok"}}, nil, [4]string{"lost", "COMPLETED", "lost", "lost"}},
		{"", "other lease", task.Complete{Lease: other}, nil, lost},
		{"", "given back by fail", task.Complete{Lease: other}, gaveBack(task.OpFail), lost},
		{"Fail", "fail", task.Fail{Lease: held, Failure: task.Failure{Code: "x"}}, nil, [4]string{"lost", "FAILED", "lost", "lost"}},
		{"", "other lease", task.Fail{Lease: other}, nil, lost},
		{"", "given back by complete", task.Fail{Lease: other}, gaveBack(task.OpComplete), lost},
		{"Stop", "stop", task.Stop{By: "me"}, nil, [4]string{"CANCELED", "RUNNING+STOP RUNNING+STOP - RUNNING+STOP", "CANCELED", "-"}},
		{"Cancel", "cancel", task.Cancel{By: "me"}, nil, [4]string{"CANCELED", "CANCELED", "CANCELED", "-"}},
		{"Pause etc.", "pause", task.Pause{By: "me"}, nil, held4("PAUSE - - below")},
		{"", "pause beneath", task.Pause{By: "me"}, pausedBelow, held4("PAUSE - - -")},
		{"Pause etc.", "resume", task.Resume{}, nil, held4("- NONE - -")},
		{"", "resume beneath", task.Resume{}, pausedBelow, held4("- NONE - below")},
		{"Pause etc.", "review", task.Review{By: "server"}, nil, held4("REVIEW REVIEW - -")},
		{"Pause etc.", "clear", task.Clear{}, nil, held4("- - - NONE")},
		{"", "clear over a pause", task.Clear{}, pausedBelow, held4("- - - PAUSE")},
		{"", "to be accepted", task.Complete{Lease: held, Result: &task.Result{Summary: "ok"}, Review: "d9"}, nil, [4]string{"lost", "WAITING WAITING COMPLETED WAITING", "lost", "lost"}},
		{"Accept", "accept", task.Accept{}, offered, [4]string{"COMPLETED", "COMPLETED", "COMPLETED", "-"}},
		{"", "nothing offered", task.Accept{}, nil, nothing},
		{"SendBack", "send back", task.SendBack{}, offered, [4]string{"READY", "RUNNING", "READY", "-"}},
		{"", "nothing to send back", task.SendBack{}, nil, nothing},
		{"Overdue", "overdue", task.Overdue{}, late, [4]string{"EXPIRED EXPIRED - EXPIRED", "RUNNING+STOP RUNNING+STOP - RUNNING+STOP", "EXPIRED EXPIRED - EXPIRED", "-"}},
		{"", "not overdue yet", task.Overdue{}, func(s *task.State) { s.Deadline = now.Add(1) }, nothing},
		{"", "no deadline", task.Overdue{}, nil, nothing},
		{"", "yield after the deadline", task.Yield{Lease: held, Wait: wait}, expiring, [4]string{"lost", "WAITING WAITING EXPIRED WAITING", "lost", "lost"}},
		{"", "release after the deadline", task.Release{Lease: held}, expiring, [4]string{"lost", "READY READY EXPIRED READY", "lost", "lost"}},
		{"", "lease lost after the deadline", task.LoseLease{Lease: held}, expiring, [4]string{"-", "WAITING WAITING EXPIRED WAITING", "-", "-"}},
		{"", "complete after the deadline", task.Complete{Lease: held}, expiring, [4]string{"lost", "COMPLETED", "lost", "lost"}},
		{"", "nobody there", task.Look{Started: now.Add(-time.Hour), Patience: patience}, waitsFor, [4]string{"READY - - -", "-", "-", "-"}},
		{"", "looked at too early", task.Look{Patience: patience}, func(s *task.State) { s.LookTime = now.Add(1) }, nothing},
		{"", "told to wait", task.KeepWaiting{Again: time.Hour}, waitsFor, [4]string{"READY - - -", "-", "-", "-"}},
		{"", "told to wait unasked", task.KeepWaiting{Again: time.Hour}, nil, nothing},
		{"Wake", "satisfied", task.Wake{Satisfied: true}, nil, [4]string{"-", "-", "READY", "-"}},
		{"Wake", "by itself", task.Wake{Waking: true}, nil, [4]string{"-", "-", "READY", "-"}},
		{"", "not enough", task.Wake{}, nil, nothing},
		{"", "tried again in time", task.Wake{Satisfied: true}, retried, [4]string{"-", "-", "READY", "-"}},
		{"", "tried again for a message", task.Wake{Waking: true}, retried, [4]string{"-", "-", "READY", "-"}},
		{"", "stopped before it is tried again", task.Stop{By: "me"}, retried, [4]string{"CANCELED", "RUNNING+STOP RUNNING+STOP - RUNNING+STOP", "CANCELED", "-"}},
		{"LoseLease", "the first in a row", task.LoseLease{Lease: held}, firstAttempt, lose("READY")},
		{"LoseLease", "another in a row", task.LoseLease{Lease: held}, nil, lose("WAITING")},
		{"LoseLease", "asked", task.LoseLease{Lease: held, Pending: []string{"d1"}}, nil, lose("WAITING")},
		{"LoseLease", "last attempt", task.LoseLease{Lease: held}, lastAttempt, lose("FAILED")},
		{"", "last attempt, asked", task.LoseLease{Lease: held, Pending: []string{"d1"}}, lastAttempt, lose("WAITING")},
		{"", "wrapped", task.LoseLease{Lease: held}, wrapped, lose("FAILED")},
		{"", "asked, unheard", task.LoseLease{Lease: held, Pending: []string{"d1"}, Unacked: true}, firstAttempt, lose("READY")},
		{"", "asked, unheard, another in a row", task.LoseLease{Lease: held, Pending: []string{"d1"}, Unacked: true}, nil, lose("WAITING")},
		{"", "last attempt, asked, unheard", task.LoseLease{Lease: held, Pending: []string{"d1"}, Unacked: true}, lastAttempt, lose("FAILED")},
		{"", "wrapped, asked, unheard", task.LoseLease{Lease: held, Pending: []string{"d1"}, Unacked: true}, wrapped, lose("FAILED")},
		{"", "wrapped, asked", task.LoseLease{Lease: held, Pending: []string{"d1"}}, wrapped, lose("FAILED")},
		{"", "other lease", task.LoseLease{Lease: other}, lastAttempt, nothing},
		{"", "restored", task.Restore{Card: "d7"}, lastAttempt, restoredTo("READY")},
		{"", "restored, asked", task.Restore{Card: "d7", Pending: []string{"d1"}}, nil, restoredTo("WAITING")},
		{"", "restored, asked, unheard", task.Restore{Card: "d7", Pending: []string{"d1"}, Unacked: true}, nil, restoredTo("READY")},
		{"", "restored, wrapped", task.Restore{Card: "d7", Pending: []string{"d1"}}, wrapped, restoredTo("READY")},
		{"", "may go on", task.GoOn{Card: "d7"}, afterRestore, [4]string{"READY", "RUNNING", "WAITING", "-"}},
		{"", "may go on, by another question", task.GoOn{Card: "d6"}, afterRestore, nothing},
		{"", "may go on, not asked", task.GoOn{}, nil, nothing},
		{"", "clear before it may go on", task.Clear{}, afterRestore, nothing},
		{"", "clear what nobody else can go on with", task.Clear{}, orphaned, [4]string{"- - - FAILED", "- - - RUNNING+NONE", "- - - WAITING+NONE", "-"}},
	}
}

// wanted is the outcome a row names for a phase and a hold.
func (r row) wanted(p task.Phase, h task.HoldKind) string {
	cells := strings.Fields(r.want[min(int(p), 4)-1])
	if len(cells) == 1 {
		return cells[0]
	}
	return cells[slices.Index(task.Holds[:], h)]
}

// outcome says in the words of a row what a command did.
func outcome(before, after task.State, events []task.Event, err error) string {
	var conflict *task.CheckpointConflictError
	switch {
	case errors.Is(err, task.ErrLeaseLost):
		return "lost"
	case errors.Is(err, task.ErrNotClaimable):
		return "refused"
	case errors.Is(err, task.ErrEmptyWait):
		return "empty"
	case errors.As(err, &conflict):
		return "conflict"
	case err != nil:
		return err.Error()
	case len(events) == 0:
		return "-"
	case before.Hold != after.Hold:
		return after.Phase.String() + "+" + after.Hold.Kind.String()
	case before.Below != after.Below:
		return after.Phase.String() + "+below"
	default:
		return after.Phase.String()
	}
}

// Every phase × hold × command, in every variant of the command.
func TestDecide_Table(t *testing.T) {
	t.Parallel()
	for _, r := range rows() {
		for _, p := range task.Phases {
			for _, h := range task.Holds {
				t.Run(fmt.Sprintf("%T %s/%s/%s", r.command, r.name, p, h), func(t *testing.T) {
					t.Parallel()
					s := at(p, h)
					if r.given != nil {
						r.given(&s)
					}
					events, err := task.Decide(s, r.command, now)
					after := task.ApplyAll(s, events, now)
					if got, want := outcome(s, after, events, err), r.wanted(p, h); got != want {
						t.Fatalf("got %s, want %s", got, want)
					}
					if len(events) == 0 {
						if diff := cmp.Diff(s, after); diff != "" {
							t.Errorf("nothing to do, yet (-before +after):\n%s", diff)
						}
						return
					}
					wellFormed(t, s, after)
				})
			}
		}
	}
}

// fatal is what both a test and a property check offer.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// wellFormed checks what holds in every state that a command leads to.
func wellFormed(t fatal, before, s task.State) {
	t.Helper()
	switch {
	case (s.Phase == task.Running) != (s.Lease.ID != ""):
		t.Fatalf("%s with lease %q", s.Phase, s.Lease.ID)
	case (s.Phase == task.Waiting) != !s.Wait.Empty():
		t.Fatalf("%s with wait %v", s.Phase, s.Wait)
	case s.Wait.Retry && (s.Wait.Until.IsZero() || s.Attempts == 0):
		t.Fatalf("tried again after %d lost leases, wait %v", s.Attempts, s.Wait)
	case s.Phase.Terminal() != !s.EndTime.IsZero():
		t.Fatalf("%s with end %v", s.Phase, s.EndTime)
	case s.Phase == task.Failed && s.Failure == nil:
		t.Fatalf("FAILED for no reason")
	case before.Phase.Terminal():
		t.Fatalf("%s changed", before.Phase)
	case s.Below.Kind != 0 && (s.Below.Kind != task.HoldPause || s.Hold.Kind != task.HoldReview):
		t.Fatalf("%s beneath %s", s.Below.Kind, s.Hold.Kind)
	case s.Phase.Terminal() && s.Offer != "":
		t.Fatalf("%s with an offered result", s.Phase)
	}
}
