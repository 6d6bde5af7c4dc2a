package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
)

type tokenService struct{ app *app.App }

var _ beckonv1connect.TokenServiceHandler = tokenService{}

func (s tokenService) RefreshToken(ctx context.Context, r *v1.RefreshTokenRequest) (*v1.RefreshTokenResponse, error) {
	pair, err := s.app.RefreshToken(ctx, app.RefreshToken{
		Token: credential.NewSecret(r.GetRefreshToken()), Attempt: r.GetAttempt(), Proof: r.GetProof(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.RefreshTokenResponse{Tokens: tokensOut(&pair)}, nil
}

func (s tokenService) Elevate(ctx context.Context, r *v1.ElevateRequest) (*v1.ElevateResponse, error) {
	return &v1.ElevateResponse{}, s.app.Elevate(ctx, principalOf(ctx), app.Elevate{Nonce: r.GetNonce(), Proof: r.GetProof()})
}
