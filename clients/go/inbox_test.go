package beckon_test

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectinprocess"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
)

// scripted answers calls from lists, in order.
type scripted struct {
	beckonv1connect.UnimplementedSyncServiceHandler
	pages []any // *v1.BootstrapResponse or error
	pulls []*v1.Delta
	asked []string
}

func (s *scripted) Bootstrap(_ context.Context, r *v1.BootstrapRequest) (*v1.BootstrapResponse, error) {
	s.asked = append(s.asked, "page "+string(r.GetPage()))
	next := s.pages[0]
	s.pages = s.pages[1:]
	if err, ok := next.(error); ok {
		return nil, err
	}
	return next.(*v1.BootstrapResponse), nil
}

func (s *scripted) Pull(_ context.Context, r *v1.PullRequest) (*v1.PullResponse, error) {
	s.asked = append(s.asked, "after "+string(r.GetAt()[0].GetCursor()))
	next := s.pulls[0]
	s.pulls = s.pulls[1:]
	return &v1.PullResponse{Deltas: []*v1.Delta{next}}, nil
}

func entity(t *testing.T, kind v1.EntityKind, id string, version uint64, body proto.Message) *v1.Entity {
	t.Helper()
	return &v1.Entity{Kind: kind, Id: id, Version: version, Body: must(proto.Marshal(body))(t)}
}

func changes(next string, more bool, put ...*v1.Entity) *v1.Delta {
	return &v1.Delta{Result: &v1.Delta_Changes{Changes: &v1.Changes{
		Put: put, Next: []byte(next), More: more, AsOf: []byte(next), Epoch: []byte("e"),
	}}}
}

// One inbox through two pages, a page the server has forgotten, changes and a
// reset: it shows what the server last said, and asks where it should.
func TestInbox(t *testing.T) {
	t.Parallel()
	f := newFake()
	_, path := f.claim(t, f.serve(t, "h1"))
	const header, thread, counters = v1.EntityKind_ENTITY_KIND_DECISION_HEADER, v1.EntityKind_ENTITY_KIND_THREAD_HEADER, v1.EntityKind_ENTITY_KIND_COUNTERS
	open := func(id string, second int64) *v1.DecisionHeader {
		return &v1.DecisionHeader{Id: id, State: v1.DecisionState_DECISION_STATE_PENDING, CreateTime: &timestamppb.Timestamp{Seconds: second}}
	}
	page := func(page string, complete bool, put ...*v1.Entity) *v1.BootstrapResponse {
		return &v1.BootstrapResponse{Put: put, Page: []byte(page), Cursor: []byte("c1"), Complete: complete, AsOf: []byte("c1"), Epoch: []byte("e")}
	}
	s := &scripted{
		pages: []any{
			page("p1", false, entity(t, header, "a", 1, open("a", 10))),
			refusal(connect.CodeInvalidArgument, &v1.ErrorInfo{Reason: "INVALID", Field: "page"}),
			page("p1", false, entity(t, header, "a", 1, open("a", 10))),
			page("", true, entity(t, header, "b", 2, open("b", 20)), entity(t, counters, "counters", 2, &v1.Counters{Badge: 2})),
			page("", true, entity(t, header, "b", 9, open("b", 20))),
		},
		pulls: []*v1.Delta{
			changes("c2", true, entity(t, header, "b", 3, &v1.DecisionHeader{Id: "b", State: v1.DecisionState_DECISION_STATE_RESOLVED})),
			changes("c3", false, entity(t, thread, "t", 4, &v1.Thread{Id: "t"}), &v1.Entity{Kind: 99, Id: "x", Version: 5}),
			{Result: &v1.Delta_Reset_{Reset_: &v1.Reset{Reason: v1.ResetReason_RESET_REASON_EPOCH}}},
			changes("c4", false),
		},
	}
	srv := connect.NewServer()
	beckonv1connect.RegisterSyncServiceHandler(srv, s)
	p := must(beckon.OpenPerson(path, beckon.Options{Transport: connectinprocess.New(srv)}))(t)
	inbox := p.Inbox()
	if err := inbox.Sync(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	ids := func() (out []string) {
		for _, d := range inbox.Decisions() {
			out = append(out, d.GetId()+" "+d.GetState().String())
		}
		return out
	}
	if diff := cmp.Diff([]string{"a DECISION_STATE_PENDING", "b DECISION_STATE_RESOLVED"}, ids()); diff != "" {
		t.Error(diff)
	}
	if inbox.Counters().GetBadge() != 2 || len(inbox.Threads()) != 1 {
		t.Errorf("counters %v, threads %v", inbox.Counters(), inbox.Threads())
	}
	if err := inbox.Sync(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b DECISION_STATE_PENDING"}, ids()); diff != "" {
		t.Error(diff)
	}
	want := []string{"page ", "page p1", "page ", "page p1", "after c1", "after c2", "after c3", "page ", "after c1"}
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Error(diff)
	}
}
