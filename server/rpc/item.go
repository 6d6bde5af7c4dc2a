package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
)

type itemService struct{ app *app.App }

var _ beckonv1connect.ItemServiceHandler = itemService{}

func (s itemService) AppendItems(ctx context.Context, r *v1.AppendItemsRequest) (*v1.AppendItemsResponse, error) {
	drafts, err := draftsIn(r.GetItems())
	if err != nil {
		return nil, err
	}
	ids, err := s.app.AppendItems(ctx, principalOf(ctx), app.AppendItems{
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}, Items: drafts,
	})
	return &v1.AppendItemsResponse{ItemIds: ids}, err
}

func (s itemService) ListItems(ctx context.Context, r *v1.ListItemsRequest) (*v1.ListItemsResponse, error) {
	items, more, err := s.app.ListItems(ctx, principalOf(ctx), app.ListItems{
		Thread: r.GetThreadId(), Before: r.GetBeforePosition(), Size: int(r.GetPageSize()),
	})
	return &v1.ListItemsResponse{Items: mapAll(items, itemOut), More: more}, err
}
