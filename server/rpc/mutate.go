package rpc

import (
	"context"
	"slices"

	"buf.build/go/protovalidate"
	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// mutationGate lets a mutation in by what its own call is let in by: the rules
// of its request, the row of the table, and the caller's bucket.
type mutationGate struct {
	edge      *edge
	validator protovalidate.Validator
	rows      []row
}

func (s syncService) Mutate(ctx context.Context, r *v1.MutateRequest) (*v1.MutateResponse, error) {
	p := principalOf(ctx)
	all := make([]app.Mutation, len(r.GetMutations()))
	for i, m := range r.GetMutations() {
		all[i] = s.mutations.enter(ctx, p, m)
	}
	out, err := s.app.Mutate(ctx, p, all, s.mutations.judge)
	if err != nil {
		return nil, err
	}
	answer := &v1.MutateResponse{Outcomes: make([]*v1.Outcome, len(out))}
	for i, o := range out {
		if answer.Outcomes[i], err = outcomeOut(o); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// enter reads a mutation, or says why it is refused.
func (g *mutationGate) enter(ctx context.Context, p policy.Principal, m *v1.Mutation) app.Mutation {
	out := app.Mutation{ID: m.GetId(), Lane: m.GetLane()}
	if send := m.GetSend(); send != nil {
		send.IdempotencyKey = m.GetId()
	}
	for _, keyed := range []*string{keyOf(m.GetStop()), keyOf(m.GetPause()), keyOf(m.GetResume())} {
		if keyed != nil {
			*keyed = m.GetId()
		}
	}
	op, err := g.admit(ctx, p, m)
	if err != nil {
		why := g.judge(err)
		out.Refused = &why
		return out
	}
	out.Op = op
	return out
}

// admit is what stands before the handler of the mutation's own call, in the
// same order.
func (g *mutationGate) admit(ctx context.Context, p policy.Principal, m *v1.Mutation) (app.Op, error) {
	procedure, read := opOf(m)
	if procedure != "" {
		row, known := g.edge.table[procedure]
		if !known || !policy.Allowed(row.Kinds, p.Kind) {
			return nil, app.ErrWrongPrincipal
		}
		peer := ""
		if info, ok := connect.CallInfoForServerContext(ctx); ok {
			peer = info.PeerAddr
		}
		if err := g.edge.rates.take(p, procedure, peer); err != nil {
			return nil, err
		}
	}
	if err := g.validator.Validate(m); err != nil {
		return nil, err
	}
	return read()
}

// judge gives an error the words that its own call would have got. What may go
// by itself is to be tried again.
func (g *mutationGate) judge(err error) app.Refusal {
	r := refusalOf(g.rows, err)
	retry := []connect.Code{connect.CodeUnavailable, connect.CodeInternal, connect.CodeCanceled, connect.CodeDeadlineExceeded}
	return app.Refusal{
		Code: r.code.String(), Reason: r.reason, Field: r.field, Max: r.max, After: r.after,
		Retry: r.after > 0 || r.reason == reasonDiskFull || slices.Contains(retry, r.code),
	}
}

// opOf is the procedure that a mutation stands for and the reader of its
// request; none where the op is of a later release, which the rules refuse.
func opOf(m *v1.Mutation) (procedure string, read func() (app.Op, error)) {
	switch op := m.GetOp().(type) {
	case *v1.Mutation_Send:
		return beckonv1connect.ThreadServiceSendMessageProcedure, reading(op.Send, sendMessageIn)
	case *v1.Mutation_Answer:
		return beckonv1connect.DecisionServiceAnswerDecisionProcedure, reading(op.Answer, answerDecisionIn)
	case *v1.Mutation_Read:
		return beckonv1connect.ThreadServiceMarkReadProcedure, plain(app.MarkReadOp{Thread: op.Read.GetThreadId(), Mark: readMarkIn(op.Read.GetReadMark())})
	case *v1.Mutation_Draft:
		return beckonv1connect.DraftServiceSetDraftProcedure, reading(op.Draft, setDraftIn)
	case *v1.Mutation_View:
		return beckonv1connect.DraftServiceSetViewProcedure, plain(setViewIn(op.View))
	case *v1.Mutation_Snooze:
		return beckonv1connect.DecisionServiceSnoozeDecisionProcedure, plain(app.SnoozeOp{Decision: op.Snooze.GetDecisionId(), Length: waitIn(op.Snooze.GetSnooze())})
	case *v1.Mutation_Acknowledge:
		return beckonv1connect.DecisionServiceAcknowledgeDecisionProcedure, plain(app.AcknowledgeOp{Decision: op.Acknowledge.GetDecisionId()})
	case *v1.Mutation_Stop:
		return beckonv1connect.TaskServiceStopTaskProcedure, plain(stopTaskIn(op.Stop))
	case *v1.Mutation_Pause:
		return beckonv1connect.TaskServicePauseTaskProcedure, plain(pauseTaskIn(op.Pause))
	case *v1.Mutation_Resume:
		return beckonv1connect.TaskServiceResumeTaskProcedure, plain(resumeTaskIn(op.Resume))
	case *v1.Mutation_Archive:
		return beckonv1connect.ThreadServiceArchiveThreadProcedure, plain(app.ArchiveOp{Thread: op.Archive.GetThreadId(), Away: op.Archive.GetArchived()})
	default:
		return "", func() (app.Op, error) { return nil, &app.FieldError{Field: "op", Reason: reasonMissing} }
	}
}

func reading[R any, O app.Op](r R, in func(R) (O, error)) func() (app.Op, error) {
	return func() (app.Op, error) {
		op, err := in(r)
		return op, err
	}
}

func plain(op app.Op) func() (app.Op, error) {
	return func() (app.Op, error) { return op, nil }
}

// keyOf is where a request has its key; nil without a request.
func keyOf(m any) *string {
	switch r := m.(type) {
	case *v1.StopTaskRequest:
		if r != nil {
			return &r.IdempotencyKey
		}
	case *v1.PauseTaskRequest:
		if r != nil {
			return &r.IdempotencyKey
		}
	case *v1.ResumeTaskRequest:
		if r != nil {
			return &r.IdempotencyKey
		}
	}
	return nil
}

func outcomeOut(o app.Outcome) (*v1.Outcome, error) {
	out := &v1.Outcome{
		Id: o.ID, Result: v1.MutationResult(o.Result), Replayed: o.Replayed, Winner: winnerOut(o.Winner), CreatedId: o.Created,
	}
	if r := o.Refused; r != nil {
		out.Code, out.Error = r.Code, &v1.ErrorInfo{Reason: r.Reason, Field: r.Field, Max: r.Max}
		if r.After > 0 {
			out.Error.RetryAfter = durationpb.New(r.After)
		}
	}
	var err error
	out.Found, err = foundOut(o.Found)
	return out, err
}

func foundOut(in []app.Found) ([]*v1.Found, error) {
	var out []*v1.Found
	for _, f := range in {
		put, err := entitiesOut(f.Put)
		if err != nil {
			return nil, err
		}
		out = append(out, &v1.Found{Scope: scopeOfSyncOut(f.Scope), Put: put, AsOf: f.AsOf, Epoch: f.Epoch[:]})
	}
	return out, nil
}

func (s syncService) Point(ctx context.Context, r *v1.PointRequest) (*v1.PointResponse, error) {
	refs := make([]app.PointRef, len(r.GetRefs()))
	for i, ref := range r.GetRefs() {
		scope, err := scopeIn("refs.scope", ref.GetScope())
		if err != nil {
			return nil, err
		}
		refs[i] = app.PointRef{Scope: scope, Key: changelog.Key{Kind: kindIn(ref.GetKind()), ID: ref.GetId()}, Min: changelog.Seq(ref.GetMinVersion())}
	}
	all, err := s.app.Point(ctx, principalOf(ctx), refs)
	if err != nil {
		return nil, err
	}
	found, err := foundOut(all)
	return &v1.PointResponse{Found: found}, err
}

// kindIn is no kind for one of a later release.
func kindIn(k v1.EntityKind) changelog.Kind {
	return kindsIn([]v1.EntityKind{k})[0]
}
