package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
)

type syncService struct{ app *app.App }

var _ beckonv1connect.SyncServiceHandler = syncService{}

func (s syncService) Bootstrap(ctx context.Context, r *v1.BootstrapRequest) (*v1.BootstrapResponse, error) {
	scope, err := scopeIn("scope", r.GetScope())
	if err != nil {
		return nil, err
	}
	page, err := s.app.Bootstrap(ctx, principalOf(ctx), app.Bootstrap{Scope: scope, Page: r.GetPage(), MaxBytes: bytesIn(r.GetMaxBytes())})
	if err != nil {
		return nil, err
	}
	put, err := entitiesOut(page.Put)
	return &v1.BootstrapResponse{
		Put: put, Page: page.Page, Cursor: page.Cursor, Complete: page.Complete,
		AsOf: page.AsOf, Epoch: page.Epoch[:],
	}, err
}

func (s syncService) Pull(ctx context.Context, r *v1.PullRequest) (*v1.PullResponse, error) {
	at, err := atIn(r.GetAt())
	if err != nil {
		return nil, err
	}
	deltas, err := s.app.Pull(ctx, principalOf(ctx), app.Pull{At: at, MaxBytes: bytesIn(r.GetMaxBytes()), Wait: waitIn(r.GetWait())})
	if err != nil {
		return nil, err
	}
	out := &v1.PullResponse{Deltas: make([]*v1.Delta, len(deltas))}
	for i, d := range deltas {
		if out.Deltas[i], err = deltaOut(d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bytesIn keeps a wish for more than the whole from turning negative on
// machines with small integers; the verb bounds it.
func bytesIn(n uint32) int { return int(min(n, 1<<20)) }
