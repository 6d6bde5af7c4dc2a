package store

import (
	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/sync/task"
)

// taskCodec stores a task.
type taskCodec struct{}

func (taskCodec) encode(v task.State) ([]byte, error) { return marshal(packTask(v)) }
func (taskCodec) decode(b []byte) (task.State, error) { return unmarshal(b, unpackTask) }

func packTask(s task.State) *storagev1.Task {
	m := &storagev1.Task{
		Id: s.ID, Thread: s.Thread, Agent: s.Agent, Title: s.Title,
		Input: s.Input, Labels: s.Labels, NoMessages: s.NoMessages,
		Phase:    uint32(s.Phase),
		Hold:     packHold(s.Hold),
		Lease:    &storagev1.Lease{Id: s.Lease.ID, ClaimId: s.Lease.ClaimID, Length: s.Lease.Length.Microseconds(), Until: micros(s.Lease.Until)},
		Wait:     &storagev1.Wait{Mode: uint32(s.Wait.Mode), Decisions: s.Wait.Decisions, Timers: s.Wait.Timers, Until: micros(s.Wait.Until), Retry: s.Wait.Retry},
		Ended:    &storagev1.Ended{Lease: s.Ended.Lease, Op: uint32(s.Ended.Op), Phase: uint32(s.Ended.Phase)},
		Attempts: int64(s.Attempts), MaxAttempts: int64(s.MaxAttempts),
		Checkpoint: s.Checkpoint, Signals: s.Signals, Answered: s.Answered,
		Progress: packProgress(s.Progress), HeaderTime: micros(s.HeaderTime),
		CreateTime: micros(s.CreateTime), EndTime: micros(s.EndTime), EndPosition: s.EndPosition,
		Review: s.Review, Offer: s.Offer, OfferVersion: s.OfferVersion,
		Deadline: micros(s.Deadline), Expiring: s.Expiring,
		ReadyTime: micros(s.ReadyTime), LookTime: micros(s.LookTime),
		SilenceAfter: s.SilenceAfter.Microseconds(), SpokeTime: micros(s.SpokeTime), SilenceLook: micros(s.SilenceLook), Hush: uint32(s.Hush),
		Restored: s.Restored, RestoreCard: s.RestoreCard,
	}
	if w := s.NoWorker; w != (task.NoWorker{}) {
		m.NoWorker = &storagev1.NoWorker{Since: micros(w.Since), Wanted: w.For, AskTime: micros(w.AskTime), Card: w.Card}
	}
	if s.Below != (task.Hold{}) {
		m.Below = packHold(s.Below)
	}
	if r := s.Result; r != nil {
		m.Result = &storagev1.Result{
			Summary: r.Summary, Body: r.Body, DataJson: r.DataJSON, ExitStatus: r.ExitStatus,
			Artifacts: each(r.Artifacts, func(sum [32]byte) []byte { return sum[:] }),
		}
	}
	if f := s.Failure; f != nil {
		m.Failure = &storagev1.Failure{Code: f.Code, Text: f.Text, Retriable: f.Retriable, ExitStatus: f.ExitStatus}
	}
	return m
}

func unpackTask(m *storagev1.Task, r *reading) task.State {
	s := task.State{
		ID: m.GetId(), Thread: m.GetThread(), Agent: m.GetAgent(), Title: m.GetTitle(),
		Input: m.GetInput(), Labels: m.GetLabels(), NoMessages: m.GetNoMessages(),
		Phase:    number[task.Phase](r, "phase", m.GetPhase()),
		Hold:     unpackHold(m.GetHold(), r),
		Lease:    unpackLease(m.GetLease(), r),
		Wait:     unpackWait(m.GetWait(), r),
		Ended:    unpackEnded(m.GetEnded(), r),
		Attempts: int(m.GetAttempts()), MaxAttempts: int(m.GetMaxAttempts()),
		Checkpoint: m.GetCheckpoint(), Signals: m.GetSignals(), Answered: m.GetAnswered(),
		Progress: unpackProgress(m.GetProgress()), HeaderTime: moment(m.GetHeaderTime()),
		CreateTime: moment(m.GetCreateTime()), EndTime: moment(m.GetEndTime()), EndPosition: m.GetEndPosition(),
		Below:  unpackHold(m.GetBelow(), r),
		Review: m.GetReview(), Offer: m.GetOffer(), OfferVersion: m.GetOfferVersion(),
		Deadline: moment(m.GetDeadline()), Expiring: m.GetExpiring(),
		ReadyTime: moment(m.GetReadyTime()), LookTime: moment(m.GetLookTime()),
		SilenceAfter: span(r, "silence_after", m.GetSilenceAfter()), SpokeTime: moment(m.GetSpokeTime()),
		SilenceLook: moment(m.GetSilenceLook()), Hush: number[task.Hush](r, "hush", m.GetHush()),
		Restored: m.GetRestored(), RestoreCard: m.GetRestoreCard(),
	}
	if m := m.GetNoWorker(); m != nil {
		s.NoWorker = task.NoWorker{Since: moment(m.GetSince()), For: m.GetWanted(), AskTime: moment(m.GetAskTime()), Card: m.GetCard()}
	}
	if m := m.GetResult(); m != nil {
		s.Result = &task.Result{
			Summary: m.GetSummary(), Body: m.GetBody(), DataJSON: m.GetDataJson(), ExitStatus: m.ExitStatus,
			Artifacts: each(m.GetArtifacts(), func(b []byte) [32]byte { return bytes32[[32]byte](r, "result.artifacts", b) }),
		}
	}
	if m := m.GetFailure(); m != nil {
		s.Failure = &task.Failure{Code: m.GetCode(), Text: m.GetText(), Retriable: m.GetRetriable(), ExitStatus: m.ExitStatus}
	}
	return s
}

func packHold(h task.Hold) *storagev1.Hold {
	return &storagev1.Hold{Kind: uint32(h.Kind), By: h.By, Reason: h.Reason, Since: micros(h.Since)}
}

func unpackHold(m *storagev1.Hold, r *reading) task.Hold {
	return task.Hold{
		Kind: number[task.HoldKind](r, "hold.kind", m.GetKind()),
		By:   m.GetBy(), Reason: m.GetReason(), Since: moment(m.GetSince()),
	}
}

func unpackLease(m *storagev1.Lease, r *reading) task.Lease {
	return task.Lease{
		ID: m.GetId(), ClaimID: m.GetClaimId(),
		Length: span(r, "lease.length", m.GetLength()), Until: moment(m.GetUntil()),
	}
}

func unpackWait(m *storagev1.Wait, r *reading) task.Wait {
	return task.Wait{
		Mode:      number[task.WaitMode](r, "wait.mode", m.GetMode()),
		Decisions: m.GetDecisions(), Timers: m.GetTimers(), Until: moment(m.GetUntil()), Retry: m.GetRetry(),
	}
}

func unpackEnded(m *storagev1.Ended, r *reading) task.Ended {
	return task.Ended{
		Lease: m.GetLease(),
		Op:    number[task.Op](r, "ended.op", m.GetOp()),
		Phase: number[task.Phase](r, "ended.phase", m.GetPhase()),
	}
}

func packProgress(p task.Progress) *storagev1.Progress {
	return &storagev1.Progress{Text: p.Text, Percent: p.Percent, Time: micros(p.Time)}
}

func unpackProgress(m *storagev1.Progress) task.Progress {
	if m == nil {
		return task.Progress{}
	}
	return task.Progress{Text: m.GetText(), Percent: m.Percent, Time: moment(m.GetTime())}
}
