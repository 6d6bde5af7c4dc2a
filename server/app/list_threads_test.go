package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/thread"
)

// listAll pages through all that a list has.
func (h *harness) listAll(c app.ListThreads) (found []app.ThreadMatch, pages int) {
	h.t.Helper()
	for {
		page, err := h.app.ListThreads(h.t.Context(), h.phone.Principal, c)
		check(h.t, err)
		found = append(found, page.Matches...)
		if pages++; len(page.Next) == 0 {
			return found, pages
		}
		if pages > 1000 {
			h.t.Fatal("it never ends")
		}
		c.Page = page.Next
	}
}

func titlesOf(found []app.ThreadMatch) []string {
	var out []string
	for _, m := range found {
		out = append(out, m.Thread.Title)
	}
	return out
}

// All threads are listed once, the latest first, however small the pages.
func TestListThreads_Pages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var want []string
	for i := range 25 {
		h.startTask(fmt.Sprint("task ", i))
		want = append(want, fmt.Sprint("task ", i))
		if i%2 == 0 {
			h.clock.Advance(time.Second) // every other one moved at the same time as the one before
		}
	}
	slices.Sort(want)
	// One that has moved stands in its new place, and not in the old one too.
	found, _ := h.listAll(app.ListThreads{})
	first := found[len(found)-1].Thread
	h.clock.Advance(time.Second)
	h.say(first.ID, "are you there?")
	if found, _ = h.listAll(app.ListThreads{}); found[0].Thread.ID != first.ID {
		t.Errorf("the latest is %q, want %q", found[0].Thread.Title, first.Title)
	}
	for _, size := range []int{0, 1, 7} {
		found, pages := h.listAll(app.ListThreads{Size: size})
		if !slices.IsSortedFunc(found, func(a, b app.ThreadMatch) int { return b.Thread.UpdateTime.Compare(a.Thread.UpdateTime) }) {
			t.Errorf("not the latest first: %v", titlesOf(found))
		}
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(titlesOf(found)))); diff != "" || size == 1 && pages < 25 {
			t.Errorf("%d pages of %d (-want +got):\n%s", pages, size, diff)
		}
		if found[0].Task.ID != found[0].Thread.LastTask {
			t.Errorf("task %q of thread with %q", found[0].Task.ID, found[0].Thread.LastTask)
		}
	}
}

// Words are found in titles and in what was said, in any case and form; what
// does not have all of them is not found, and nor is another account's.
func TestListThreads_Search(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, one := h.startTask("Fix the STRASSE parser")
	h.clock.Advance(time.Second)
	_, two := h.startTask("Something else")
	h.append(one, thread.RoleAgent, thread.Message, false, "I have looked at the lexer.")
	h.append(two, thread.RoleAgent, thread.Message, false, strings.Repeat("Lots of words. ", 60)+"The ｆｕｌｌwidth Café is open. "+strings.Repeat("And more of them. ", 60))
	h.append(two, thread.RoleTool, thread.Output, false, "secret output")
	other := newHarness(t)
	other.startTask("Fix the straße of another person")

	for query, want := range map[string][]string{
		"":               {"Something else", "Fix the STRASSE parser"},
		"straße":         {"Fix the STRASSE parser"},
		"parser fix":     {"Fix the STRASSE parser"},
		"LEXER looked":   {"Fix the STRASSE parser"},
		"lexer parser":   nil, // in two places
		"fullwidth café": {"Something else"},
		"output":         nil,
		"another":        nil,
		"%":              nil,
		"words":          {"Something else"},
	} {
		found, _ := h.listAll(app.ListThreads{Query: query})
		if diff := cmp.Diff(want, titlesOf(found)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
	found, _ := h.listAll(app.ListThreads{Query: "café"})
	if m := found[0]; m.Position != 1 || !strings.Contains(m.Snippet, "Café is open") || utf8.RuneCountInString(m.Snippet) > 200 {
		t.Errorf("found at %d: %q", m.Position, m.Snippet)
	}
}

// A search in a thread that is longer than one call looks at goes on where it
// stopped, within the thread, and finds the needle at its start.
func TestListThreads_SearchIsManyShortReads(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("long")
	h.append(held, thread.RoleAgent, thread.Message, false, "the needle")
	for i := range 400 {
		h.append(held, thread.RoleAgent, thread.Message, false, fmt.Sprint(i, strings.Repeat(" hay", 4000)))
	}
	h.startTask("later")
	found, pages := h.listAll(app.ListThreads{Query: "needle"})
	if pages < 3 || len(found) != 1 || found[0].Position != 1 {
		t.Errorf("%d pages, found %v", pages, titlesOf(found))
	}
	if found, _ := h.listAll(app.ListThreads{Query: "nail"}); len(found) > 0 {
		t.Errorf("found %v", titlesOf(found))
	}
}

// A token of something else is refused.
func TestListThreads_ForeignToken(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for i := range 3 {
		h.startTask(fmt.Sprint(i))
	}
	page := h.page(app.Bootstrap{Scope: changelog.AccountScope, MaxBytes: 1})
	list, err := h.app.ListThreads(t.Context(), h.phone.Principal, app.ListThreads{Size: 1})
	check(t, err)
	for name, token := range map[string][]byte{"noise": []byte("noise"), "of a bootstrap": page.Page, "cut": list.Next[:len(list.Next)-1]} {
		if _, err := h.app.ListThreads(t.Context(), h.phone.Principal, app.ListThreads{Page: token}); err != app.ErrPage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.app.Bootstrap(t.Context(), h.phone.Principal, app.Bootstrap{Scope: changelog.AccountScope, Page: list.Next}); err != app.ErrPage {
		t.Errorf("a bootstrap took a place in a list: %v", err)
	}
}

// An archived thread is out of the lists that leave it out, changes no number,
// and is back as soon as something happens in it.
func TestArchiveThread(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	h.append(held, thread.RoleAgent, thread.Message, true, "news")
	asked := h.ask(held, "open", decision.WriteReversible)
	before := h.counters()
	archive := func(away bool) {
		t.Helper()
		r, err := h.app.ArchiveThread(t.Context(), h.phone.Principal, s.Thread, away)
		check(t, err)
		if r.Thread.Archived != away || len(r.AsOf) == 0 {
			t.Errorf("archived %v: %+v", away, r.Thread)
		}
	}
	away := func() bool {
		t.Helper()
		hidden, _ := h.listAll(app.ListThreads{Archive: app.OnlyArchived})
		shown, _ := h.listAll(app.ListThreads{Archive: app.NotArchived})
		if len(hidden)+len(shown) != 1 {
			t.Fatalf("%d shown, %d archived", len(shown), len(hidden))
		}
		return len(hidden) == 1
	}
	archive(true)
	if !away() || h.counters() != before {
		t.Errorf("archived: away %v, counters %v, before %v", away(), h.counters(), before)
	}
	h.append(held, thread.RoleTool, thread.Output, false, "chatter")
	if !away() {
		t.Error("chatter brought it back")
	}
	for name, event := range map[string]func(){
		"fetched back":   func() { archive(false) },
		"a notable item": func() { h.append(held, thread.RoleAgent, thread.Message, true, "more news") },
		"a question":     func() { h.ask(held, "another", decision.WriteReversible) },
		"a message":      func() { h.say(s.Thread, "hello") },
	} {
		archive(true)
		if event(); away() {
			t.Errorf("%s did not bring it back", name)
		}
	}
	archive(true)
	h.answer(h.phone, asked, "approve")
	if !away() {
		t.Error("an answer of the person brought it back")
	}
}

// counters are what the badge is made of.
func (h *harness) counters() (c store.Counters) {
	h.t.Helper()
	h.view(h.account, func(tx *store.Read) error {
		c = tx.Counters()
		return nil
	})
	return c
}
