package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/task"
)

type taskService struct{ app *app.App }

var _ beckonv1connect.TaskServiceHandler = taskService{}

func (s taskService) CreateTask(ctx context.Context, r *v1.CreateTaskRequest) (*v1.CreateTaskResponse, error) {
	c := app.CreateTask{
		Key: r.IdempotencyKey, Account: r.AccountId, Agent: r.AgentId, Thread: r.ThreadId, Title: r.Title,
		Input: r.Input, Labels: r.Labels, MaxAttempts: int(r.MaxAttempts), NoMessages: r.NoMessages,
	}
	if r.Claim != nil {
		claim := claimOptionsIn(r.Claim)
		c.Claim = &claim
	}
	result, err := s.app.CreateTask(ctx, principalOf(ctx), c)
	if err != nil {
		return nil, err
	}
	out := &v1.CreateTaskResponse{Task: taskOut(result.Task)}
	if result.Claim != nil {
		out.Claim = claimOut(*result.Claim)
	}
	return out, nil
}

func (s taskService) ClaimTask(ctx context.Context, r *v1.ClaimTaskRequest) (*v1.ClaimTaskResponse, error) {
	claim, found, err := s.app.ClaimTask(ctx, principalOf(ctx), app.ClaimTask{
		Claim: claimOptionsIn(r.Claim), Labels: r.Labels, Wait: waitIn(r.Wait), Task: r.TaskId,
	})
	if err != nil || !found {
		return &v1.ClaimTaskResponse{}, err
	}
	return &v1.ClaimTaskResponse{Claim: claimOut(claim)}, nil
}

func (s taskService) Heartbeat(ctx context.Context, r *v1.HeartbeatRequest) (*v1.HeartbeatResponse, error) {
	result, err := s.app.Heartbeat(ctx, principalOf(ctx), app.Heartbeat{
		Held: app.Held{Task: r.TaskId, Lease: r.LeaseId}, Wait: waitIn(r.Wait), Above: r.AfterSignalId,
		Known: task.HoldKind(r.KnownHold), //nolint:gosec // validated to be one of the defined numbers
	})
	if err != nil {
		return nil, err
	}
	return &v1.HeartbeatResponse{
		LeaseExpireTime: timeOut(result.Until), Hold: holdOut(result.Hold),
		Signals: mapAll(result.Signals, signalOut), MoreSignals: result.More,
	}, nil
}

func (s taskService) SaveCheckpoint(ctx context.Context, r *v1.SaveCheckpointRequest) (*v1.SaveCheckpointResponse, error) {
	version, err := s.app.SaveCheckpoint(ctx, principalOf(ctx), app.SaveCheckpoint{
		Held: app.Held{Task: r.TaskId, Lease: r.LeaseId}, Checkpoint: *checkpointIn(r.Checkpoint), Ack: r.AckSignalIds,
	})
	return &v1.SaveCheckpointResponse{Version: version}, err
}

func (s taskService) YieldTask(ctx context.Context, r *v1.YieldTaskRequest) (*v1.YieldTaskResponse, error) {
	wait, err := waitSetIn(r.Wait)
	if err != nil {
		return nil, err
	}
	phase, err := s.app.YieldTask(ctx, principalOf(ctx), app.YieldTask{
		Held: app.Held{Task: r.TaskId, Lease: r.LeaseId}, Wait: wait,
		Checkpoint: checkpointIn(r.Checkpoint), Ack: r.AckSignalIds,
	})
	return &v1.YieldTaskResponse{Phase: v1.TaskPhase(phase)}, err
}

func (s taskService) ReleaseTask(ctx context.Context, r *v1.ReleaseTaskRequest) (*v1.ReleaseTaskResponse, error) {
	phase, err := s.app.ReleaseTask(ctx, principalOf(ctx), app.Held{Task: r.TaskId, Lease: r.LeaseId})
	return &v1.ReleaseTaskResponse{Phase: v1.TaskPhase(phase)}, err
}

func (s taskService) AckSignals(ctx context.Context, r *v1.AckSignalsRequest) (*v1.AckSignalsResponse, error) {
	err := s.app.AckSignals(ctx, principalOf(ctx), app.AckSignals{
		Held: app.Held{Task: r.TaskId, Lease: r.LeaseId}, Signals: r.SignalIds,
	})
	return &v1.AckSignalsResponse{}, err
}

func (s taskService) UpdateProgress(ctx context.Context, r *v1.UpdateProgressRequest) (*v1.UpdateProgressResponse, error) {
	err := s.app.UpdateProgress(ctx, principalOf(ctx), app.UpdateProgress{
		Held: app.Held{Task: r.TaskId, Lease: r.LeaseId}, Progress: progressIn(r.Progress),
	})
	return &v1.UpdateProgressResponse{}, err
}

func (s taskService) CompleteTask(ctx context.Context, r *v1.CompleteTaskRequest) (*v1.CompleteTaskResponse, error) {
	ended, err := s.app.CompleteTask(ctx, principalOf(ctx), app.CompleteTask{
		Held: app.Held{Task: r.TaskId, Lease: r.LeaseId}, Result: resultIn(r.Result), Ack: r.AckSignalIds,
	})
	if err != nil {
		return nil, err
	}
	return &v1.CompleteTaskResponse{Task: taskOut(ended)}, nil
}

func (s taskService) FailTask(ctx context.Context, r *v1.FailTaskRequest) (*v1.FailTaskResponse, error) {
	ended, err := s.app.FailTask(ctx, principalOf(ctx), app.FailTask{
		Held: app.Held{Task: r.TaskId, Lease: r.LeaseId}, Failure: failureIn(r.Failure),
	})
	if err != nil {
		return nil, err
	}
	return &v1.FailTaskResponse{Task: taskOut(ended)}, nil
}

func (s taskService) StopTask(ctx context.Context, r *v1.StopTaskRequest) (*v1.StopTaskResponse, error) {
	result, err := s.app.StopTask(ctx, principalOf(ctx), app.StopTask{Key: r.IdempotencyKey, Task: r.TaskId, Reason: r.Reason})
	if err != nil {
		return nil, err
	}
	return &v1.StopTaskResponse{
		Outcome: v1.StopOutcome(result.Outcome), Task: taskOut(result.Task), AsOf: result.AsOf,
	}, nil
}

func (s taskService) GetTask(ctx context.Context, r *v1.GetTaskRequest) (*v1.GetTaskResponse, error) {
	result, err := s.app.GetTask(ctx, principalOf(ctx), r.TaskId)
	if err != nil {
		return nil, err
	}
	return &v1.GetTaskResponse{Task: taskOut(result.Task), Decisions: mapAll(result.Decisions, decisionOut)}, nil
}
