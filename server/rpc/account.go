package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
)

type accountService struct{ app *app.App }

var _ beckonv1connect.AccountServiceHandler = accountService{}

func (s accountService) GetAccount(ctx context.Context, _ *v1.GetAccountRequest) (*v1.GetAccountResponse, error) {
	account, err := s.app.GetAccount(ctx, principalOf(ctx))
	if err != nil {
		return nil, err
	}
	return &v1.GetAccountResponse{
		AccountId: account.ID, InstallationId: account.Installation,
		ServerId: s.app.ServerID(), Settings: settingsOut(account.Settings),
	}, nil
}

func (s accountService) UpdateSettings(ctx context.Context, r *v1.UpdateSettingsRequest) (*v1.UpdateSettingsResponse, error) {
	var c app.UpdateSettings
	if r.ContentLevel != nil {
		level, err := enumIn("content_level", r.GetContentLevel(), store.LevelFull)
		if err != nil {
			return nil, err
		}
		c.Level = &level
	}
	result, err := s.app.UpdateSettings(ctx, principalOf(ctx), c)
	if err != nil {
		return nil, err
	}
	return &v1.UpdateSettingsResponse{Settings: settingsOut(result.Settings), AsOf: result.AsOf}, nil
}

func (s accountService) SetKillSwitch(ctx context.Context, r *v1.SetKillSwitchRequest) (*v1.SetKillSwitchResponse, error) {
	result, err := s.app.SetKillSwitch(ctx, principalOf(ctx), app.SetKillSwitch{Key: r.GetIdempotencyKey(), On: r.GetOn()})
	if err != nil {
		return nil, err
	}
	return &v1.SetKillSwitchResponse{Settings: settingsOut(result.Settings), AsOf: result.AsOf}, nil
}
