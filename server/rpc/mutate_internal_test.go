package rpc

import (
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/policy"
)

// FuzzMutate reads any bytes that are a batch: each mutation is let in with an
// op, or refused with a word, and nothing it can say is an internal error.
func FuzzMutate(f *testing.F) {
	validator, err := newValidator(func(func(connect.Spec) bool) {})
	if err != nil {
		f.Fatal(err)
	}
	gate := &mutationGate{
		edge: &edge{table: policy.Table(), rates: NewRates(policy.BenchLimits(), time.Now)}, validator: validator, rows: table(),
	}
	const id = "00000000-0000-4000-8000-000000000001"
	for _, m := range []*v1.Mutation{
		{},
		{Id: id, Lane: "thr", Op: &v1.Mutation_Send{Send: &v1.SendMessageRequest{ThreadId: "thr", Text: "hello"}}},
		{Id: id, Op: &v1.Mutation_Answer{Answer: &v1.AnswerDecisionRequest{DecisionId: "dec", AnswerKey: "k", Items: []*v1.AnswerItem{{ItemId: "it"}}}}},
		{Id: id, Op: &v1.Mutation_Read{Read: &v1.MarkReadRequest{ThreadId: "thr"}}},
		{Id: id, Op: &v1.Mutation_Draft{Draft: &v1.SetDraftRequest{SubjectId: "thr", Epoch: []byte{1}, Items: []*v1.AnswerItem{nil}}}},
		{Id: id, Op: &v1.Mutation_Stop{}}, {Id: id, Op: &v1.Mutation_Pause{}}, {Id: id, Op: &v1.Mutation_Resume{}},
		{Id: id, Op: &v1.Mutation_Archive{}},
		{Id: id, Op: &v1.Mutation_Snooze{}}, {Id: id, Op: &v1.Mutation_Acknowledge{}}, {Id: id, Op: &v1.Mutation_View{}},
	} {
		b, err := proto.Marshal(&v1.MutateRequest{Mutations: []*v1.Mutation{m, m}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	p := policy.Principal{Kind: policy.Installation, Account: "0123456789abcdef", Installation: "ins"}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &v1.MutateRequest{}
		if proto.Unmarshal(b, r) != nil {
			return
		}
		for _, m := range r.GetMutations() {
			in := gate.enter(t.Context(), p, m)
			if in.ID != m.GetId() || (in.Op == nil) == (in.Refused == nil) {
				t.Fatalf("read as %+v", in)
			}
			if why := in.Refused; why != nil && (why.Reason == "" || why.Reason == reasonInternal || why.Retry) {
				t.Fatalf("refused as %+v", why)
			}
		}
	})
}
