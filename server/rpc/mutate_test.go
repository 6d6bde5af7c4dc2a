package rpc_test

import (
	"context"
	"testing"

	"connectrpc.com/connect/v2/connectinprocess"
	"google.golang.org/protobuf/reflect/protoreflect"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/rpc"
)

const mutationID = "00000000-0000-4000-8000-000000000001"

// opsOf is each op of a mutation with the procedure that it stands for.
func opsOf(s side) map[string]*v1.Mutation {
	th, tsk, dec := s.agent.thread, s.agent.task, s.agent.asked.ID
	const v = "/beckon.v1."
	return map[string]*v1.Mutation{
		v + "ThreadService/SendMessage": {Op: &v1.Mutation_Send{Send: &v1.SendMessageRequest{ThreadId: th, Text: "hello"}}},
		v + "DecisionService/AnswerDecision": {Op: &v1.Mutation_Answer{Answer: &v1.AnswerDecisionRequest{
			DecisionId: dec, AskedDigest: make([]byte, 32), AnswerKey: "k", Items: []*v1.AnswerItem{{ItemId: "it", OptionIds: []string{"deny"}}},
		}}},
		v + "ThreadService/MarkRead":              {Op: &v1.Mutation_Read{Read: &v1.MarkReadRequest{ThreadId: th, ReadMark: &v1.ReadMark{NotablePosition: 1}}}},
		v + "DraftService/SetDraft":               {Op: &v1.Mutation_Draft{Draft: &v1.SetDraftRequest{SubjectId: th, Text: "hello"}}},
		v + "DraftService/SetView":                {Op: &v1.Mutation_View{View: &v1.SetViewRequest{ThreadId: th}}},
		v + "DecisionService/SnoozeDecision":      {Op: &v1.Mutation_Snooze{Snooze: &v1.SnoozeDecisionRequest{DecisionId: dec}}},
		v + "DecisionService/AcknowledgeDecision": {Op: &v1.Mutation_Acknowledge{Acknowledge: &v1.AcknowledgeDecisionRequest{DecisionId: dec}}},
		v + "TaskService/StopTask":                {Op: &v1.Mutation_Stop{Stop: &v1.StopTaskRequest{TaskId: tsk}}},
		v + "TaskService/PauseTask":               {Op: &v1.Mutation_Pause{Pause: &v1.PauseTaskRequest{TaskId: tsk}}},
		v + "TaskService/ResumeTask":              {Op: &v1.Mutation_Resume{Resume: &v1.ResumeTaskRequest{TaskId: tsk}}},
		v + "ThreadService/ArchiveThread":         {Op: &v1.Mutation_Archive{Archive: &v1.ArchiveThreadRequest{ThreadId: th, Archived: true}}},
	}
}

// mutate sends a batch and gives its outcomes.
func mutate(t *testing.T, w *world, token string, all ...*v1.Mutation) []*v1.Outcome {
	t.Helper()
	r, err := beckonv1connect.NewSyncServiceClient(as(connectinprocess.New(w.srv), token)).Mutate(context.WithoutCancel(t.Context()), &v1.MutateRequest{Mutations: all})
	check(t, err)
	return r.GetOutcomes()
}

// Each op goes by the row of its own call: where that is closed to a device, so
// is the mutation, and nothing else is.
func TestMutate_ByTheRowOfItsCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ops := opsOf(w.own)
	fields := (*v1.Mutation)(nil).ProtoReflect().Descriptor().Oneofs().ByName("op").Fields()
	covered := map[protoreflect.Name]bool{}
	for procedure, m := range ops {
		covered[m.ProtoReflect().WhichOneof(fields.Get(0).ContainingOneof()).Name()] = true
		m.Id = mutationID
		shut := *w
		cfg := w.config()
		cfg.Table = policy.Table()
		row := cfg.Table[procedure]
		row.Kinds = []policy.Kind{policy.Agent}
		cfg.Table[procedure] = row
		var err error
		shut.srv, err = rpc.NewServer(cfg)
		check(t, err)
		if o := mutate(t, &shut, w.own.phone.token, m)[0]; o.GetResult() != v1.MutationResult_MUTATION_RESULT_REJECTED || o.GetError().GetReason() != "WRONG_PRINCIPAL" {
			t.Errorf("%s, closed to devices, met %v", procedure, o)
		}
	}
	for i := range fields.Len() {
		if name := fields.Get(i).Name(); !covered[name] {
			t.Errorf("op %s stands for no procedure", name)
		}
	}
}

// What is wrong with one mutation is said of that one.
func TestMutate_RefusedByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := func(n int) *v1.Mutation {
		m := opsOf(w.own)["/beckon.v1.DraftService/SetView"]
		m.Id = mutationID[:35] + string(rune('a'+n))
		return m
	}
	other := w.newSide("other")
	bad := map[string]struct {
		m             *v1.Mutation
		reason, field string
	}{
		"no id":       {&v1.Mutation{Op: good(0).GetOp()}, "INVALID", "id"},
		"no op":       {&v1.Mutation{Id: mutationID}, "MISSING", "op"},
		"a rule":      {&v1.Mutation{Id: mutationID, Op: &v1.Mutation_Send{Send: &v1.SendMessageRequest{ThreadId: w.own.agent.thread}}}, "MISSING", "send.text"},
		"a value":     {&v1.Mutation{Id: mutationID, Op: &v1.Mutation_Draft{Draft: &v1.SetDraftRequest{SubjectId: w.own.agent.thread, Epoch: []byte("x"), Text: "x"}}}, "INVALID", "epoch"},
		"not ours":    {&v1.Mutation{Id: mutationID, Op: opsOf(other)["/beckon.v1.ThreadService/MarkRead"].GetOp()}, "NOT_FOUND", ""},
		"a bad proof": {&v1.Mutation{Id: mutationID[:35] + "9", Op: withProof(opsOf(w.own)["/beckon.v1.DecisionService/AnswerDecision"])}, "BAD_PROOF", ""},
	}
	for name, test := range bad {
		o := mutate(t, w, w.own.phone.token, good(0), test.m, good(1))
		if o[0].GetResult() > 2 || o[2].GetResult() > 2 {
			t.Errorf("%s: its neighbours met %v and %v", name, o[0], o[2])
		}
		if o[1].GetResult() != v1.MutationResult_MUTATION_RESULT_REJECTED || o[1].GetError().GetReason() != test.reason || o[1].GetError().GetField() != test.field || o[1].GetCode() == "" {
			t.Errorf("%s met %v", name, o[1])
		}
	}
}

// withProof is an answer with a signature that is none.
func withProof(m *v1.Mutation) *v1.Mutation_Answer {
	op := m.GetAnswer()
	op.Proof = make([]byte, 64)
	return &v1.Mutation_Answer{Answer: op}
}

// A caller's rate is that of the calls that its mutations stand for, and one too
// many waits with what follows it in its lane.
func TestMutate_SpendsLikeCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(l *policy.Limits) { l.InstallationRate, l.InstallationBurst = 0.001, 3 })
	var all []*v1.Mutation
	for i := range 4 {
		m := opsOf(w.own)["/beckon.v1.DraftService/SetView"]
		m.Id, m.Lane = mutationID[:35]+string(rune('a'+i)), "lane"
		all = append(all, m)
	}
	o := mutate(t, w, w.own.phone.token, all...)
	if o[1].GetResult() > 2 || o[2].GetError().GetReason() != "RATE" || o[2].GetError().GetRetryAfter() == nil || o[3].GetError().GetReason() != "HELD_BACK" {
		t.Errorf("met %v", o)
	}
	for _, late := range o[2:] {
		if late.GetResult() != v1.MutationResult_MUTATION_RESULT_RETRY {
			t.Errorf("met %v", late)
		}
	}
}
