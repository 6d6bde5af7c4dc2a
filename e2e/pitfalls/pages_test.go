package pitfalls_test

import (
	"fmt"
	"slices"
	"testing"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/faultproxy"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Answers that end in the middle, or are cut by a reset, at every place: what
// was read until then moves nothing, and in the end the inbox is whole.
func TestSync_S9_TruncatedAnswers(t *testing.T) {
	t.Parallel()
	for _, kind := range []faultproxy.Kind{faultproxy.Truncate, faultproxy.Reset} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, usual)
			n := h.bytesOnly(1)
			p := h.over(n, beckon.Retry{Attempts: 60, Base: 1})
			inbox := p.Inbox()
			const cuts = 20
			for i := range 3 {
				for k := range cuts {
					h.started(fmt.Sprintf("task %d of %d", k, i))
				}
				n.Now(faultproxy.Fault{Kind: faultproxy.Truncate})
				for k := range cuts {
					n.Next(faultproxy.Fault{Kind: kind, After: int64(1 + k*53)})
				}
				check(t, inbox.Sync(t.Context(), 0))
				whole := h.owner.Inbox()
				check(t, whole.Sync(t.Context(), 0))
				if got, want := titles(inbox), titles(whole); !slices.Equal(got, want) {
					t.Errorf("shows %v, want %v", got, want)
				}
				n.Clear()
			}
			if happened := n.Counts().Happened[kind]; happened < cuts {
				t.Errorf("%d answers were cut", happened)
			}
		})
	}
}

func titles(i *beckon.Inbox) []string {
	var out []string
	for _, task := range i.Tasks() {
		out = append(out, task.GetTitle())
	}
	slices.Sort(out)
	return out
}

// A cache between that keeps what it may, and takes two calls with the same
// bytes for one, has nothing to answer from: the same read sees what is new.
func TestPull_S33_CachingProxy(t *testing.T) {
	t.Parallel()
	h := newHouse(t, usual)
	n := h.requests(1)
	n.http.Rules(faultproxy.Rule{Cache: true})
	p := h.over(n, beckon.Retry{})
	account := &v1.Scope{Scope: &v1.Scope_Account{Account: true}}
	page := must(p.Sync.Bootstrap(t.Context(), &v1.BootstrapRequest{Scope: account}))(t)
	pull := &v1.PullRequest{At: []*v1.At{{Scope: account, Cursor: page.GetCursor(), Horizon: page.GetAsOf()}}}
	changes := func() int {
		res := must(p.Sync.Pull(t.Context(), pull))(t)
		return len(res.GetDeltas()[0].GetChanges().GetPut())
	}
	if n := changes(); n != 0 {
		t.Fatal(n, "changes of nothing")
	}
	h.started("new")
	if changes() == 0 {
		t.Error("the same read does not see what is new")
	}
	// Nor has anything else that a screen reads.
	for range 2 {
		must(p.Threads.ListThreads(t.Context(), &v1.ListThreadsRequest{}))(t)
		must(p.Account.GetAccount(t.Context(), &v1.GetAccountRequest{}))(t)
		check(t, p.Inbox().Sync(t.Context(), 0))
	}
	if c := n.http.Counts(); c.Replayed != 0 {
		t.Errorf("%d answers came from the cache", c.Replayed)
	}
}
