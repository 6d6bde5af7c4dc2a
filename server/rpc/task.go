package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

type taskService struct{ app *app.App }

var _ beckonv1connect.TaskServiceHandler = taskService{}

func (s taskService) CreateTask(ctx context.Context, r *v1.CreateTaskRequest) (*v1.CreateTaskResponse, error) {
	deadline, err := timeIn("deadline", r.GetDeadline())
	if err != nil {
		return nil, err
	}
	c := app.CreateTask{
		Key: r.GetIdempotencyKey(), Account: r.GetAccountId(), Agent: r.GetAgentId(), Thread: r.GetThreadId(), Title: r.GetTitle(),
		Input: r.GetInput(), Labels: r.GetLabels(), MaxAttempts: int(r.GetMaxAttempts()), NoMessages: r.GetNoMessages(), Review: r.GetReview(), Deadline: deadline,
		SilenceAfter: waitIn(r.GetSilenceAfter()),
	}
	if r.GetClaim() != nil {
		claim := claimOptionsIn(r.GetClaim())
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
		Claim: claimOptionsIn(r.GetClaim()), Labels: r.GetLabels(), Wait: waitIn(r.GetWait()), Task: r.GetTaskId(),
	})
	if err != nil || !found {
		return &v1.ClaimTaskResponse{}, err
	}
	return &v1.ClaimTaskResponse{Claim: claimOut(claim)}, nil
}

func (s taskService) Heartbeat(ctx context.Context, r *v1.HeartbeatRequest) (*v1.HeartbeatResponse, error) {
	result, err := s.app.Heartbeat(ctx, principalOf(ctx), app.Heartbeat{
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}, Wait: waitIn(r.GetWait()), Above: r.GetAfterSignalId(),
		Known: task.HoldKind(r.GetKnownHold()),
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
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}, Checkpoint: *checkpointIn(r.GetCheckpoint()), Ack: r.GetAckSignalIds(),
	})
	return &v1.SaveCheckpointResponse{Version: version}, err
}

func (s taskService) YieldTask(ctx context.Context, r *v1.YieldTaskRequest) (*v1.YieldTaskResponse, error) {
	wait, err := waitSetIn(r.GetWait())
	if err != nil {
		return nil, err
	}
	phase, err := s.app.YieldTask(ctx, principalOf(ctx), app.YieldTask{
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}, Wait: wait,
		Checkpoint: checkpointIn(r.GetCheckpoint()), Ack: r.GetAckSignalIds(),
	})
	return &v1.YieldTaskResponse{Phase: v1.TaskPhase(phase)}, err
}

func (s taskService) ReleaseTask(ctx context.Context, r *v1.ReleaseTaskRequest) (*v1.ReleaseTaskResponse, error) {
	held := app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}
	if r.GetGiveUp() != "" {
		phase, err := s.app.GiveUpTask(ctx, principalOf(ctx), held, r.GetGiveUp())
		return &v1.ReleaseTaskResponse{Phase: v1.TaskPhase(phase)}, err
	}
	phase, err := s.app.ReleaseTask(ctx, principalOf(ctx), held)
	return &v1.ReleaseTaskResponse{Phase: v1.TaskPhase(phase)}, err
}

func (s taskService) AckSignals(ctx context.Context, r *v1.AckSignalsRequest) (*v1.AckSignalsResponse, error) {
	err := s.app.AckSignals(ctx, principalOf(ctx), app.AckSignals{
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}, Signals: r.GetSignalIds(),
	})
	return &v1.AckSignalsResponse{}, err
}

func (s taskService) UpdateProgress(ctx context.Context, r *v1.UpdateProgressRequest) (*v1.UpdateProgressResponse, error) {
	err := s.app.UpdateProgress(ctx, principalOf(ctx), app.UpdateProgress{
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}, Progress: progressIn(r.GetProgress()),
	})
	return &v1.UpdateProgressResponse{}, err
}

func (s taskService) CompleteTask(ctx context.Context, r *v1.CompleteTaskRequest) (*v1.CompleteTaskResponse, error) {
	ended, err := s.app.CompleteTask(ctx, principalOf(ctx), app.CompleteTask{
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}, Result: resultIn(r.GetResult()), Ack: r.GetAckSignalIds(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.CompleteTaskResponse{Task: taskOut(ended)}, nil
}

func (s taskService) FailTask(ctx context.Context, r *v1.FailTaskRequest) (*v1.FailTaskResponse, error) {
	ended, err := s.app.FailTask(ctx, principalOf(ctx), app.FailTask{
		Held: app.Held{Task: r.GetTaskId(), Lease: r.GetLeaseId()}, Failure: failureIn(r.GetFailure()),
	})
	if err != nil {
		return nil, err
	}
	return &v1.FailTaskResponse{Task: taskOut(ended)}, nil
}

func (s taskService) PauseTask(ctx context.Context, r *v1.PauseTaskRequest) (*v1.PauseTaskResponse, error) {
	result, err := s.app.PauseTask(ctx, principalOf(ctx), pauseTaskIn(r))
	if err != nil {
		return nil, err
	}
	return &v1.PauseTaskResponse{Task: taskOut(result.Task), AsOf: result.AsOf}, nil
}

func (s taskService) ResumeTask(ctx context.Context, r *v1.ResumeTaskRequest) (*v1.ResumeTaskResponse, error) {
	result, err := s.app.ResumeTask(ctx, principalOf(ctx), resumeTaskIn(r))
	if err != nil {
		return nil, err
	}
	return &v1.ResumeTaskResponse{Task: taskOut(result.Task), AsOf: result.AsOf}, nil
}

func (s taskService) StopTask(ctx context.Context, r *v1.StopTaskRequest) (*v1.StopTaskResponse, error) {
	result, err := s.app.StopTask(ctx, principalOf(ctx), stopTaskIn(r))
	if err != nil {
		return nil, err
	}
	return &v1.StopTaskResponse{
		Outcome: v1.StopOutcome(result.Outcome), Task: taskOut(result.Task), AsOf: result.AsOf,
	}, nil
}

func (s taskService) GetTask(ctx context.Context, r *v1.GetTaskRequest) (*v1.GetTaskResponse, error) {
	result, err := s.app.GetTask(ctx, principalOf(ctx), r.GetTaskId())
	if err != nil {
		return nil, err
	}
	return &v1.GetTaskResponse{Task: taskOut(result.Task), Decisions: mapAll(result.Decisions, func(d decision.State) *v1.Decision { return decisionFor(principalOf(ctx), d) })}, nil
}
