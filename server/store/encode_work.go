package store

import (
	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/sync/task"
)

// signalCodec stores what a task must be told.
type signalCodec struct{}

func (signalCodec) encode(v task.Signal) ([]byte, error) { return marshal(packSignal(v)) }
func (signalCodec) decode(b []byte) (task.Signal, error) { return unmarshal(b, unpackSignal) }

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
		Text: s.Text, Time: micros(s.Time),
	}
}

func unpackSignal(m *storagev1.Signal, r *reading) task.Signal {
	return task.Signal{
		ID: m.GetId(), Kind: number[task.SignalKind](r, "kind", m.GetKind()), Decision: m.GetDecision(), Item: m.GetItem(),
		Text: m.GetText(), Time: moment(m.GetTime()),
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
