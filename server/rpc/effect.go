package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/effect"
)

type effectService struct{ app *app.App }

var _ beckonv1connect.EffectServiceHandler = effectService{}

func (s effectService) BeginEffect(ctx context.Context, r *v1.BeginEffectRequest) (*v1.BeginEffectResponse, error) {
	action, err := actionIn("action", r.GetAction())
	if err != nil {
		return nil, err
	}
	result, err := s.app.BeginEffect(ctx, principalOf(ctx), app.BeginEffect{
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}, Name: r.GetKey(), Grant: r.GetGrantId(), Action: action,
		ProviderKey: r.GetProviderIdempotencyKey(), Probe: r.GetProbe(), Attempt: r.GetAttemptId(),
	})
	if err != nil {
		return nil, err
	}
	out := &v1.BeginEffectResponse{Outcome: v1.BeginOutcome_BEGIN_OUTCOME_KNOWN, Effect: effectOut(result.Effect)}
	if result.Go {
		out.Outcome, out.Permit = v1.BeginOutcome_BEGIN_OUTCOME_GO, result.Permit
		out.PermitExpireTime = timeOut(result.PermitExpireTime)
	}
	return out, nil
}

func (s effectService) ConfirmEffect(ctx context.Context, r *v1.ConfirmEffectRequest) (*v1.ConfirmEffectResponse, error) {
	e, err := s.app.ConfirmEffect(ctx, principalOf(ctx), app.ConfirmEffect{
		Effect: r.GetEffectId(), Generation: r.GetGeneration(), OK: r.GetResult() == v1.EffectResult_EFFECT_RESULT_OK,
		Receipt: r.GetReceipt(), Lease: r.GetLeaseId(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.ConfirmEffectResponse{Effect: effectOut(e)}, nil
}

func (s effectService) ReportEvidence(ctx context.Context, r *v1.ReportEvidenceRequest) (*v1.ReportEvidenceResponse, error) {
	kind, err := enumIn("kind", r.GetKind(), effect.Unknown)
	if err != nil {
		return nil, err
	}
	e, err := s.app.ReportEvidence(ctx, principalOf(ctx), app.ReportEvidence{
		Effect: r.GetEffectId(), Generation: r.GetGeneration(), Kind: kind, Text: r.GetText(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.ReportEvidenceResponse{Effect: effectOut(e)}, nil
}

func (s effectService) GetEffect(ctx context.Context, r *v1.GetEffectRequest) (*v1.GetEffectResponse, error) {
	e, err := s.app.GetEffect(ctx, principalOf(ctx), r.GetEffectId())
	if err != nil {
		return nil, err
	}
	return &v1.GetEffectResponse{Effect: effectOut(e)}, nil
}

func (s effectService) ListEffects(ctx context.Context, r *v1.ListEffectsRequest) (*v1.ListEffectsResponse, error) {
	list, err := s.app.ListEffects(ctx, principalOf(ctx), app.ListEffects{
		Task: r.GetTaskId(), Limit: int(r.GetLimit()), Before: r.GetBeforeId(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.ListEffectsResponse{Effects: mapAll(list, effectOut)}, nil
}
