package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
)

type threadService struct{ app *app.App }

var _ beckonv1connect.ThreadServiceHandler = threadService{}

func (s threadService) GetThread(ctx context.Context, r *v1.GetThreadRequest) (*v1.GetThreadResponse, error) {
	result, err := s.app.GetThread(ctx, principalOf(ctx), r.GetThreadId())
	if err != nil {
		return nil, err
	}
	return &v1.GetThreadResponse{Thread: threadOut(result.Thread), Tasks: mapAll(result.Tasks, taskOut)}, nil
}

func (s threadService) SendMessage(ctx context.Context, r *v1.SendMessageRequest) (*v1.SendMessageResponse, error) {
	c, err := sendMessageIn(r)
	if err != nil {
		return nil, err
	}
	result, err := s.app.SendMessage(ctx, principalOf(ctx), c)
	if err != nil {
		return nil, err
	}
	return &v1.SendMessageResponse{Item: itemOut(result.Item), Task: taskOut(result.Task), AsOf: result.AsOf}, nil
}

func (s threadService) MarkRead(ctx context.Context, r *v1.MarkReadRequest) (*v1.MarkReadResponse, error) {
	result, err := s.app.MarkRead(ctx, principalOf(ctx), r.GetThreadId(), readMarkIn(r.GetReadMark()))
	if err != nil {
		return nil, err
	}
	return &v1.MarkReadResponse{ReadMark: readMarkOut(result.Mark), AsOf: result.AsOf}, nil
}

func (s threadService) ArchiveThread(ctx context.Context, r *v1.ArchiveThreadRequest) (*v1.ArchiveThreadResponse, error) {
	result, err := s.app.ArchiveThread(ctx, principalOf(ctx), r.GetThreadId(), r.GetArchived())
	if err != nil {
		return nil, err
	}
	return &v1.ArchiveThreadResponse{Thread: threadOut(result.Thread), AsOf: result.AsOf}, nil
}

func (s threadService) ListThreads(ctx context.Context, r *v1.ListThreadsRequest) (*v1.ListThreadsResponse, error) {
	filter, err := enumIn("archive", r.GetArchive(), app.OnlyArchived)
	if err != nil {
		return nil, err
	}
	result, err := s.app.ListThreads(ctx, principalOf(ctx), app.ListThreads{
		Query: r.GetQuery(), Archive: filter, Size: int(r.GetPageSize()), Page: r.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.ListThreadsResponse{Matches: mapAll(result.Matches, matchOut), NextPageToken: result.Next}, nil
}

func matchOut(m app.ThreadMatch) *v1.ThreadMatch {
	out := &v1.ThreadMatch{Thread: threadOut(m.Thread), Position: m.Position, Snippet: m.Snippet}
	if m.Task.ID != "" {
		out.Task = taskHeaderOut(store.TaskHeaderOf(m.Task))
	}
	return out
}
