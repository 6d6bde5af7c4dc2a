package beckon

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Work is a task in the hands of this program, under one lease. Every write
// names the lease; once it is lost nothing is changed any more and each call
// says [ReasonLeaseLost]. It is safe for concurrent use.
type Work struct {
	agent *Agent
	// Task is as it stood when it was claimed.
	Task *v1.Task
	// Lease names the claim.
	Lease string
	// Checkpoint is the state the last worker left, nil for none.
	Checkpoint *v1.Checkpoint
	// Signals are what the task has to be told, until they are acknowledged.
	Signals []*v1.Signal
}

func (a *Agent) work(c *v1.Claim) *Work {
	return &Work{agent: a, Task: c.GetTask(), Lease: c.GetLeaseId(), Checkpoint: c.GetCheckpoint(), Signals: c.GetSignals()}
}

// ID is the task's id.
func (w *Work) ID() string { return w.Task.GetId() }

// API is the services with the credential this work is done under.
func (w *Work) API() *API { return w.agent.API }

// Start creates a task in the hands of this program. Missing keys are drawn;
// who wants to find the same task again after a crash names both of them.
func (a *Agent) Start(ctx context.Context, req *v1.CreateTaskRequest) (*Work, error) {
	if req.GetIdempotencyKey() == "" {
		req.IdempotencyKey = NewID()
	}
	if req.GetClaim() == nil {
		req.Claim = &v1.ClaimOptions{}
	}
	if req.GetClaim().GetClaimId() == "" {
		req.Claim.ClaimId = NewID()
	}
	res, err := a.Tasks.CreateTask(ctx, req)
	if err != nil {
		return nil, err
	}
	w := a.work(res.GetClaim())
	if w.Task == nil {
		w.Task = res.GetTask()
	}
	return w, nil
}

// claimWait is how long one call waits for work.
const claimWait = 30 * time.Second

// Claim waits for a task of this agent. The same claim id is asked for until an
// answer is there, so a claim whose answer was lost is found again. Errors:
// [*Error], and that of ctx.
func (a *Agent) Claim(ctx context.Context, req *v1.ClaimTaskRequest) (*Work, error) {
	if req.GetClaim() == nil {
		req.Claim = &v1.ClaimOptions{}
	}
	if req.GetClaim().GetClaimId() == "" {
		req.Claim.ClaimId = NewID()
	}
	if req.GetWait() == nil {
		req.Wait = durationpb.New(claimWait)
	}
	for n := 0; ; n++ {
		res, err := a.Tasks.ClaimTask(ctx, req)
		if claim := res.GetClaim(); claim != nil {
			return a.work(claim), nil
		}
		if err == nil {
			n = -1
			continue
		}
		if err := a.hold(ctx, err, n); err != nil {
			return nil, err
		}
	}
}

// hold waits before a call is made again that failed for the n-th time in a
// row, or gives the error back when it is a verdict on the call.
func (a *Agent) hold(ctx context.Context, err error, n int) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.verdict() || ctx.Err() != nil {
		return err
	}
	if pause(ctx, max(e.RetryAfter, a.opts.Retry.withDefaults().wait(n))) != nil {
		return err
	}
	return nil
}

// decisionWait is how long one call waits for an answer.
const decisionWait = 30 * time.Second

// Ask puts a question to the person. The key makes it the same question when it
// is asked again, also after it was answered. Missing ids are filled in; a
// question asked under no key is a new one each time.
func (w *Work) Ask(ctx context.Context, req *v1.RequestDecisionRequest) (*v1.Decision, error) {
	req.TaskId, req.LeaseId = w.ID(), w.Lease
	if req.GetKey() == "" {
		req.Key = NewID()
	}
	res, err := w.agent.Decisions.RequestDecision(ctx, req)
	return res.GetDecision(), err
}

// Wait waits until a decision is closed, across restarts of the server. It ends
// with an error only when waiting longer would not help, or with ctx.
func (w *Work) Wait(ctx context.Context, decision string) (*v1.Decision, error) {
	for n := 0; ; n++ {
		res, err := w.agent.Decisions.WaitDecision(ctx, &v1.WaitDecisionRequest{
			DecisionId: decision, Wait: durationpb.New(decisionWait),
		})
		if err != nil {
			if err := w.agent.hold(ctx, err, n); err != nil {
				return nil, err
			}
			continue
		}
		if d := res.GetDecision(); d.GetState() != v1.DecisionState_DECISION_STATE_PENDING {
			return d, nil
		}
		n = -1
	}
}

// AckAnswer tells the server that the answer to a decision has arrived, which
// is what its person sees as "delivered".
func (w *Work) AckAnswer(ctx context.Context, decision string) error {
	res, err := w.agent.Tasks.Heartbeat(ctx, &v1.HeartbeatRequest{TaskId: w.ID(), LeaseId: w.Lease})
	if err != nil {
		return err
	}
	var ids []uint64
	for _, s := range res.GetSignals() {
		if s.GetDecision().GetId() == decision {
			ids = append(ids, s.GetId())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return w.Ack(ctx, ids...)
}

// Ack acknowledges signals: they are not delivered again.
func (w *Work) Ack(ctx context.Context, signals ...uint64) error {
	for batch := range slices.Chunk(signals, 256) {
		_, err := w.agent.Tasks.AckSignals(ctx, &v1.AckSignalsRequest{TaskId: w.ID(), LeaseId: w.Lease, SignalIds: batch})
		if err != nil {
			return err
		}
	}
	return nil
}

// Progress replaces the one line that says how far the work is.
func (w *Work) Progress(ctx context.Context, text string) error {
	_, err := w.agent.Tasks.UpdateProgress(ctx, &v1.UpdateProgressRequest{
		TaskId: w.ID(), LeaseId: w.Lease, Progress: &v1.Progress{Text: text},
	})
	return err
}

// Save stores the next version of the work's state and acknowledges the signals
// it reflects, in one commit. It returns the version stored.
func (w *Work) Save(ctx context.Context, checkpoint *v1.CheckpointWrite, signals ...uint64) (uint64, error) {
	res, err := w.agent.Tasks.SaveCheckpoint(ctx, &v1.SaveCheckpointRequest{
		TaskId: w.ID(), LeaseId: w.Lease, Checkpoint: checkpoint, AckSignalIds: signals,
	})
	return res.GetVersion(), err
}

// Yield gives the lease back and lets the task sleep until the set is
// satisfied; checkpoint may be nil. READY means that there is work at once.
func (w *Work) Yield(ctx context.Context, wait *v1.WaitSet, checkpoint *v1.CheckpointWrite, signals ...uint64) (v1.TaskPhase, error) {
	res, err := w.agent.Tasks.YieldTask(ctx, &v1.YieldTaskRequest{
		TaskId: w.ID(), LeaseId: w.Lease, Wait: wait, Checkpoint: checkpoint, AckSignalIds: signals,
	})
	return res.GetPhase(), err
}

// Release gives the lease back with nothing to wait for. Under a stop the task
// is then CANCELED.
func (w *Work) Release(ctx context.Context) (v1.TaskPhase, error) {
	res, err := w.agent.Tasks.ReleaseTask(ctx, &v1.ReleaseTaskRequest{TaskId: w.ID(), LeaseId: w.Lease})
	return res.GetPhase(), err
}

// GiveUp cancels the task, for a reason that its timeline tells: its own agent
// does not want it any more. Nobody is called.
func (w *Work) GiveUp(ctx context.Context, reason string) error {
	_, err := w.agent.Tasks.ReleaseTask(ctx, &v1.ReleaseTaskRequest{TaskId: w.ID(), LeaseId: w.Lease, GiveUp: reason})
	return err
}

// Complete ends the task. Without a result there is nothing to read, and nobody
// is called who has just answered a question of this task.
func (w *Work) Complete(ctx context.Context, result *v1.TaskResult, signals ...uint64) (*v1.Task, error) {
	res, err := w.agent.Tasks.CompleteTask(ctx, &v1.CompleteTaskRequest{
		TaskId: w.ID(), LeaseId: w.Lease, Result: result, AckSignalIds: signals,
	})
	return res.GetTask(), err
}

// Fail ends the task with a reason the person can read.
func (w *Work) Fail(ctx context.Context, failure *v1.TaskFailure) (*v1.Task, error) {
	res, err := w.agent.Tasks.FailTask(ctx, &v1.FailTaskRequest{TaskId: w.ID(), LeaseId: w.Lease, Failure: failure})
	return res.GetTask(), err
}

// Append adds items to the thread. An item whose client id is known in the task
// is not stored again.
func (w *Work) Append(ctx context.Context, items []*v1.ItemDraft) error {
	_, err := w.agent.Items.AppendItems(ctx, &v1.AppendItemsRequest{TaskId: w.ID(), LeaseId: w.Lease, Items: items})
	return err
}

// Bounds of one call of AppendAll; the server takes 100 items.
const (
	batchItems = 100
	batchBytes = 1 << 20
)

// AppendAll adds any number of items in bounded batches and goes on while the
// server is away. It returns the items that were not stored, with the reason:
// a verdict of the server, or the end of ctx.
func (w *Work) AppendAll(ctx context.Context, items []*v1.ItemDraft) (rest []*v1.ItemDraft, err error) {
	for failures := 0; len(items) > 0; {
		n := batchOf(items)
		if err := w.Append(ctx, items[:n]); err != nil {
			if err := w.agent.hold(ctx, err, failures); err != nil {
				return items, err
			}
			failures++
			continue
		}
		items, failures = items[n:], 0
	}
	return nil, nil
}

// batchOf is how many of the items fit into one call; at least one.
func batchOf(items []*v1.ItemDraft) int {
	size := 0
	for n, item := range items {
		size += proto.Size(item)
		if n == batchItems || n > 0 && size > batchBytes {
			return n
		}
	}
	return len(items)
}
