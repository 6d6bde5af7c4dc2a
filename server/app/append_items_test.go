package app_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// append adds items under names that are their texts.
func (h *harness) append(held app.Held, role thread.Role, kind thread.ItemKind, notable bool, texts ...string) []string {
	h.t.Helper()
	var drafts []app.ItemDraft
	for _, text := range texts {
		part := thread.Part{Text: text}
		if kind == thread.Output {
			part = thread.Part{Output: &thread.OutputPart{Stream: thread.Stdout, Data: []byte(text)}}
		}
		drafts = append(drafts, app.ItemDraft{ClientID: text, Role: role, Kind: kind, Parts: []thread.Part{part}, Notable: notable})
	}
	ids, err := h.app.AppendItems(h.t.Context(), h.agent, app.AppendItems{Held: held, Items: drafts})
	check(h.t, err)
	return ids
}

func TestAppendItems_StoresABatchOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.startTask("one")
	h.clock.Advance(3 * time.Second)
	w := h.watch(s.Thread)
	ids := h.append(held, thread.RoleAgent, thread.Message, true, "a", "b", "a")
	w.expect("a batch", effects{
		Commits: 1, Account: []string{"thread", "counters"}, Thread: []string{"item", "item"},
		Badge: store.Counters{UnreadThreads: 1},
	})
	if len(ids) != 3 || ids[0] != ids[2] || ids[0] == ids[1] {
		t.Errorf("ids %v", ids)
	}
	again := h.append(held, thread.RoleAgent, thread.Message, true, "b", "c", "a")
	if again[0] != ids[1] || again[2] != ids[0] {
		t.Error("a name was stored twice")
	}
	if e := w.look(); len(e.Thread) != 1 {
		t.Errorf("the second batch told %v", e.Thread)
	}
	// Names belong to a task.
	_, otherHeld := h.startTask("two")
	if other := h.append(otherHeld, thread.RoleAgent, thread.Message, false, "a"); other[0] == ids[0] {
		t.Error("two tasks share a name")
	}
	items, more, err := h.app.ListItems(t.Context(), h.phone.Principal, app.ListItems{Thread: s.Thread})
	check(t, err)
	var texts []string
	for i, it := range items {
		texts = append(texts, it.Text())
		if it.Position != uint64(i+1) || it.NotablePosition != uint64(i+1) {
			t.Errorf("item %d stands at %d, notable %d", i, it.Position, it.NotablePosition)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, texts); diff != "" || more {
		t.Errorf("timeline, more %v (-want +got):\n%s", more, diff)
	}
}

// happy#1259, R20 and R24: ten thousand lines push nothing, count as nothing,
// and touch the account at most once in two seconds.
func TestAppendItems_TenThousandLines(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.startTask("one")
	w := h.watch(s.Thread)
	began := h.clock.Now()
	headers := 0
	for i := range 100 {
		var lines []string
		for j := range 100 {
			lines = append(lines, fmt.Sprint(i*100+j))
		}
		h.append(held, thread.RoleTool, thread.Output, true, lines...)
		check(t, h.app.UpdateProgress(t.Context(), h.agent, app.UpdateProgress{Held: held, Progress: task.Progress{Text: fmt.Sprint(i)}}))
		e := w.look()
		if e.Outbox != nil || e.Audit != nil || e.Badge != (store.Counters{}) || len(e.Thread) != 100 {
			t.Fatalf("batch %d left behind %+v", i, e)
		}
		headers += len(e.Account)
		h.clock.Advance(100 * time.Millisecond)
	}
	if took := h.clock.Now().Sub(began); headers > 2*int(took/thread.HeaderEvery+1) || headers == 0 {
		t.Errorf("10,000 lines in %v moved %d headers", took, headers)
	}
	beat, err := h.app.Heartbeat(t.Context(), h.agent, app.Heartbeat{Held: held})
	check(t, err)
	if got := w.look().Account; len(got) == 0 {
		t.Errorf("a heartbeat until %v did not show the head", beat.Until)
	}
}

func TestListItems_Pages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprint(i))
	}
	h.append(held, thread.RoleAgent, thread.Message, false, want...)
	var got []string
	before := uint64(0)
	for {
		items, more, err := h.app.ListItems(t.Context(), h.phone.Principal, app.ListItems{Thread: s.Thread, Before: before, Size: 3})
		check(t, err)
		var page []string
		for _, it := range items {
			page = append(page, it.Text())
		}
		got = append(page, got...)
		if !more {
			break
		}
		before = items[0].Position
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// R29: a thread or task of somebody else is unknown to every reader.
func TestReads_ForeignAndUnknownAlike(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("mine")
	stranger := h.newAccount()
	loner, _ := h.newAgent(stranger, "Loner")
	foreign := h.foreignTask(stranger, loner)
	friend, _ := h.newAgent(h.account, "Friend")
	child := policy.Principal{Kind: policy.TaskToken, Agent: h.agent.Agent, Task: s.ID, Lease: held.Lease}
	other := h.createTask("other")
	theirs := h.newDevice(stranger, store.PlatformIOS)
	never := func(id string) string { return id[:len(id)-26] + "00000000000000000000000000" }
	reads := map[string]func(p policy.Principal, s task.State) error{
		"GetTask": func(p policy.Principal, s task.State) error {
			_, err := h.app.GetTask(t.Context(), p, s.ID)
			return err
		},
		"GetThread": func(p policy.Principal, s task.State) error {
			_, err := h.app.GetThread(t.Context(), p, s.Thread)
			return err
		},
		"ListItems": func(p policy.Principal, s task.State) error {
			_, _, err := h.app.ListItems(t.Context(), p, app.ListItems{Thread: s.Thread})
			return err
		},
		"MarkRead": func(p policy.Principal, s task.State) error {
			_, err := h.app.MarkRead(t.Context(), p, s.Thread, thread.ReadMark{})
			return err
		},
		"SendMessage": func(p policy.Principal, s task.State) error {
			_, err := h.app.SendMessage(t.Context(), p, app.SendMessage{Key: s.ID, Thread: s.Thread, Text: "t"})
			return err
		},
		"Bootstrap": func(p policy.Principal, s task.State) error {
			_, err := h.app.Bootstrap(t.Context(), p, app.Bootstrap{Scope: changelog.ThreadScope(s.Thread)})
			return err
		},
	}
	people := []string{"MarkRead", "SendMessage", "Bootstrap"}
	gone := task.State{ID: never(s.ID), Thread: never(s.Thread)}
	malformed := task.State{ID: "tsk", Thread: "thr"}
	for verb, call := range reads {
		for name, c := range map[string]struct {
			as policy.Principal
			s  task.State
		}{
			"person, foreign": {h.phone.Principal, foreign}, "person, never was": {h.phone.Principal, gone},
			"person, malformed": {h.phone.Principal, malformed}, "foreign person": {theirs.Principal, s},
		} {
			sameNamed(t, verb+" by "+name, call(c.as, c.s), store.ErrNotFound)
		}
		if slices.Contains(people, verb) {
			continue
		}
		for name, c := range map[string]struct {
			as policy.Principal
			s  task.State
		}{
			"agent, foreign": {h.agent, foreign}, "agent, never was": {h.agent, gone}, "agent, malformed": {h.agent, malformed},
			"another agent": {friend, s}, "foreign agent": {loner, s}, "child of another task": {child, other},
		} {
			sameNamed(t, verb+" by "+name, call(c.as, c.s), store.ErrNotFound)
		}
		for name, p := range map[string]policy.Principal{"person": h.phone.Principal, "agent": h.agent, "child": child} {
			sameNamed(t, verb+" by its "+name, call(p, s), nil)
		}
	}
}
