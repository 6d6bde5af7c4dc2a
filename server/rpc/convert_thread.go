package rpc

import (
	"fmt"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/thread"
)

func threadOut(s thread.State) *v1.Thread {
	return threadHeaderOut(store.HeaderOf(s))
}

func threadHeaderOut(h store.ThreadHeader) *v1.Thread {
	unread := thread.State{NotableHead: h.NotableHead, Read: h.Read}.Unread()
	return &v1.Thread{
		Id: h.ID, Title: h.Title, AgentId: h.Agent, HeadPosition: h.Head, NotableHead: h.NotableHead,
		ReadMark: readMarkOut(h.Read), Unread: unread, Preview: h.Preview, LastTaskId: h.LastTask,
		CreateTime: timeOut(h.CreateTime), UpdateTime: timeOut(h.UpdateTime), Archived: h.Archived,
	}
}

func readMarkOut(m thread.ReadMark) *v1.ReadMark {
	return &v1.ReadMark{Generation: m.Generation, NotablePosition: m.Position}
}

func readMarkIn(m *v1.ReadMark) thread.ReadMark {
	return thread.ReadMark{Generation: m.GetGeneration(), Position: m.GetNotablePosition()}
}

func itemOut(it thread.Item) *v1.Item {
	return &v1.Item{
		Id: it.ID, ThreadId: it.Thread, TaskId: it.Task, Position: it.Position,
		Role: v1.ItemRole(it.Role), Kind: v1.ItemKind(it.Kind), Parts: mapAll(it.Parts, partOut),
		Notable: it.Notable, NotablePosition: it.NotablePosition, CreateTime: timeOut(it.CreateTime),
	}
}

func partOut(p thread.Part) *v1.Part {
	if p.Output == nil {
		return &v1.Part{Part: &v1.Part_Text{Text: p.Text}}
	}
	return &v1.Part{Part: &v1.Part_Output{Output: &v1.Output{
		Stream: v1.OutputStream(p.Output.Stream), Data: p.Output.Data, OmittedBytes: p.Output.Omitted,
	}}}
}

// partIn reads a part; one without content is refused, since a client of a
// later release may have put something there that this one would lose.
func partIn(field string, p *v1.Part) (thread.Part, error) {
	switch part := p.GetPart().(type) {
	case *v1.Part_Text:
		return thread.Part{Text: part.Text}, nil
	case *v1.Part_Output:
		stream, err := enumIn(field+".output.stream", part.Output.GetStream(), thread.Stderr)
		return thread.Part{Output: &thread.OutputPart{
			Stream: stream, Data: part.Output.GetData(), Omitted: part.Output.GetOmittedBytes(),
		}}, err
	default:
		return thread.Part{}, &app.FieldError{Field: field, Reason: "MISSING"}
	}
}

func draftsIn(drafts []*v1.ItemDraft) ([]app.ItemDraft, error) {
	out := make([]app.ItemDraft, len(drafts))
	for i, d := range drafts {
		draft, err := draftIn(fmt.Sprintf("items[%d]", i), d)
		if err != nil {
			return nil, err
		}
		out[i] = draft
	}
	return out, nil
}

func draftIn(field string, d *v1.ItemDraft) (app.ItemDraft, error) {
	role, err := enumIn(field+".role", d.GetRole(), thread.RoleTool)
	if err != nil {
		return app.ItemDraft{}, err
	}
	kind, err := enumIn(field+".kind", d.GetKind(), thread.Output)
	if err != nil {
		return app.ItemDraft{}, err
	}
	out := app.ItemDraft{ClientID: d.GetClientId(), Role: role, Kind: kind, Notable: d.GetNotable()}
	for j, p := range d.GetParts() {
		part, err := partIn(fmt.Sprintf("%s.parts[%d]", field, j), p)
		if err != nil {
			return app.ItemDraft{}, err
		}
		out.Parts = append(out.Parts, part)
	}
	return out, nil
}
