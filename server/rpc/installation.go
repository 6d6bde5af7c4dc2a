package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
)

type installationService struct{ app *app.App }

var _ beckonv1connect.InstallationServiceHandler = installationService{}

func (s installationService) PutInstallation(ctx context.Context, r *v1.PutInstallationRequest) (*v1.PutInstallationResponse, error) {
	inst, err := s.app.PutInstallation(ctx, principalOf(ctx), app.PutInstallation{Label: r.Label, Locale: r.Locale})
	if err != nil {
		return nil, err
	}
	return &v1.PutInstallationResponse{Installation: installationOut(inst), ServerId: s.app.ServerID()}, nil
}

func (s installationService) ListInstallations(ctx context.Context, _ *v1.ListInstallationsRequest) (*v1.ListInstallationsResponse, error) {
	all, err := s.app.ListInstallations(ctx, principalOf(ctx))
	if err != nil {
		return nil, err
	}
	return &v1.ListInstallationsResponse{Installations: mapAll(all, installationOut)}, nil
}

func (s installationService) RevokeInstallation(ctx context.Context, r *v1.RevokeInstallationRequest) (*v1.RevokeInstallationResponse, error) {
	return &v1.RevokeInstallationResponse{}, s.app.RevokeInstallation(ctx, principalOf(ctx), r.GetInstallationId())
}

func (s installationService) ReportPresence(ctx context.Context, r *v1.ReportPresenceRequest) (*v1.ReportPresenceResponse, error) {
	until, err := s.app.ReportPresence(ctx, principalOf(ctx), app.ReportPresence{Thread: r.GetThreadId(), Foreground: r.GetForeground()})
	if err != nil {
		return nil, err
	}
	return &v1.ReportPresenceResponse{ExpireTime: timeOut(until)}, nil
}
