package scenario_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/stack"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// house is one person with a terminal and a phone, and an agent that works for
// them, on the built server and the emulated push service.
type house struct {
	t      *testing.T
	server *stack.Server
	phones *stack.Phones
	owner  *beckon.Person
	agent  *beckon.Agent
	key    beckon.KeyFile
	link   *v1.AgentLink
	// phone is the installation of the phone.
	phone string
}

// newHouse starts everything and pairs the phone by its code and digits.
func newHouse(t *testing.T, env ...string) *house {
	t.Helper()
	bin := built(t)
	h := &house{t: t, phones: stack.StartPhones(t, bin)}
	h.server = stack.NewServer(t, bin, "--config", h.phones.Config)
	h.server.Start(env...)
	ctx := h.ctx()

	profile := filepath.Join(t.TempDir(), "owner.json")
	owner, err := beckon.Claim(ctx, profile, h.server.ClaimLink(), beckon.Device{Label: "laptop"}, beckon.Options{})
	h.check(err)
	t.Cleanup(owner.Close)
	h.owner = owner
	h.check1(owner.API.Account.UpdateSettings(ctx, &v1.UpdateSettingsRequest{ContentLevel: v1.ContentLevel_CONTENT_LEVEL_FULL.Enum()}))
	made, err := owner.Agents.CreateAgent(ctx, &v1.CreateAgentRequest{
		IdempotencyKey: "agent", Name: "Builder", LockScreenApproval: true,
	})
	h.check(err)
	h.link = made.GetLink()
	issued, err := owner.Agents.IssueKey(ctx, &v1.IssueKeyRequest{AgentId: h.link.GetAgentId()})
	h.check(err)
	h.key = beckon.KeyFile{Server: h.server.URL, Key: issued.GetSecret()}
	h.agent = h.newAgent()
	h.phone = h.pair()
	return h
}

// ctx bounds every call of a test.
func (h *house) ctx() context.Context {
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	h.t.Cleanup(cancel)
	return ctx
}

func (h *house) check(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) check1(_ any, err error) {
	h.t.Helper()
	h.check(err)
}

// newAgent is another process of the same agent. It outlasts a restart of the
// server.
func (h *house) newAgent() *beckon.Agent {
	h.t.Helper()
	agent, err := beckon.NewAgent(h.key, beckon.Options{Server: h.server.URL, Retry: beckon.Retry{Attempts: 40}})
	h.check(err)
	h.t.Cleanup(agent.Close)
	return agent
}

// pair lets the phone in: its code is shown by the terminal, its digits are
// typed there.
func (h *house) pair() string {
	h.t.Helper()
	offer, err := h.owner.OfferPairing(h.ctx())
	h.check(err)
	digits := h.phones.Pair(h.server.URL, offer.Code)
	h.check1(offer.Redeemed(h.ctx()))
	h.check1(offer.Confirm(h.ctx(), digits))
	return h.phones.Paired()
}

// started is a task in the hands of an agent.
func (h *house) started(title string) *beckon.Work {
	h.t.Helper()
	w, err := h.agent.Start(h.ctx(), &v1.CreateTaskRequest{Title: title})
	h.check(err)
	return w
}

// writeReport is an action that a notification may approve.
func writeReport(key string) *v1.RequestDecisionRequest {
	return &v1.RequestDecisionRequest{
		Key: key, Kind: v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, Title: "Write the report?",
		Items: []*v1.DecisionItem{{Id: "write", Action: &v1.Action{
			App: "files", Operation: "write", ArgsJson: []byte(`{"path":"report.md"}`),
			EffectClass: v1.EffectClass_EFFECT_CLASS_WRITE_REVERSIBLE,
		}}},
	}
}

// ask puts the question and sleeps on it with a checkpoint.
func (h *house) askAndSleep(w *beckon.Work) *v1.Decision {
	h.t.Helper()
	d, err := w.Ask(h.ctx(), writeReport("write"))
	h.check(err)
	phase, err := w.Yield(h.ctx(), &v1.WaitSet{DecisionIds: []string{d.GetId()}}, &v1.CheckpointWrite{Data: []byte("vetted"), NextStep: "write"})
	h.check(err)
	if phase != v1.TaskPhase_TASK_PHASE_WAITING {
		h.t.Fatal("after the yield the task is", phase)
	}
	return d
}

// finish is a worker that goes on where the task stopped: it checks what it was
// told and completes.
func (h *house) finish(agent *beckon.Agent, d *v1.Decision) *v1.Task {
	h.t.Helper()
	w, err := agent.Claim(h.ctx(), &v1.ClaimTaskRequest{})
	h.check(err)
	if string(w.Checkpoint.GetData()) != "vetted" {
		h.t.Error("resumed at", w.Checkpoint)
	}
	if len(w.Signals) != 1 || w.Signals[0].GetDecision().GetId() != d.GetId() {
		h.t.Fatal("told", w.Signals)
	}
	told := w.Signals[0].GetDecision()
	if told.GetState() != v1.DecisionState_DECISION_STATE_RESOLVED || len(told.GetGrants()) != 1 {
		h.t.Error("the answer reached the agent as", told)
	}
	ended, err := w.Complete(h.ctx(), &v1.TaskResult{Summary: "The report is written."}, w.Signals[0].GetId())
	h.check(err)
	return ended
}

// rings counts, for each alert on the phone, how often it rang.
func rings(log []stack.Entry) map[string]int {
	out := map[string]int{}
	for _, e := range log {
		if e.Source == "phone" && e.Record.Kind == "rang" {
			out[e.Record.Key]++
		}
	}
	return out
}

// exactly waits until the phone has shown n different alerts and checks that
// each rang once and that nothing else did.
func (h *house) exactly(n int) []stack.Entry {
	h.t.Helper()
	log := h.phones.Await("the alerts", func(log []stack.Entry) bool { return len(rings(log)) >= n })
	for key, times := range rings(log) {
		if times != 1 {
			h.t.Errorf("alert %s rang %d times", key, times)
		}
	}
	if got := len(rings(log)); got != n {
		h.t.Errorf("%d alerts, want %d", got, n)
	}
	return log
}

// sent counts the requests that the push service has taken.
func sent(log []stack.Entry) int {
	n := 0
	for _, e := range log {
		if e.Source == "apns" && e.Record.Stored {
			n++
		}
	}
	return n
}

// quiet reads what happened until now and checks that no further alert came.
func (h *house) quiet(n int) {
	h.t.Helper()
	if got := rings(h.phones.Log()); len(got) != n {
		h.t.Errorf("%d alerts in the end, want %d", len(got), n)
	}
}
