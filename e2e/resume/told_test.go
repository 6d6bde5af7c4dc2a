package resume_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/resume"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

var shortly = durationpb.New(time.Minute)

// write is the person in the thread of a task.
func (h *house) write(id, text string) {
	h.t.Helper()
	thread := h.get(id).GetTask().GetThreadId()
	must(h.owner.Threads.SendMessage(h.t.Context(), &v1.SendMessageRequest{IdempotencyKey: text, ThreadId: thread, Text: text}))(h.t)
}

// A message that comes while the task sleeps wakes it, and is there in every run
// until a checkpoint holds what was made of it: never lost, and after that never
// again, wherever the worker dies.
func TestMessages_UntilTheCheckpoint(t *testing.T) {
	t.Parallel()
	for _, procedure := range []string{"", "YieldTask", "SaveCheckpoint"} {
		for name, fault := range map[string]resume.Fault{"before": resume.DieBefore, "after": resume.DieAfter, "lost": resume.Lose} {
			t.Run(procedure+" "+name, func(t *testing.T) {
				t.Parallel()
				in(t, func(h *house) { h.messages(procedure, fault) })
			})
		}
	}
}

func (h *house) messages(procedure string, fault resume.Fault) {
	h.t.Helper()
	id := h.task()
	var seen noted
	handle := func(ctx context.Context, task *beckon.Task) error {
		var kept []string
		if _, err := task.Load(&kept); err != nil {
			return err
		}
		// It looks only after the answer: what came before must not be lost.
		if _, err := task.Ask(ctx, question("report")); err != nil {
			return err
		}
		kept = slices.AppendSeq(kept, task.Messages())
		if err := task.Checkpoint(ctx, kept); err != nil {
			return err
		}
		if err := task.Sleep(ctx, "rest", time.Hour); err != nil {
			return err
		}
		kept = slices.AppendSeq(kept, task.Messages())
		seen.add(fmt.Sprint(kept))
		return nil
	}
	plan := func(n int, called string) resume.Fault {
		if called == procedure && n == map[string]int{"YieldTask": 2, "SaveCheckpoint": 1}[called] {
			return fault
		}
		return resume.None
	}
	first := h.start(beckon.Worker{Patience: -1}, plan, handle)
	whole := make(chan struct{})
	defer close(whole)
	go func() {
		select {
		case <-whole:
		case <-first.done:
			h.start(beckon.Worker{Patience: -1}, nil, handle)
		}
	}()
	h.phase(id, v1.TaskPhase_TASK_PHASE_WAITING)
	h.write(id, "blue")
	h.pass(time.Minute)
	h.phase(id, v1.TaskPhase_TASK_PHASE_WAITING)
	h.answer(h.get(id).GetDecisions()[0], "approve")
	h.pass(time.Minute)
	h.write(id, "and large")
	h.phase(id, v1.TaskPhase_TASK_PHASE_COMPLETED)
	if got := seen.all(); !slices.Equal(got, []string{"[blue and large]"}) {
		h.t.Errorf("told %v", got)
	}
}

// A task that nobody reads the messages of does not run in circles.
func TestMessages_NotTakenSleepOn(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task()
		runs := 0
		h.start(beckon.Worker{Patience: -1}, nil, func(ctx context.Context, task *beckon.Task) error {
			runs++
			return task.Sleep(ctx, "rest", 24*time.Hour)
		})
		h.phase(id, v1.TaskPhase_TASK_PHASE_WAITING)
		h.write(id, "hello")
		h.pass(time.Hour)
		if runs != 2 {
			t.Errorf("%d runs by one message", runs)
		}
		h.pass(24 * time.Hour)
		h.phase(id, v1.TaskPhase_TASK_PHASE_COMPLETED)
		if runs != 3 {
			t.Errorf("%d runs in all", runs)
		}
	})
}

// A message that comes while the handler waits in place is not put aside until
// the answer: the handler is run again and can look at it, once.
func TestMessages_DuringTheRun(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task()
		var seen noted
		h.start(beckon.Worker{Patience: 10 * time.Second}, nil, func(ctx context.Context, task *beckon.Task) error {
			seen.add(fmt.Sprint(slices.Collect(task.Messages())))
			_, err := task.Ask(ctx, question("report"))
			return err
		})
		h.pass(5 * time.Second)
		h.write(id, "blue")
		h.pass(time.Hour)
		if got := seen.all(); !slices.Equal(got, []string{"[]", "[blue]"}) {
			t.Errorf("while it waited the runs saw %v", got)
		}
		h.answers(id)
		if got := seen.all(); !slices.Equal(got, []string{"[]", "[blue]", "[blue]"}) {
			t.Errorf("in the end the runs saw %v", got)
		}
	})
}

// R8: a result that was sent back comes again with what the person wrote, under
// another version.
func TestReview_SentBack(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task(func(r *v1.CreateTaskRequest) { r.Review = true })
		h.start(beckon.Worker{}, nil, func(_ context.Context, task *beckon.Task) error {
			text, _ := task.SentBack()
			task.SetResult(&v1.TaskResult{Summary: fmt.Sprintf("version %d %s", task.Version(), text)})
			return nil
		})
		offered := 0
		got := h.answersWith(id, func(*v1.Decision) string {
			if offered++; offered == 1 {
				return "send_back"
			}
			return "accept"
		})
		if got.GetPhase() != v1.TaskPhase_TASK_PHASE_COMPLETED || got.GetResult().GetSummary() != "version 2 shorter" {
			t.Error(got)
		}
	})
}

// Sleep counts from the first run, whatever a later one says; a sleep of three
// days holds no lease.
func TestSleep_CountsFromTheFirstRun(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task()
		began := time.Now()
		const long = 3 * 24 * time.Hour
		runs := 0
		h.start(beckon.Worker{}, nil, func(ctx context.Context, task *beckon.Task) error {
			runs++
			if err := task.Sleep(ctx, "days", long+time.Duration(runs)*time.Hour); err != nil {
				return err
			}
			return nil
		})
		h.phase(id, v1.TaskPhase_TASK_PHASE_WAITING)
		h.pass(long / 2)
		h.write(id, "still there?")
		h.pass(long / 2)
		h.phase(id, v1.TaskPhase_TASK_PHASE_COMPLETED)
		if took := time.Since(began); took < long+time.Hour || took > long+2*time.Hour || runs != 3 {
			t.Errorf("%d runs in %v", runs, took)
		}
	})
}

// WaitAny goes on with the first, WaitAll with the last, and both say which.
func TestWait_AnyAndAll(t *testing.T) {
	t.Parallel()
	for _, patience := range []time.Duration{-1, 2 * time.Hour} {
		in(t, func(h *house) {
			id := h.task()
			var got noted
			h.start(beckon.Worker{Patience: patience}, nil, func(ctx context.Context, task *beckon.Task) error {
				waits := []beckon.Wait{beckon.ForAnswer(question("a")), beckon.ForAnswer(question("b")), beckon.ForTime("t", time.Hour)}
				some, err := task.WaitAny(ctx, waits...)
				if err != nil {
					return err
				}
				if len(got.all()) == 0 {
					got.add(say(some))
				}
				all, err := task.WaitAll(ctx, waits...)
				if err != nil {
					return err
				}
				got.add(say(all))
				return nil
			})
			h.wait("both questions", func() bool { return len(h.get(id).GetDecisions()) == 2 })
			asked := map[string]*v1.Decision{}
			for _, d := range h.get(id).GetDecisions() {
				asked[d.GetKey()] = d
			}
			h.answer(asked["b"], "deny")
			h.pass(time.Minute)
			h.answer(asked["a"], "approve")
			h.phase(id, v1.TaskPhase_TASK_PHASE_COMPLETED)
			want := []string{"a waiting, b denied, t", "a allowed, b denied, t!"}
			if !slices.Equal(got.all(), want) {
				t.Errorf("patience %v: %q", patience, got.all())
			}
		})
	}
}

func say(got []beckon.Outcome) string {
	text := ""
	for i, o := range got {
		if i > 0 {
			text += ", "
		}
		text += o.Key
		if o.Reply.Verdict != "" {
			text += " " + string(o.Reply.Verdict)
		} else if o.Happened {
			text += "!"
		}
	}
	return text
}

// An approval with other arguments runs those, and a handler that swallows the
// word to sleep sleeps all the same.
func TestEffect_EditedAndSwallowed(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task()
		var ran noted
		h.start(beckon.Worker{Patience: -1}, nil, func(ctx context.Context, task *beckon.Task) error {
			q := question("report")
			q = beckon.AskAction("report", q.GetTitle(), q.GetItems()[0].GetAction(), true)
			_, _ = task.Effect(ctx, q, func(_ context.Context, g beckon.Go) (string, error) {
				ran.add(string(g.Args))
				return "", nil
			})
			if err := task.Say(context.WithoutCancel(ctx), "done", "Written."); err == nil && len(ran.all()) == 0 {
				t.Error("it goes on while it sleeps")
			}
			return nil
		})
		h.phase(id, v1.TaskPhase_TASK_PHASE_WAITING)
		d := h.get(id).GetDecisions()[0]
		items := []*v1.AnswerItem{{ItemId: "action", OptionIds: []string{"edit"}, EditedArgsJson: []byte(`{"path":"mine"}`)}}
		must(h.owner.Answer(h.t.Context(), d, beckon.Answer{Items: items, Surface: v1.Surface_SURFACE_APP}))(t)
		h.phase(id, v1.TaskPhase_TASK_PHASE_COMPLETED)
		if got := ran.all(); !slices.Equal(got, []string{`{"path":"mine"}`}) {
			t.Errorf("ran %v", got)
		}
	})
}

// State of a newer worker is left to it, and what is no checkpoint of the loop
// is read as the handler's state.
func TestCheckpoint_Versions(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task()
		raw := must(h.agent.Claim(h.t.Context(), &v1.ClaimTaskRequest{}))(t)
		must(raw.Save(h.t.Context(), &v1.CheckpointWrite{Data: []byte(`{"n":7}`), SchemaVersion: 2}))(t)
		must(raw.Release(h.t.Context()))(t)
		old := h.start(beckon.Worker{Schema: 1}, nil, func(context.Context, *beckon.Task) error {
			t.Error("an old worker ran")
			return nil
		})
		h.pass(5 * time.Minute)
		if n := old.wire.Calls("ClaimTask"); n > 60 {
			t.Errorf("claimed %d times in five minutes", n)
		}
		old.end(t)
		var got noted
		h.start(beckon.Worker{Schema: 3}, nil, func(_ context.Context, task *beckon.Task) error {
			var state struct{ N int }
			found, err := task.Load(&state)
			got.add(fmt.Sprint(found, err, state.N, task.Schema()))
			return err
		})
		h.phase(id, v1.TaskPhase_TASK_PHASE_COMPLETED)
		if !slices.Equal(got.all(), []string{"true <nil> 7 2"}) {
			t.Error(got.all())
		}
	})
}

// The person sees an answer as delivered once the worker has it.
func TestAsk_IsDelivered(t *testing.T) {
	t.Parallel()
	for _, patience := range []time.Duration{-1, time.Hour} {
		in(t, func(h *house) {
			id := h.task()
			h.start(beckon.Worker{Patience: patience}, nil, func(ctx context.Context, task *beckon.Task) error {
				_, err := task.Ask(ctx, question("report"))
				return err
			})
			h.answers(id)
			if d := h.get(id).GetDecisions()[0]; d.GetAnswer().GetDeliverTime() == nil {
				t.Errorf("patience %v: %s", patience, d)
			}
		})
	}
}
