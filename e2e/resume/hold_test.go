package resume_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// holds are the ways in which a person interferes, each with how it is undone.
func (h *house) holds(id string) map[string][2]func() {
	stop := func() {
		must(h.owner.Tasks.StopTask(h.t.Context(), &v1.StopTaskRequest{IdempotencyKey: "stop", TaskId: id}))(h.t)
	}
	flip := func(on bool) func() {
		return func() {
			must(h.owner.Account.SetKillSwitch(h.t.Context(), &v1.SetKillSwitchRequest{IdempotencyKey: fmt.Sprint(on), On: on}))(h.t)
		}
	}
	return map[string][2]func(){
		"stopped": {stop, nil},
		"paused": {
			func() {
				must(h.owner.Tasks.PauseTask(h.t.Context(), &v1.PauseTaskRequest{IdempotencyKey: "pause", TaskId: id}))(h.t)
			},
			func() {
				must(h.owner.Tasks.ResumeTask(h.t.Context(), &v1.ResumeTaskRequest{IdempotencyKey: "resume", TaskId: id}))(h.t)
			},
		},
		"kill switch": {flip(true), flip(false)},
	}
}

// R7, R16: a stop, a pause and the kill switch are heard at once in each step of
// a handler, the context says which, and the task is given back: it ends by a
// stop, and goes on where it was when the others are lifted.
func TestHold_InEachStep(t *testing.T) {
	t.Parallel()
	for _, hold := range []string{"stopped", "paused", "kill switch"} {
		for _, step := range []string{"work", "step", "ask", "sleep", "effect"} {
			t.Run(hold+" in "+step, func(t *testing.T) {
				t.Parallel()
				in(t, func(h *house) { h.holdIn(hold, step) })
			})
		}
	}
}

func (h *house) holdIn(hold, step string) {
	h.t.Helper()
	id := h.task()
	var heard noted
	at := make(chan struct{})
	var first = true
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	h.start(beckon.Worker{Patience: time.Hour}, nil, func(ctx context.Context, task *beckon.Task) error {
		if !first {
			return nil
		}
		first = false
		began := time.Now()
		close(at)
		err := map[string]func() error{
			"work": func() error { return wait(ctx) },
			"step": func() error {
				_, err := beckon.Step(ctx, task, "step", func(ctx context.Context) (int, error) { return 1, wait(ctx) })
				return err
			},
			"ask": func() error {
				_, err := task.Ask(ctx, question("report"))
				return err
			},
			"sleep": func() error { return task.Sleep(ctx, "rest", time.Hour) },
			"effect": func() error {
				act := &v1.Action{App: "web", Operation: "read", ArgsJson: []byte(`{}`), EffectClass: v1.EffectClass_EFFECT_CLASS_READ_PUBLIC}
				_, err := task.Effect(ctx, beckon.AskAction("read", "Read?", act, false), func(fn context.Context, _ beckon.Go) (string, error) {
					<-ctx.Done() // told to end
					if fn.Err() != nil {
						h.t.Error("an effect is cut off at once")
					}
					h.outside.Add(1)
					return "receipt", nil
				})
				return errors.Join(err, context.Cause(ctx))
			},
		}[step]()
		if lag := time.Since(began); lag > 5*time.Second {
			h.t.Errorf("heard after %v", lag)
		}
		if errors.Is(err, context.Cause(ctx)) {
			heard.add(causeName(err))
		} else {
			heard.add(fmt.Sprint("not the cause: ", err))
		}
		return err
	})
	<-at
	h.pass(2 * time.Second) // it is in the middle of it
	do := h.holds(id)[hold]
	do[0]()
	h.wait("the handler ends", func() bool { return len(heard.all()) > 0 })
	if got := heard.all(); !slices.Equal(got, []string{hold}) {
		h.t.Errorf("heard %v", got)
	}
	if hold == "stopped" {
		h.phase(id, v1.TaskPhase_TASK_PHASE_CANCELED)
		return
	}
	got := h.phase(id, v1.TaskPhase_TASK_PHASE_READY)
	if got.GetAttempts() != 0 {
		h.t.Errorf("given back as %d lost leases", got.GetAttempts())
	}
	h.pass(time.Minute)
	if got := h.get(id).GetTask().GetPhase(); got != v1.TaskPhase_TASK_PHASE_READY {
		h.t.Error("under the hold it became", got)
	}
	do[1]()
	h.phase(id, v1.TaskPhase_TASK_PHASE_COMPLETED)
}

// A handler that has finished in spite of a stop keeps its result.
func TestStop_AResultCounts(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task()
		began := make(chan struct{})
		h.start(beckon.Worker{}, nil, func(ctx context.Context, task *beckon.Task) error {
			close(began)
			<-ctx.Done()
			task.SetResult(&v1.TaskResult{Summary: "Done all the same."})
			return nil
		})
		<-began
		h.holds(id)["stopped"][0]()
		if got := h.phase(id, v1.TaskPhase_TASK_PHASE_COMPLETED); got.GetResult().GetSummary() != "Done all the same." {
			t.Error(got)
		}
	})
}

// A worker that was cut off while its lease ran out learns it at its next word,
// and what it returns then changes nothing.
func TestLeaseLost_IsHeard(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task()
		var heard noted
		runs := 0
		handle := func(ctx context.Context, task *beckon.Task) error {
			runs++
			if runs == 1 {
				must(h.owner.Agents.UnlinkAgent(h.t.Context(), &v1.UnlinkAgentRequest{AgentId: h.link.GetAgentId()}))(t)
				<-ctx.Done()
				heard.add(causeName(context.Cause(ctx)))
				task.SetResult(&v1.TaskResult{Summary: "nobody hears this"})
			}
			return nil
		}
		w := h.start(beckon.Worker{}, nil, handle)
		h.wait("the handler ends", func() bool { return len(heard.all()) > 0 })
		w.stop()
		<-w.done
		w.err = nil // the agent is no longer good for anything
		if got := heard.all(); !slices.Equal(got, []string{"lost"}) {
			t.Errorf("heard %v", got)
		}
		if got := h.get(id).GetTask(); got.GetPhase() != v1.TaskPhase_TASK_PHASE_CANCELED || got.GetResult() != nil {
			t.Error(got)
		}
	})
}
