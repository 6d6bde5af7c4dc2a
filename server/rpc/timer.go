package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/task"
)

// timerService translates calls about timers.
type timerService struct{ app *app.App }

var _ beckonv1connect.TimerServiceHandler = timerService{}

func (s timerService) SetTimer(ctx context.Context, r *v1.SetTimerRequest) (*v1.SetTimerResponse, error) {
	at, err := timeIn("at", r.GetAt())
	if err != nil {
		return nil, err
	}
	timer, err := s.app.SetTimer(ctx, principalOf(ctx), app.SetTimer{
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()},
		Key:  r.GetKey(), At: at, After: waitIn(r.GetAfter()), Data: r.GetData(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.SetTimerResponse{Timer: timerOut(timer)}, nil
}

func (s timerService) CancelTimer(ctx context.Context, r *v1.CancelTimerRequest) (*v1.CancelTimerResponse, error) {
	err := s.app.CancelTimer(ctx, principalOf(ctx), app.CancelTimer{
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}, Key: r.GetKey(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.CancelTimerResponse{}, nil
}

func (s timerService) ListTimers(ctx context.Context, r *v1.ListTimersRequest) (*v1.ListTimersResponse, error) {
	timers, err := s.app.ListTimers(ctx, principalOf(ctx), r.GetTaskId())
	if err != nil {
		return nil, err
	}
	return &v1.ListTimersResponse{Timers: mapAll(timers, timerOut)}, nil
}

func timerOut(t task.Timer) *v1.Timer {
	return &v1.Timer{
		TaskId: t.Task, Key: t.Key, FireTime: timeOut(t.At), Fired: t.Fired(), Data: t.Data, CreateTime: timeOut(t.CreateTime),
	}
}
