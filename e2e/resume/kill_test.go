package resume_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/resume"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a handler with all kinds of steps.
func (h *house) script(ctx context.Context, t *beckon.Task) error {
	title, err := beckon.Step(ctx, t, "title", func(context.Context) (string, error) { return "Report", nil })
	if err != nil {
		return err
	}
	reply, err := t.Ask(ctx, beckon.AskChoice("when", "When?", 1, 1,
		&v1.Option{Id: "now", Label: "Now", Kind: v1.OptionKind_OPTION_KIND_CHOOSE},
		&v1.Option{Id: "never", Label: "Never", Kind: v1.OptionKind_OPTION_KIND_CHOOSE}))
	if err != nil {
		return err
	}
	if err := t.Sleep(ctx, "rest", time.Minute); err != nil {
		return err
	}
	if _, err := t.Effect(ctx, question("report"), h.send); err != nil {
		return err
	}
	t.SetResult(&v1.TaskResult{Summary: fmt.Sprint(title, " ", reply.Options[0])})
	return nil
}

// whole checks that a task of script came to the one good end.
func (h *house) whole(id, story string) {
	h.t.Helper()
	task := h.answers(id)
	if task.GetPhase() != v1.TaskPhase_TASK_PHASE_COMPLETED || task.GetResult().GetSummary() != "Report now" {
		h.t.Errorf("%s: the task is %s", story, task)
	}
	asked := map[v1.DecisionKind]int{}
	for _, d := range h.get(id).GetDecisions() {
		asked[d.GetKind()]++
	}
	if asked[v1.DecisionKind_DECISION_KIND_CHOOSE] != 1 || asked[v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION] != 1 {
		h.t.Errorf("%s: the person was asked %v", story, asked)
	}
	if n := h.outside.Load(); n != 1 {
		h.t.Errorf("%s: the outside was reached %d times", story, n)
	}
	results := 0
	thread := must(h.owner.Items.ListItems(h.t.Context(), &v1.ListItemsRequest{ThreadId: task.GetThreadId()}))(h.t)
	for _, item := range thread.GetItems() {
		if item.GetKind() == v1.ItemKind_ITEM_KIND_RESULT {
			results++
		}
	}
	if results != 1 {
		h.t.Errorf("%s: %d results", story, results)
	}
}

// procedures are those that script needs.
var procedures = []string{
	"ClaimTask", "SaveCheckpoint", "RequestDecision", "ListTimers", "SetTimer", "YieldTask", "BeginEffect", "ConfirmEffect", "CompleteTask",
}

// everyCall tells a story for each call of script: a worker of some patience
// meets a fault in it. The last story of each procedure has no such call left.
func everyCall(t *testing.T, fault resume.Fault, patience string, tell func(h *house, id, story string, first *worker)) {
	t.Helper()
	for _, procedure := range procedures {
		met := 0
		for reached := true; reached && !t.Failed(); {
			in(t, func(h *house) {
				id := h.task()
				first := h.start(patient(patience), func(n int, called string) resume.Fault {
					if called == procedure && n == met+1 {
						return fault
					}
					return resume.None
				}, h.script)
				tell(h, id, fmt.Sprint(procedure, " ", met+1), first)
				reached = first.wire.Calls(procedure) > met
			})
			if reached {
				met++
			}
		}
		if met == 0 && (procedure != "YieldTask" || patience == asleep) {
			t.Errorf("%s was never called", procedure)
		}
	}
}

// R3, R12, R14: whatever call a worker dies in, before the server has heard of it
// or after it was carried out, the next worker brings the task to the same end:
// asked once, done once, one result.
func TestKilled_InEveryCall(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]resume.Fault{"before": resume.DieBefore, "after": resume.DieAfter} {
		for _, patience := range []string{asleep, inPlace} {
			t.Run(name+" "+patience, func(t *testing.T) {
				t.Parallel()
				everyCall(t, fault, patience, func(h *house, id, story string, first *worker) {
					whole := make(chan struct{})
					go func() {
						select {
						case <-whole:
						case <-first.done:
							h.start(patient(patience), nil, h.script)
						}
					}()
					h.whole(id, "killed in "+story)
					close(whole)
				})
			})
		}
	}
}

// Any one answer that gets lost changes nothing.
func TestLostAnswer_OfEveryCall(t *testing.T) {
	t.Parallel()
	for _, patience := range []string{asleep, inPlace} {
		t.Run(patience, func(t *testing.T) {
			t.Parallel()
			everyCall(t, resume.Lose, patience, func(h *house, id, story string, _ *worker) {
				h.whole(id, "lost the answer of "+story)
			})
		})
	}
}

const asleep, inPlace = "asleep", "in place"

func patient(how string) beckon.Worker {
	if how == asleep {
		return beckon.Worker{Patience: -1}
	}
	return beckon.Worker{Patience: time.Hour}
}

// R15: a worker that dies while it does something leaves what nobody knows to
// the person, and the outside is reached once, whichever side of it it was.
func TestKilled_InTheEffect(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"before the outside has it": true, "after": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(h *house) {
				id := h.task()
				var first *worker
				ready := make(chan struct{})
				first = h.start(beckon.Worker{}, nil, func(ctx context.Context, task *beckon.Task) error {
					<-ready
					_, err := task.Effect(ctx, question("report"), func(ctx context.Context, _ beckon.Go) (string, error) {
						if !before {
							h.outside.Add(1)
						}
						first.wire.Cut()
						<-ctx.Done()
						return "", ctx.Err()
					})
					return err
				})
				close(ready)
				go func() {
					<-first.done
					h.start(beckon.Worker{}, nil, func(ctx context.Context, task *beckon.Task) error {
						_, err := task.Effect(ctx, question("report"), h.send)
						return err
					})
				}()
				task := h.answers(id)
				if task.GetPhase() != v1.TaskPhase_TASK_PHASE_COMPLETED || h.outside.Load() != 1 {
					t.Errorf("the outside was reached %d times, and the task is %s", h.outside.Load(), task)
				}
				asked := 0
				for _, d := range h.get(id).GetDecisions() {
					if d.GetKind() == v1.DecisionKind_DECISION_KIND_RESOLVE_UNCERTAIN {
						asked++
					}
				}
				if asked != 1 {
					t.Errorf("asked %d times what became of it", asked)
				}
			})
		})
	}
}
