package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
)

type draftService struct{ app *app.App }

var _ beckonv1connect.DraftServiceHandler = draftService{}

func (s draftService) SetDraft(ctx context.Context, r *v1.SetDraftRequest) (*v1.SetDraftResponse, error) {
	c, err := setDraftIn(r)
	if err != nil {
		return nil, err
	}
	result, err := s.app.SetDraft(ctx, principalOf(ctx), c)
	if err != nil {
		return nil, err
	}
	out := &v1.SetDraftResponse{Diverged: result.Diverged, AsOf: result.AsOf}
	if len(result.Draft.Texts) > 0 {
		out.Draft = draftOut(result.Draft)
	}
	return out, nil
}

func (s draftService) SetView(ctx context.Context, r *v1.SetViewRequest) (*v1.SetViewResponse, error) {
	result, err := s.app.SetView(ctx, principalOf(ctx), setViewIn(r))
	if err != nil {
		return nil, err
	}
	return &v1.SetViewResponse{ViewState: viewOut(result.View), AsOf: result.AsOf}, nil
}
