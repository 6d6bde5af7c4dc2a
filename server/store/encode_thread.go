package store

import (
	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/sync/thread"
)

// threadCodec stores a thread.
type threadCodec struct{}

func (threadCodec) encode(v thread.State) ([]byte, error) { return marshal(packThread(v)) }
func (threadCodec) decode(b []byte) (thread.State, error) { return unmarshal(b, unpackThread) }

// itemCodec stores an entry of a timeline.
type itemCodec struct{}

func (itemCodec) encode(v thread.Item) ([]byte, error) { return marshal(packItem(v)) }
func (itemCodec) decode(b []byte) (thread.Item, error) { return unmarshal(b, unpackItem) }

func packThread(s thread.State) *storagev1.Thread {
	return &storagev1.Thread{
		Id: s.ID, Title: s.Title, Agent: s.Agent, NoMessages: s.NoMessages,
		Head: s.Head, NotableHead: s.NotableHead, Read: packReadMark(s.Read),
		Preview: s.Preview, LastTask: s.LastTask,
		Live: each(s.Live, func(l thread.Live) *storagev1.LiveTask {
			return &storagev1.LiveTask{Task: l.Task, Agent: l.Agent, NoMessages: l.NoMessages}
		}),
		CreateTime: micros(s.CreateTime), UpdateTime: micros(s.UpdateTime), HeaderTime: micros(s.HeaderTime),
		MoveTime: micros(s.MoveTime), Archived: s.Archived,
	}
}

func unpackThread(m *storagev1.Thread, _ *reading) thread.State {
	return thread.State{
		ID: m.GetId(), Title: m.GetTitle(), Agent: m.GetAgent(), NoMessages: m.GetNoMessages(),
		Head: m.GetHead(), NotableHead: m.GetNotableHead(), Read: unpackReadMark(m.GetRead()),
		Preview: m.GetPreview(), LastTask: m.GetLastTask(),
		Live: each(m.GetLive(), func(m *storagev1.LiveTask) thread.Live {
			return thread.Live{Task: m.GetTask(), Agent: m.GetAgent(), NoMessages: m.GetNoMessages()}
		}),
		CreateTime: moment(m.GetCreateTime()), UpdateTime: moment(m.GetUpdateTime()), HeaderTime: moment(m.GetHeaderTime()),
		MoveTime: moment(m.GetMoveTime()), Archived: m.GetArchived(),
	}
}

func packReadMark(mark thread.ReadMark) *storagev1.ReadMark {
	return &storagev1.ReadMark{Generation: mark.Generation, Position: mark.Position}
}

func unpackReadMark(m *storagev1.ReadMark) thread.ReadMark {
	return thread.ReadMark{Generation: m.GetGeneration(), Position: m.GetPosition()}
}

func packItem(it thread.Item) *storagev1.Item {
	return &storagev1.Item{
		Id: it.ID, Thread: it.Thread, Task: it.Task, Position: it.Position,
		Role: uint32(it.Role), Kind: uint32(it.Kind), Parts: each(it.Parts, packPart),
		Notable: it.Notable, NotablePosition: it.NotablePosition, CreateTime: micros(it.CreateTime),
	}
}

func unpackItem(m *storagev1.Item, r *reading) thread.Item {
	return thread.Item{
		ID: m.GetId(), Thread: m.GetThread(), Task: m.GetTask(), Position: m.GetPosition(),
		Role:    number[thread.Role](r, "role", m.GetRole()),
		Kind:    number[thread.ItemKind](r, "kind", m.GetKind()),
		Parts:   each(m.GetParts(), func(m *storagev1.Part) thread.Part { return unpackPart(m, r) }),
		Notable: m.GetNotable(), NotablePosition: m.GetNotablePosition(), CreateTime: moment(m.GetCreateTime()),
	}
}

func packPart(p thread.Part) *storagev1.Part {
	m := &storagev1.Part{Text: p.Text}
	if o := p.Output; o != nil {
		m.Output = &storagev1.Output{Stream: uint32(o.Stream), Data: o.Data, Omitted: o.Omitted}
	}
	return m
}

func unpackPart(m *storagev1.Part, r *reading) thread.Part {
	p := thread.Part{Text: m.GetText()}
	if m := m.GetOutput(); m != nil {
		p.Output = &thread.OutputPart{
			Stream: number[thread.Stream](r, "parts.output.stream", m.GetStream()),
			Data:   m.GetData(), Omitted: m.GetOmitted(),
		}
	}
	return p
}
