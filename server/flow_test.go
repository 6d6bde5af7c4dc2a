package server_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// TestFlow is the whole path over every transport: claim, agent, key, task,
// question, sleep, answer, wake, result, and what the person sees of it.
func TestFlow(t *testing.T) {
	t.Parallel()
	for _, tr := range transports(t) {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tr.options...)
			flow(t, s, tr)
		})
	}
}

// longest is the longest wait a caller may ask for.
const longest = 60 * time.Second

func flow(t *testing.T, s *running, tr transport) {
	t.Helper()
	ctx, wire := t.Context(), tr.connect(t, s)
	me := claim(t, s, wire)
	agent := me.agent(t, wire)

	first, err := me.Bootstrap(ctx, &v1.BootstrapRequest{Scope: &v1.Scope{Scope: &v1.Scope_Account{Account: true}}})
	check(t, err)
	if !first.GetComplete() {
		t.Error("an inbox of nothing takes more than one page")
	}

	claimed := held(t, agent, "report")
	asked, err := agent.RequestDecision(ctx, question(claimed, "report.txt"))
	check(t, err)
	slept, err := agent.YieldTask(ctx, &v1.YieldTaskRequest{
		TaskId: claimed.GetTask().GetId(), LeaseId: claimed.GetLeaseId(),
		Wait:       &v1.WaitSet{DecisionIds: []string{asked.GetDecision().GetId()}},
		Checkpoint: &v1.CheckpointWrite{Data: []byte("step 1"), NextStep: "write"},
	})
	check(t, err)
	if slept.GetPhase() != v1.TaskPhase_TASK_PHASE_WAITING {
		t.Fatal("after yield", slept.GetPhase())
	}

	// A worker waits for work before the answer comes.
	woken := make(chan *v1.ClaimTaskResponse, 1)
	go func() {
		got, err := agent.ClaimTask(ctx, &v1.ClaimTaskRequest{
			Claim: &v1.ClaimOptions{ClaimId: "worker-2"}, Wait: durationpb.New(longest),
		})
		if err != nil {
			t.Error("claim:", err)
		}
		woken <- got
	}()

	answered, err := me.AnswerDecision(ctx, me.answer(t, asked.GetDecision(), "approve"))
	check(t, err)
	if answered.GetOutcome() != v1.AnswerOutcome_ANSWER_OUTCOME_APPLIED || answered.GetWinner().GetInstallationId() != me.id {
		t.Fatalf("answer met %v, winner %v", answered.GetOutcome(), answered.GetWinner())
	}

	again := (<-woken).GetClaim()
	if again == nil {
		t.Fatal("the answer woke nobody")
	}
	if string(again.GetCheckpoint().GetData()) != "step 1" || len(again.GetSignals()) != 1 {
		t.Fatalf("resumed at %v with %d signals", again.GetCheckpoint(), len(again.GetSignals()))
	}
	signal := again.GetSignals()[0]
	if signal.GetKind() != v1.SignalKind_SIGNAL_KIND_DECISION_CLOSED || len(signal.GetDecision().GetGrants()) != 1 {
		t.Errorf("told %v", signal)
	}
	ended, err := agent.CompleteTask(ctx, &v1.CompleteTaskRequest{
		TaskId: again.GetTask().GetId(), LeaseId: again.GetLeaseId(), AckSignalIds: []uint64{signal.GetId()},
		Result: &v1.TaskResult{Summary: "Written.", DataJson: []byte(`{"ok":true}`)},
	})
	check(t, err)
	if ended.GetTask().GetPhase() != v1.TaskPhase_TASK_PHASE_COMPLETED || ended.GetTask().GetResult().GetSummary() != "Written." {
		t.Error("ended as", ended.GetTask())
	}
	seen(t, me, first, claimed.GetTask().GetThreadId(), asked.GetDecision().GetId())
}

// seen pulls what changed since the first page and compares what lists show.
func seen(t *testing.T, me phone, first *v1.BootstrapResponse, thread, decision string) {
	t.Helper()
	account := &v1.Scope{Scope: &v1.Scope_Account{Account: true}}
	pulled, err := me.Pull(t.Context(), &v1.PullRequest{At: []*v1.At{{Scope: account, Cursor: first.GetCursor(), Horizon: first.GetAsOf()}}})
	check(t, err)
	changes := pulled.GetDeltas()[0].GetChanges()
	if changes == nil {
		t.Fatal("pull met", pulled.GetDeltas()[0])
	}
	var header v1.DecisionHeader
	var task v1.TaskHeader
	var counters v1.Counters
	for _, e := range changes.GetPut() {
		switch e.GetKind() {
		case v1.EntityKind_ENTITY_KIND_DECISION_HEADER:
			check(t, proto.Unmarshal(e.GetBody(), &header))
		case v1.EntityKind_ENTITY_KIND_TASK_HEADER:
			check(t, proto.Unmarshal(e.GetBody(), &task))
		case v1.EntityKind_ENTITY_KIND_COUNTERS:
			check(t, proto.Unmarshal(e.GetBody(), &counters))
		default:
		}
	}
	if header.GetId() != decision || header.GetState() != v1.DecisionState_DECISION_STATE_RESOLVED || header.GetWinner().GetInstallationId() != me.id {
		t.Error("the list shows the question as", &header)
	}
	if task.GetResultSummary() != "Written." || task.GetThreadId() != thread {
		t.Error("the list shows the task as", &task)
	}
	if counters.GetBadge() != 1 || counters.GetOpenDecisions() != 0 {
		t.Error("the badge is", &counters)
	}
	read, err := me.MarkRead(t.Context(), &v1.MarkReadRequest{ThreadId: thread, ReadMark: &v1.ReadMark{NotablePosition: 99}})
	check(t, err)
	if read.GetReadMark().GetNotablePosition() != 1 {
		t.Error("read up to", read.GetReadMark())
	}
	inThread := &v1.Scope{Scope: &v1.Scope_ThreadId{ThreadId: thread}}
	whole, err := me.Bootstrap(t.Context(), &v1.BootstrapRequest{Scope: inThread})
	check(t, err)
	kinds := map[v1.EntityKind]int{}
	for _, e := range whole.GetPut() {
		kinds[e.GetKind()]++
	}
	if kinds[v1.EntityKind_ENTITY_KIND_ITEM] != 1 || kinds[v1.EntityKind_ENTITY_KIND_DECISION] != 1 {
		t.Error("the thread holds", kinds)
	}
}
