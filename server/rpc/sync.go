package rpc

import (
	"context"
	"math"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/changelog"
)

type syncService struct {
	app *app.App
	// mutations is what the mutations of a batch are held against.
	mutations *mutationGate
}

var _ beckonv1connect.SyncServiceHandler = syncService{}

func (s syncService) Bootstrap(ctx context.Context, r *v1.BootstrapRequest) (*v1.BootstrapResponse, error) {
	scope, err := scopeIn("scope", r.GetScope())
	if err != nil {
		return nil, err
	}
	page, err := s.app.Bootstrap(ctx, principalOf(ctx), app.Bootstrap{
		Scope: scope, Page: r.GetPage(), MaxBytes: bytesIn(r.GetMaxBytes()),
		Window: app.Window(r.GetWindow()), Kinds: kindsIn(r.GetKinds()),
	})
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

// kindsIn leaves out kinds of a newer release: there is nothing of them here.
func kindsIn(in []v1.EntityKind) []changelog.Kind {
	out := make([]changelog.Kind, 0, len(in))
	for _, k := range in {
		if 0 < k && k <= math.MaxUint8 {
			out = append(out, changelog.Kind(k))
		}
	}
	if len(in) > 0 && len(out) == 0 {
		out = append(out, 0) // a kind that nothing is of, since none would mean all
	}
	return out
}
