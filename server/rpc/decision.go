package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/decision"
)

type decisionService struct{ app *app.App }

var _ beckonv1connect.DecisionServiceHandler = decisionService{}

func (s decisionService) RequestDecision(ctx context.Context, r *v1.RequestDecisionRequest) (*v1.RequestDecisionResponse, error) {
	c, err := requestDecisionIn(r)
	if err != nil {
		return nil, err
	}
	d, err := s.app.RequestDecision(ctx, principalOf(ctx), c)
	if err != nil {
		return nil, err
	}
	return &v1.RequestDecisionResponse{Decision: decisionFor(principalOf(ctx), d)}, nil
}

func (s decisionService) WaitDecision(ctx context.Context, r *v1.WaitDecisionRequest) (*v1.WaitDecisionResponse, error) {
	d, err := s.app.WaitDecision(ctx, principalOf(ctx), r.GetDecisionId(), waitIn(r.GetWait()))
	if err != nil {
		return nil, err
	}
	return &v1.WaitDecisionResponse{Decision: decisionFor(principalOf(ctx), d)}, nil
}

func (s decisionService) AnswerDecision(ctx context.Context, r *v1.AnswerDecisionRequest) (*v1.AnswerDecisionResponse, error) {
	c, err := answerDecisionIn(r)
	if err != nil {
		return nil, err
	}
	result, err := s.app.AnswerDecision(ctx, principalOf(ctx), c)
	if err != nil {
		return nil, err
	}
	return &v1.AnswerDecisionResponse{
		Outcome: v1.AnswerOutcome(result.Outcome), Winner: winnerOut(result.Winner),
		Decision: decisionOut(result.Decision), NeededStep: v1.Step(result.Needed), AsOf: result.AsOf,
	}, nil
}

func (s decisionService) WithdrawDecision(ctx context.Context, r *v1.WithdrawDecisionRequest) (*v1.WithdrawDecisionResponse, error) {
	why, err := enumIn("reason", r.GetReason(), app.Obsolete)
	if err != nil {
		return nil, err
	}
	d, err := s.app.WithdrawDecision(ctx, principalOf(ctx), r.GetDecisionId(), why)
	if err != nil {
		return nil, err
	}
	return &v1.WithdrawDecisionResponse{Decision: decisionFor(principalOf(ctx), d)}, nil
}

func (s decisionService) AcknowledgeDecision(ctx context.Context, r *v1.AcknowledgeDecisionRequest) (*v1.AcknowledgeDecisionResponse, error) {
	due, err := s.app.AcknowledgeDecision(ctx, principalOf(ctx), r.GetDecisionId())
	if err != nil {
		return nil, err
	}
	return &v1.AcknowledgeDecisionResponse{AlertTime: timeOut(due)}, nil
}

func (s decisionService) AmendDecision(ctx context.Context, r *v1.AmendDecisionRequest) (*v1.AmendDecisionResponse, error) {
	more, err := amendmentIn(r)
	if err != nil {
		return nil, err
	}
	d, err := s.app.AmendDecision(ctx, principalOf(ctx), r.GetDecisionId(), more)
	if err != nil {
		return nil, err
	}
	return &v1.AmendDecisionResponse{Decision: decisionFor(principalOf(ctx), d)}, nil
}

func (s decisionService) SnoozeDecision(ctx context.Context, r *v1.SnoozeDecisionRequest) (*v1.SnoozeDecisionResponse, error) {
	result, err := s.app.SnoozeDecision(ctx, principalOf(ctx), r.GetDecisionId(), waitIn(r.GetSnooze()))
	if err != nil {
		return nil, err
	}
	return &v1.SnoozeDecisionResponse{Decision: decisionOut(result.Decision), AsOf: result.AsOf}, nil
}

func (s decisionService) DenyAllOpen(ctx context.Context, r *v1.DenyAllOpenRequest) (*v1.DenyAllOpenResponse, error) {
	surface, err := enumIn("surface", r.GetSurface(), decision.SurfaceTerminal)
	if err != nil {
		return nil, err
	}
	result, err := s.app.DenyAllOpen(ctx, principalOf(ctx), app.DenyAllOpen{
		Key: r.GetIdempotencyKey(), Task: r.GetTaskId(), Agent: r.GetAgentId(), Surface: surface,
	})
	if err != nil {
		return nil, err
	}
	return &v1.DenyAllOpenResponse{DeniedIds: result.Denied, SkippedIds: result.Skipped, AsOf: result.AsOf}, nil
}

func (s decisionService) PreviewEdit(ctx context.Context, r *v1.PreviewEditRequest) (*v1.PreviewEditResponse, error) {
	p, err := s.app.PreviewEdit(ctx, principalOf(ctx), app.PreviewEdit{
		Decision: r.GetDecisionId(), Revision: r.GetRevision(), Item: r.GetItemId(), Args: r.GetEditedArgsJson(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.PreviewEditResponse{Facts: mapAll(p.Facts, factOut), ActionDigest: digestOut(p.Digest)}, nil
}

func (s decisionService) GetDecision(ctx context.Context, r *v1.GetDecisionRequest) (*v1.GetDecisionResponse, error) {
	d, err := s.app.GetDecision(ctx, principalOf(ctx), r.GetDecisionId())
	if err != nil {
		return nil, err
	}
	return &v1.GetDecisionResponse{Decision: decisionFor(principalOf(ctx), d)}, nil
}

func (s decisionService) RevokeGrant(ctx context.Context, r *v1.RevokeGrantRequest) (*v1.RevokeGrantResponse, error) {
	result, err := s.app.RevokeGrant(ctx, principalOf(ctx), r.GetGrantId())
	if err != nil {
		return nil, err
	}
	return &v1.RevokeGrantResponse{
		Outcome: v1.RevokeOutcome(result.Outcome), Grant: grantOut(result.Grant), AsOf: result.AsOf,
	}, nil
}
