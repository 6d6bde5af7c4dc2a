package store

import (
	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// taskHeaderCodec stores what lists show of a task.
type taskHeaderCodec struct{}

func (taskHeaderCodec) encode(v TaskHeader) ([]byte, error) { return marshal(packTaskHeader(v)) }
func (taskHeaderCodec) decode(b []byte) (TaskHeader, error) { return unmarshal(b, unpackTaskHeader) }

// threadHeaderCodec stores what lists show of a thread.
type threadHeaderCodec struct{}

func (threadHeaderCodec) encode(v ThreadHeader) ([]byte, error) { return marshal(packThreadHeader(v)) }
func (threadHeaderCodec) decode(b []byte) (ThreadHeader, error) {
	return unmarshal(b, unpackThreadHeader)
}

// decisionHeaderCodec stores what lists show of a question.
type decisionHeaderCodec struct{}

func (decisionHeaderCodec) encode(v DecisionHeader) ([]byte, error) {
	return marshal(packDecisionHeader(v))
}
func (decisionHeaderCodec) decode(b []byte) (DecisionHeader, error) {
	return unmarshal(b, unpackDecisionHeader)
}

// countersCodec stores what the badge shows.
type countersCodec struct{}

func (countersCodec) encode(v Counters) ([]byte, error) { return marshal(packCounters(v)) }
func (countersCodec) decode(b []byte) (Counters, error) { return unmarshal(b, unpackCounters) }

func packTaskHeader(h TaskHeader) *storagev1.TaskHeader {
	return &storagev1.TaskHeader{
		Id: h.ID, Thread: h.Thread, Agent: h.Agent, Title: h.Title,
		Phase: uint32(h.Phase), Hold: uint32(h.Hold), Progress: packProgress(h.Progress),
		ResultSummary: h.ResultSummary, FailureCode: h.FailureCode,
		CreateTime: micros(h.CreateTime), EndTime: micros(h.EndTime), RetryTime: micros(h.RetryTime),
		WaitingSince: micros(h.WaitingSince), WaitingFor: h.WaitingFor, EndPosition: h.EndPosition,
	}
}

func unpackTaskHeader(m *storagev1.TaskHeader, r *reading) TaskHeader {
	return TaskHeader{
		ID: m.GetId(), Thread: m.GetThread(), Agent: m.GetAgent(), Title: m.GetTitle(),
		Phase:         number[task.Phase](r, "phase", m.GetPhase()),
		Hold:          number[task.HoldKind](r, "hold", m.GetHold()),
		Progress:      unpackProgress(m.GetProgress()),
		ResultSummary: m.GetResultSummary(), FailureCode: m.GetFailureCode(),
		CreateTime: moment(m.GetCreateTime()), EndTime: moment(m.GetEndTime()), RetryTime: moment(m.GetRetryTime()),
		WaitingSince: moment(m.GetWaitingSince()), WaitingFor: m.GetWaitingFor(), EndPosition: m.GetEndPosition(),
	}
}

func packThreadHeader(h ThreadHeader) *storagev1.ThreadHeader {
	return &storagev1.ThreadHeader{
		Id: h.ID, Title: h.Title, Agent: h.Agent, Head: h.Head, NotableHead: h.NotableHead,
		Read: packReadMark(h.Read), Preview: h.Preview, LastTask: h.LastTask,
		CreateTime: micros(h.CreateTime), UpdateTime: micros(h.UpdateTime), Archived: h.Archived,
	}
}

func unpackThreadHeader(m *storagev1.ThreadHeader, _ *reading) ThreadHeader {
	return ThreadHeader{
		ID: m.GetId(), Title: m.GetTitle(), Agent: m.GetAgent(), Head: m.GetHead(), NotableHead: m.GetNotableHead(),
		Read: unpackReadMark(m.GetRead()), Preview: m.GetPreview(), LastTask: m.GetLastTask(),
		CreateTime: moment(m.GetCreateTime()), UpdateTime: moment(m.GetUpdateTime()),
		Archived: m.GetArchived(),
	}
}

func packDecisionHeader(h DecisionHeader) *storagev1.DecisionHeader {
	m := &storagev1.DecisionHeader{
		Id: h.ID, Task: h.Task, Thread: h.Thread, Agent: h.Agent,
		Status: uint32(h.Status), Kind: uint32(h.Kind), Title: h.Title, Revision: h.Revision, Class: uint32(h.Class),
		ExpireTime: micros(h.ExpireTime), CreateTime: micros(h.CreateTime),
		SnoozeUntil: micros(h.SnoozeUntil),
	}
	if w := h.Winner; w != nil {
		m.Winner = &storagev1.Winner{Installation: w.Installation, Label: w.Label, Surface: uint32(w.Surface), Time: micros(w.Time)}
	}
	return m
}

func unpackDecisionHeader(m *storagev1.DecisionHeader, r *reading) DecisionHeader {
	h := DecisionHeader{
		ID: m.GetId(), Task: m.GetTask(), Thread: m.GetThread(), Agent: m.GetAgent(),
		Status: number[decision.Status](r, "status", m.GetStatus()),
		Kind:   number[decision.Kind](r, "kind", m.GetKind()),
		Title:  m.GetTitle(), Revision: m.GetRevision(),
		Class:      number[decision.Class](r, "class", m.GetClass()),
		ExpireTime: moment(m.GetExpireTime()), CreateTime: moment(m.GetCreateTime()),
		SnoozeUntil: moment(m.GetSnoozeUntil()),
	}
	if m := m.GetWinner(); m != nil {
		h.Winner = &Winner{
			Installation: m.GetInstallation(), Label: m.GetLabel(),
			Surface: number[decision.Surface](r, "winner.surface", m.GetSurface()), Time: moment(m.GetTime()),
		}
	}
	return h
}

func packCounters(c Counters) *storagev1.Counters {
	return &storagev1.Counters{OpenDecisions: c.OpenDecisions, UnreadThreads: c.UnreadThreads}
}

func unpackCounters(m *storagev1.Counters, _ *reading) Counters {
	return Counters{OpenDecisions: m.GetOpenDecisions(), UnreadThreads: m.GetUnreadThreads()}
}
