package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/thread"
)

// roomy lets one account have more than a person ever would.
func roomy(l *policy.Limits) { l.OpenTasks, l.OpenDecisions, l.OpenDecisionsPerTask = 1000, 1000, 1000 }

// page reads a page of a scope as the phone.
func (h *harness) page(c app.Bootstrap) app.BootstrapPage {
	h.t.Helper()
	page, err := h.app.Bootstrap(h.t.Context(), h.phone.Principal, c)
	check(h.t, err)
	return page
}

func idsOf(put []changelog.Entity, kind changelog.Kind) []string {
	var out []string
	for _, e := range put {
		if e.Kind == kind {
			out = append(out, e.ID)
		}
	}
	return out
}

func bytesOf(put []changelog.Entity) int {
	n := 0
	for _, e := range put {
		n += len(e.Body) + len(e.ID)
	}
	return n
}

// The first page of an account is its first screen, however much there is
// behind it; with the pages behind it and what changed meanwhile it makes the
// whole.
func TestBootstrap_HomeIsTheFirstScreen(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(roomy))
	var threads []string
	var first app.Held
	for i := range 260 {
		s, held := h.startTask(fmt.Sprint("task ", i))
		threads = append(threads, s.Thread)
		if i == 0 {
			first = held
		}
		h.clock.Advance(time.Second)
	}
	asked := h.ask(first, "old but open", decision.WriteReversible)
	// The question has moved its thread; reading another one does not move that.
	mark(t, h, threads[3])

	got := copyOf{}
	page := h.page(app.Bootstrap{Scope: changelog.AccountScope, Window: app.WindowHome})
	if page.Complete {
		t.Fatal("260 threads were one page")
	}
	if n := bytesOf(page.Put); n > 32<<10 {
		t.Errorf("the first screen has %d bytes", n)
	}
	if page.Put[0].Kind != changelog.Counters {
		t.Errorf("it does not begin with the counters but with %v", page.Put[0].Key)
	}
	if open := idsOf(page.Put, changelog.DecisionHeader); !slices.Equal(open, []string{asked.ID}) {
		t.Errorf("open questions %v, want %v", open, asked.ID)
	}
	latest := append(slices.Clone(threads[len(threads)-19:]), threads[0])
	slices.Reverse(latest)
	if shown := idsOf(page.Put, changelog.ThreadHeader); !slices.Equal(shown, latest) {
		t.Errorf("threads %v, want %v", shown, latest)
	}
	if tasks := idsOf(page.Put, changelog.TaskHeader); len(tasks) != 20 {
		t.Errorf("%d tasks", len(tasks))
	}
	if names := idsOf(page.Put, changelog.AgentLink); len(names) != 1 {
		t.Errorf("agents %v", names)
	}

	got.put(page.Put)
	cursor := page.Cursor
	for n := 0; !page.Complete; n++ {
		h.startTask(fmt.Sprint("meanwhile ", n))
		page = h.page(app.Bootstrap{Scope: changelog.AccountScope, Window: app.WindowHome, Page: page.Page})
		if len(page.Put) > store.PageEntities {
			t.Errorf("a page of %d entities", len(page.Put))
		}
		if string(page.Cursor) != string(cursor) {
			t.Fatal("the cursor moved between pages")
		}
		got.put(page.Put)
	}
	_, deltas := h.drain(app.At{Scope: changelog.AccountScope, Cursor: cursor, Horizon: page.AsOf})
	got.fold(deltas)
	if diff := cmp.Diff(h.fresh(changelog.AccountScope), got); diff != "" {
		t.Errorf("(-fresh +folded):\n%s", diff)
	}
}

func mark(t *testing.T, h *harness, id string) {
	t.Helper()
	_, err := h.app.MarkRead(t.Context(), h.phone.Principal, id, thread.ReadMark{Generation: 1})
	check(t, err)
}

// Fifty questions of the largest size leave the first screen within its bound,
// and the ones that end first are on it.
func TestBootstrap_HomeStaysSmall(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(roomy))
	_, held := h.startTask("many questions")
	for i := range 60 {
		_, err := h.app.RequestDecision(t.Context(), h.agent, app.RequestDecision{
			Held: held, Name: fmt.Sprint(i), Kind: decision.Choose, Title: strings.Repeat("長", 119) + fmt.Sprint(i%10),
			Items: []decision.Item{{ID: "it", Question: fmt.Sprint("Which ", i, "?"), Options: []decision.Option{
				{ID: "a", Label: "A", Kind: decision.Pick}, {ID: "b", Label: "B", Kind: decision.Pick},
			}}},
			OnExpiry: decision.TellAgent,
		})
		check(t, err)
	}
	page := h.page(app.Bootstrap{Scope: changelog.AccountScope, Window: app.WindowHome})
	if n := bytesOf(page.Put); n > 32<<10 || n < 16<<10 {
		t.Errorf("the first screen has %d bytes", n)
	}
	if n := len(idsOf(page.Put, changelog.DecisionHeader)); n == 0 || n > 50 {
		t.Errorf("%d questions", n)
	}
}

// A thread of any length opens with one page: what is open, and its end.
func TestBootstrap_S35_LongThreadOpensFrozen(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("long")
	asked := h.ask(held, "first of all", decision.WriteReversible)
	for i := range 400 {
		h.append(held, thread.RoleAgent, thread.Message, false, strings.Repeat(fmt.Sprint(i, " "), 100))
	}
	scope := changelog.ThreadScope(s.Thread)
	page := h.page(app.Bootstrap{Scope: scope, Window: app.WindowThread})
	if !page.Complete || len(page.Page) > 0 {
		t.Error("it is not one page")
	}
	if n := bytesOf(page.Put); n > 40<<10 {
		t.Errorf("it has %d bytes", n)
	}
	if open := idsOf(page.Put, changelog.Decision); !slices.Equal(open, []string{asked.ID}) {
		t.Errorf("open questions %v, want %v", open, asked.ID)
	}
	last, _, err := h.app.ListItems(t.Context(), h.phone.Principal, app.ListItems{Thread: s.Thread, Size: 30})
	check(t, err)
	for _, it := range last {
		if !slices.Contains(idsOf(page.Put, changelog.Item), it.ID) {
			t.Errorf("item %d is missing", it.Position)
		}
	}
	if small := h.page(app.Bootstrap{Scope: scope, Window: app.WindowThread, MaxBytes: 2000}); bytesOf(small.Put) > 4000 || len(idsOf(small.Put, changelog.Decision)) != 1 {
		t.Errorf("asked for 2000 bytes, got %d", bytesOf(small.Put))
	}
	// Where it was left is in the window too, whichever device left it.
	_, err = h.app.SetView(t.Context(), h.phone.Principal, app.SetView{Thread: s.Thread, Anchor: 100})
	check(t, err)
	around, _, err := h.app.ListItems(t.Context(), h.phone.Principal, app.ListItems{Thread: s.Thread, Before: 111, Size: 21})
	check(t, err)
	left := idsOf(h.page(app.Bootstrap{Scope: scope, Window: app.WindowThread}).Put, changelog.Item)
	for _, it := range around {
		if !slices.Contains(left, it.ID) {
			t.Errorf("item %d, around where it was left, is missing", it.Position)
		}
	}
	// What happens behind the window arrives as anywhere.
	h.append(held, thread.RoleAgent, thread.Message, true, "news")
	_, deltas := h.drain(app.At{Scope: scope, Cursor: page.Cursor, Horizon: page.AsOf})
	if len(deltas) != 1 || len(deltas[0].Page.Put) != 1 {
		t.Errorf("after the window: %v", deltas)
	}
}

// A client that learns a kind fetches what it has skipped of it, and nothing
// else; of a kind that the server does not know there is nothing.
func TestBootstrap_OnlySomeKinds(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for i := range 12 {
		h.startTask(fmt.Sprint(i))
	}
	kinds := []changelog.Kind{changelog.AgentLink, changelog.TaskHeader}
	want := h.fresh(changelog.AccountScope)
	for k := range want {
		if !slices.Contains(kinds, k.Kind) {
			delete(want, k)
		}
	}
	for _, size := range []int{0, 1, 700} {
		got, pages := copyOf{}, 0
		for page := (app.BootstrapPage{}); !page.Complete; pages++ {
			page = h.page(app.Bootstrap{Scope: changelog.AccountScope, Kinds: kinds, Page: page.Page, MaxBytes: size})
			got.put(page.Put)
		}
		if diff := cmp.Diff(want, got); diff != "" || size > 0 && pages < 3 {
			t.Errorf("%d pages of %d bytes (-want +got):\n%s", pages, size, diff)
		}
	}
	for i := range 150 {
		h.startTask(fmt.Sprint("more ", i))
	}
	both := []changelog.Kind{changelog.ThreadHeader, changelog.TaskHeader}
	if page := h.page(app.Bootstrap{Scope: changelog.AccountScope, Kinds: both}); len(page.Put) != store.PageEntities || page.Complete {
		t.Errorf("a page of %d entities, complete %v", len(page.Put), page.Complete)
	}
	if page := h.page(app.Bootstrap{Scope: changelog.AccountScope, Kinds: []changelog.Kind{200}}); !page.Complete || len(page.Put) > 0 {
		t.Errorf("of an unknown kind: %v", page.Put)
	}
}
