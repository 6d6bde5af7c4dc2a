package resume_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectinprocess"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/resume"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store/memstore"
)

// house is a person, a server and an agent, in a bubble.
type house struct {
	t      *testing.T
	server connect.Transport
	owner  *beckon.Person
	link   *v1.AgentLink
	key    beckon.KeyFile
	// agent is a way to the server that never fails.
	agent *beckon.Agent
	// outside counts how often the world was changed.
	outside atomic.Int32
	made    int
}

// in runs a test in a bubble with a house.
func in(t *testing.T, test func(*house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(newHouse(t))
	})
}

func newHouse(t *testing.T) *house {
	t.Helper()
	limits := policy.BenchLimits()
	cfg := server.Config{Config: config.Default(t.TempDir()), Engine: memstore.New(), Limits: &limits, InProcess: true}
	s := must(server.New(t.Context(), cfg))(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		check(t, <-done)
	})
	h := &house{t: t, server: connectinprocess.New(s.RPC())}
	link := must(s.App().CreateClaimLink(t.Context(), policy.Principal{Kind: policy.Operator}, app.CreateClaimLink{}))(t)
	h.owner = must(beckon.Claim(t.Context(), filepath.Join(t.TempDir(), "owner.json"), "http://127.0.0.1/claim#"+link.Secret.Reveal(),
		beckon.Device{Platform: v1.Platform_PLATFORM_IOS, Label: "phone"}, beckon.Options{Transport: h.server}))(t)
	made := must(h.owner.Agents.CreateAgent(t.Context(), &v1.CreateAgentRequest{IdempotencyKey: "agent", Name: "Builder"}))(t)
	h.link = made.GetLink()
	issued := must(h.owner.Agents.IssueKey(t.Context(), &v1.IssueKeyRequest{AgentId: h.link.GetAgentId()}))(t)
	h.key = beckon.KeyFile{Key: issued.GetSecret()}
	h.agent = h.over(resume.NewWire(h.server, nil))
	return h
}

// over is the agent over a wire.
func (h *house) over(w *resume.Wire) *beckon.Agent {
	h.t.Helper()
	return must(beckon.NewAgent(h.key, beckon.Options{Transport: w}))(h.t)
}

// task makes one that waits for a worker.
func (h *house) task(change ...func(*v1.CreateTaskRequest)) string {
	h.t.Helper()
	h.made++
	req := &v1.CreateTaskRequest{IdempotencyKey: fmt.Sprint("task ", h.made), Title: fmt.Sprint("Task ", h.made)}
	for _, c := range change {
		c(req)
	}
	return must(h.agent.Tasks.CreateTask(h.t.Context(), req))(h.t).GetTask().GetId()
}

func (h *house) get(id string) *v1.GetTaskResponse {
	h.t.Helper()
	return must(h.owner.Tasks.GetTask(h.t.Context(), &v1.GetTaskRequest{TaskId: id}))(h.t)
}

type handler = func(context.Context, *beckon.Task) error

// worker is one process that runs a worker.
type worker struct {
	wire *resume.Wire
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// start runs a worker over a wire that follows a plan.
func (h *house) start(w beckon.Worker, plan func(int, string) resume.Fault, handle handler) *worker {
	h.t.Helper()
	out := &worker{wire: resume.NewWire(h.server, plan), done: make(chan struct{})}
	w.Agent = h.over(out.wire)
	ctx, stop := context.WithCancel(context.WithoutCancel(h.t.Context()))
	out.stop = stop
	go func() {
		defer close(out.done)
		out.err = w.Run(ctx, handle)
	}()
	go func() { // a process that is dead does not run on
		select {
		case <-out.wire.Gone():
			stop()
		case <-out.done:
		}
	}()
	h.t.Cleanup(func() { out.end(h.t) })
	return out
}

// end stops a worker and waits for all of it.
func (w *worker) end(t *testing.T) {
	t.Helper()
	w.stop()
	<-w.done
	w.wire.Cut()
	if w.err != nil {
		t.Errorf("the worker ended with %v", w.err)
	}
}

// kill ends a worker of which the server hears nothing any more.
func (w *worker) kill() {
	w.wire.Cut()
	w.stop()
	<-w.done
}

// answers is a person who answers everything about a task each second, until it
// has ended: yes to what is asked, and the truth about what is uncertain.
func (h *house) answers(id string) *v1.Task {
	h.t.Helper()
	return h.answersWith(id, func(d *v1.Decision) string {
		switch {
		case d.GetKind() != v1.DecisionKind_DECISION_KIND_RESOLVE_UNCERTAIN:
			return d.GetItems()[0].GetOptions()[0].GetId()
		case h.outside.Load() > 0:
			return "happened"
		default:
			return "do_it"
		}
	})
}

func (h *house) answersWith(id string, choose func(*v1.Decision) string) *v1.Task {
	h.t.Helper()
	for range 3600 {
		got := h.get(id)
		if got.GetTask().GetEndTime() != nil {
			return got.GetTask()
		}
		for _, d := range got.GetDecisions() {
			if d.GetState() == v1.DecisionState_DECISION_STATE_PENDING {
				h.answer(d, choose(d))
			}
		}
		time.Sleep(time.Second)
	}
	got := h.get(id)
	h.t.Fatalf("an hour later the task is %s", got)
	return nil
}

// answer gives one answer; the empty one is none.
func (h *house) answer(d *v1.Decision, option string) {
	h.t.Helper()
	if option == "" {
		return
	}
	items := must(beckon.Choose(d, option, text(option)))(h.t)
	res := must(h.owner.Answer(h.t.Context(), d, beckon.Answer{Items: items, Surface: v1.Surface_SURFACE_APP}))(h.t)
	if res.GetOutcome() != v1.AnswerOutcome_ANSWER_OUTCOME_APPLIED {
		h.t.Fatalf("%s met %s", option, res.GetOutcome())
	}
}

func text(option string) string {
	if option == "send_back" {
		return "shorter"
	}
	return ""
}

// wait lets time pass until ok says so, a day at most.
func (h *house) wait(what string, ok func() bool) {
	h.t.Helper()
	pause := 100 * time.Millisecond
	for began := time.Now(); time.Since(began) < 24*time.Hour; {
		if ok() {
			return
		}
		time.Sleep(pause)
		pause = min(pause*5/4, 30*time.Second)
	}
	h.t.Fatal("never:", what)
}

// phase waits until a task is in a phase.
func (h *house) phase(id string, want v1.TaskPhase) *v1.Task {
	h.t.Helper()
	var got *v1.Task
	h.wait(want.String(), func() bool {
		got = h.get(id).GetTask()
		return got.GetPhase() == want
	})
	return got
}

// send is what an effect does in these tests.
func (h *house) send(context.Context, beckon.Go) (string, error) {
	h.outside.Add(1)
	return "receipt", nil
}

// question is about an action that can be undone.
func question(key string) *v1.RequestDecisionRequest {
	return beckon.AskAction(key, "Write the report?", &v1.Action{
		App: "files", Operation: "write", ArgsJson: []byte(`{"path":"` + key + `"}`),
		EffectClass: v1.EffectClass_EFFECT_CLASS_WRITE_REVERSIBLE,
	}, false)
}

// noted collects words from goroutines.
type noted struct {
	mu    sync.Mutex
	words []string
}

func (n *noted) add(word string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.words = append(n.words, word)
}

func (n *noted) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.words...)
}

// causes are the ends of a context by the word of tests.
func causeName(err error) string {
	for name, e := range map[string]error{
		"suspended": beckon.ErrSuspended, "lost": beckon.ErrLeaseLost, "stopped": beckon.ErrStopped, "paused": beckon.ErrPaused,
		"kill switch": beckon.ErrKillSwitch, "shutdown": beckon.ErrShutdown,
	} {
		if errors.Is(err, e) {
			return name
		}
	}
	return fmt.Sprint(err)
}

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return value
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pass lets time pass in the bubble.
func (h *house) pass(d time.Duration) {
	h.t.Helper()
	time.Sleep(d)
}
