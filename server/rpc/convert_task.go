package rpc

import (
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

func taskOut(s task.State) *v1.Task {
	return &v1.Task{
		Id: s.ID, ThreadId: s.Thread, AgentId: s.Agent, Title: s.Title,
		Phase: v1.TaskPhase(s.Phase), Hold: holdOut(s.Hold), Labels: s.Labels, Input: s.Input,
		Wait: waitSetOut(s.Phase, s.Wait), Attempts: uint32(s.Attempts), MaxAttempts: uint32(s.MaxAttempts),
		CheckpointVersion: s.Checkpoint, Progress: progressOut(s.Progress),
		Result: resultOut(s.Result), Failure: failureOut(s.Failure),
		CreateTime: timeOut(s.CreateTime), EndTime: timeOut(s.EndTime), LeaseExpireTime: timeOut(s.Lease.Until),
		Review: s.Review, ReviewDecisionId: s.Offer, ResultVersion: s.OfferVersion,
		Deadline: timeOut(s.Deadline), RetryTime: timeOut(s.RetryTime()), WaitingFor: waitingForOut(s.NoWorker.Since, s.NoWorker.For),
		SilenceAfter: spanOut(s.SilenceAfter),
	}
}

func taskHeaderOut(h store.TaskHeader) *v1.TaskHeader {
	return &v1.TaskHeader{
		Id: h.ID, ThreadId: h.Thread, AgentId: h.Agent, Title: h.Title,
		Phase: v1.TaskPhase(h.Phase), Hold: v1.HoldKind(h.Hold), Progress: progressOut(h.Progress),
		ResultSummary: h.ResultSummary, FailureCode: h.FailureCode,
		CreateTime: timeOut(h.CreateTime), EndTime: timeOut(h.EndTime), EndPosition: h.EndPosition, RetryTime: timeOut(h.RetryTime),
		WaitingFor: waitingForOut(h.WaitingSince, h.WaitingFor),
	}
}

func waitingForOut(since time.Time, what string) *v1.WaitingFor {
	if since.IsZero() {
		return nil
	}
	return &v1.WaitingFor{Since: timeOut(since), What: what}
}

func holdOut(h task.Hold) *v1.Hold {
	return &v1.Hold{Kind: v1.HoldKind(h.Kind), By: h.By, Reason: h.Reason, Since: timeOut(h.Since)}
}

// waitSetOut shows what a task waits for, while it waits for what its agent said.
func waitSetOut(phase task.Phase, w task.Wait) *v1.WaitSet {
	if phase != task.Waiting || w.Retry {
		return nil
	}
	return &v1.WaitSet{Mode: v1.WaitMode(w.Mode), DecisionIds: w.Decisions, Timers: w.Timers, Until: timeOut(w.Until)}
}

func waitSetIn(w *v1.WaitSet) (task.Wait, error) {
	mode, err := enumIn("wait.mode", w.GetMode(), task.All)
	if err != nil {
		return task.Wait{}, err
	}
	if mode == 0 {
		mode = task.Any
	}
	until, err := timeIn("wait.until", w.GetUntil())
	return task.Wait{Mode: mode, Decisions: w.GetDecisionIds(), Timers: w.GetTimers(), Until: until}, err
}

func progressOut(p task.Progress) *v1.Progress {
	if p.Time.IsZero() {
		return nil
	}
	return &v1.Progress{Text: p.Text, Percent: p.Percent, Time: timeOut(p.Time)}
}

// progressIn leaves the time to the server.
func progressIn(p *v1.Progress) task.Progress {
	return task.Progress{Text: p.GetText(), Percent: p.Percent}
}

func resultOut(r *task.Result) *v1.TaskResult {
	if r == nil {
		return nil
	}
	return &v1.TaskResult{
		Summary: r.Summary, Body: r.Body, DataJson: r.DataJSON, ExitStatus: r.ExitStatus,
		Artifacts: mapAll(r.Artifacts, func(sum [32]byte) []byte { return sum[:] }),
	}
}

func resultIn(r *v1.TaskResult) *task.Result {
	if r == nil {
		return nil
	}
	return &task.Result{
		Summary: r.GetSummary(), Body: r.GetBody(), DataJSON: r.GetDataJson(), ExitStatus: r.ExitStatus,
		Artifacts: mapAll(r.GetArtifacts(), func(b []byte) [32]byte { return sumIn(b) }),
	}
}

func failureOut(f *task.Failure) *v1.TaskFailure {
	if f == nil {
		return nil
	}
	return &v1.TaskFailure{Code: f.Code, Text: f.Text, Retriable: f.Retriable, ExitStatus: f.ExitStatus}
}

func failureIn(f *v1.TaskFailure) task.Failure {
	return task.Failure{Code: f.GetCode(), Text: f.GetText(), Retriable: f.GetRetriable(), ExitStatus: f.ExitStatus}
}

// checkpointOut leaves version 0, which is none, out.
func checkpointOut(c store.Checkpoint) *v1.Checkpoint {
	if c.Version == 0 {
		return nil
	}
	return &v1.Checkpoint{
		Version: c.Version, Data: c.Data, SchemaVersion: c.SchemaVersion,
		NextStep: c.NextStep, CreateTime: timeOut(c.CreateTime),
	}
}

func checkpointIn(c *v1.CheckpointWrite) *app.CheckpointWrite {
	if c == nil {
		return nil
	}
	return &app.CheckpointWrite{
		Expected: c.GetExpectedVersion(), Data: c.GetData(), SchemaVersion: c.GetSchemaVersion(), NextStep: c.GetNextStep(),
	}
}

func claimOptionsIn(c *v1.ClaimOptions) app.ClaimOptions {
	return app.ClaimOptions{ID: c.GetClaimId(), Length: waitIn(c.GetLeaseDuration())}
}

func claimOut(c app.Claim) *v1.Claim {
	return &v1.Claim{
		Task: taskOut(c.Task), LeaseId: c.Task.Lease.ID, LeaseExpireTime: timeOut(c.Task.Lease.Until),
		Checkpoint: checkpointOut(c.Checkpoint), Signals: mapAll(c.Signals, signalOut), MoreSignals: c.More,
	}
}

func signalOut(s app.SignalView) *v1.Signal {
	out := &v1.Signal{
		Id: s.ID, Kind: v1.SignalKind(s.Kind), Text: s.Text, ItemId: s.Item, Timer: s.Timer, Data: s.Data, CreateTime: timeOut(s.Time),
		EffectId: s.Effect,
	}
	if s.About != nil {
		out.Decision = decisionOut(*s.About)
		out.Decision.Origin = originOut(s.About.Origin) // signals are for programs
	}
	return out
}

func stopTaskIn(r *v1.StopTaskRequest) app.StopTask {
	return app.StopTask{Key: r.GetIdempotencyKey(), Task: r.GetTaskId(), Reason: r.GetReason()}
}

func pauseTaskIn(r *v1.PauseTaskRequest) app.PauseTask {
	return app.PauseTask{Key: r.GetIdempotencyKey(), Task: r.GetTaskId(), Reason: r.GetReason()}
}

func resumeTaskIn(r *v1.ResumeTaskRequest) app.ResumeTask {
	return app.ResumeTask{Key: r.GetIdempotencyKey(), Task: r.GetTaskId()}
}
