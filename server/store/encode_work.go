package store

import (
	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/sync/task"
)

// signalCodec stores what a task must be told.
type signalCodec struct{}

func (signalCodec) encode(v task.Signal) ([]byte, error) { return marshal(packSignal(v)) }
func (signalCodec) decode(b []byte) (task.Signal, error) { return unmarshal(b, unpackSignal) }

// timerCodec stores what wakes a task at a time.
type timerCodec struct{}

func (timerCodec) encode(v task.Timer) ([]byte, error) { return marshal(packTimer(v)) }
func (timerCodec) decode(b []byte) (task.Timer, error) { return unmarshal(b, unpackTimer) }

// checkpointCodec stores a version of the state of a task.
type checkpointCodec struct{}

func (checkpointCodec) encode(v Checkpoint) ([]byte, error) { return marshal(packCheckpoint(v)) }
func (checkpointCodec) decode(b []byte) (Checkpoint, error) { return unmarshal(b, unpackCheckpoint) }

// readyCodec stores what a claimant needs to see.
type readyCodec struct{}

func (readyCodec) encode(v readyRow) ([]byte, error) { return marshal(packReady(v)) }
func (readyCodec) decode(b []byte) (readyRow, error) { return unmarshal(b, unpackReady) }

func packSignal(s task.Signal) *storagev1.Signal {
	return &storagev1.Signal{
		Id: s.ID, Kind: uint32(s.Kind), Decision: s.Decision, Item: s.Item,
		Timer: s.Timer, Text: s.Text, Data: s.Data, Time: micros(s.Time), Effect: s.Effect,
	}
}

func unpackSignal(m *storagev1.Signal, r *reading) task.Signal {
	return task.Signal{
		ID: m.GetId(), Kind: number[task.SignalKind](r, "kind", m.GetKind()), Decision: m.GetDecision(), Item: m.GetItem(),
		Timer: m.GetTimer(), Text: m.GetText(), Data: m.GetData(), Time: moment(m.GetTime()), Effect: m.GetEffect(),
	}
}

func packTimer(t task.Timer) *storagev1.Timer {
	return &storagev1.Timer{
		Task: t.Task, Key: t.Key, At: micros(t.At), After: t.After.Microseconds(), Data: t.Data,
		FireTime: micros(t.FireTime), CreateTime: micros(t.CreateTime),
	}
}

func unpackTimer(m *storagev1.Timer, r *reading) task.Timer {
	return task.Timer{
		Task: m.GetTask(), Key: m.GetKey(), At: moment(m.GetAt()), After: span(r, "after", m.GetAfter()), Data: m.GetData(),
		FireTime: moment(m.GetFireTime()), CreateTime: moment(m.GetCreateTime()),
	}
}

func packCheckpoint(c Checkpoint) *storagev1.Checkpoint {
	return &storagev1.Checkpoint{
		Version: c.Version, Data: c.Data, SchemaVersion: c.SchemaVersion,
		NextStep: c.NextStep, CreateTime: micros(c.CreateTime),
	}
}

func unpackCheckpoint(m *storagev1.Checkpoint, _ *reading) Checkpoint {
	return Checkpoint{
		Version: m.GetVersion(), Data: m.GetData(), SchemaVersion: m.GetSchemaVersion(),
		NextStep: m.GetNextStep(), CreateTime: moment(m.GetCreateTime()),
	}
}

func packReady(row readyRow) *storagev1.ReadyTask { return &storagev1.ReadyTask{Labels: row.Labels} }

func unpackReady(m *storagev1.ReadyTask, _ *reading) readyRow { return readyRow{Labels: m.GetLabels()} }
