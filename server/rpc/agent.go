package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
)

type agentService struct{ app *app.App }

var _ beckonv1connect.AgentServiceHandler = agentService{}

func (s agentService) CreateAgent(ctx context.Context, r *v1.CreateAgentRequest) (*v1.CreateAgentResponse, error) {
	ceiling, err := classIn("ceiling", r.GetCeiling())
	if err != nil {
		return nil, err
	}
	link, err := s.app.CreateAgent(ctx, principalOf(ctx), app.CreateAgent{
		Key: r.GetIdempotencyKey(), Name: r.GetName(), Ceiling: ceiling, LockScreen: r.GetLockScreenApproval(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.CreateAgentResponse{Link: linkOut(link)}, nil
}

func (s agentService) LinkAgent(ctx context.Context, r *v1.LinkAgentRequest) (*v1.LinkAgentResponse, error) {
	ceiling, err := classIn("ceiling", r.GetCeiling())
	if err != nil {
		return nil, err
	}
	scopes, err := scopesIn(r.GetScopes())
	if err != nil {
		return nil, err
	}
	link, err := s.app.LinkAgent(ctx, principalOf(ctx), app.LinkAgent{
		Agent: r.GetAgentId(), Scopes: scopes, Ceiling: ceiling, LockScreen: r.GetLockScreenApproval(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.LinkAgentResponse{Link: linkOut(link)}, nil
}

func (s agentService) UnlinkAgent(ctx context.Context, r *v1.UnlinkAgentRequest) (*v1.UnlinkAgentResponse, error) {
	link, err := s.app.UnlinkAgent(ctx, principalOf(ctx), r.GetAgentId())
	if err != nil {
		return nil, err
	}
	return &v1.UnlinkAgentResponse{Link: linkOut(link)}, nil
}

func (s agentService) ListAgents(ctx context.Context, _ *v1.ListAgentsRequest) (*v1.ListAgentsResponse, error) {
	agents, err := s.app.ListAgents(ctx, principalOf(ctx))
	if err != nil {
		return nil, err
	}
	return &v1.ListAgentsResponse{Links: mapAll(agents.Links, linkOut), Keys: mapAll(agents.Keys, keyOut)}, nil
}

func (s agentService) IssueKey(ctx context.Context, r *v1.IssueKeyRequest) (*v1.IssueKeyResponse, error) {
	issued, err := s.app.IssueKey(ctx, principalOf(ctx), r.GetAgentId(), int(r.GetDays()))
	if err != nil {
		return nil, err
	}
	return &v1.IssueKeyResponse{Key: keyOut(issued.Key), Secret: issued.Secret.Reveal()}, nil
}

func (s agentService) RevokeKey(ctx context.Context, r *v1.RevokeKeyRequest) (*v1.RevokeKeyResponse, error) {
	return &v1.RevokeKeyResponse{}, s.app.RevokeKey(ctx, principalOf(ctx), r.GetKeyId())
}

func (s agentService) MintTaskToken(ctx context.Context, r *v1.MintTaskTokenRequest) (*v1.MintTaskTokenResponse, error) {
	minted, err := s.app.MintTaskToken(ctx, principalOf(ctx), app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()})
	if err != nil {
		return nil, err
	}
	return &v1.MintTaskTokenResponse{Token: minted.Token.Reveal(), ExpireTime: timeOut(minted.ExpireTime)}, nil
}
