package thread_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/thread"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func text(role thread.Role, kind thread.ItemKind, notable bool, s string) thread.Item {
	return thread.Item{ID: "itm", Task: "tsk", Role: role, Kind: kind, Notable: notable, Parts: []thread.Part{{Text: s}}}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	before := thread.State{ID: "thr", Head: 7, NotableHead: 2, Preview: "before"}
	output := thread.Item{Role: thread.RoleTool, Kind: thread.Output, Notable: true, Parts: []thread.Part{{Output: &thread.OutputPart{Data: []byte("x")}}, {Text: "said"}}}
	for _, test := range []struct {
		name            string
		item            thread.Item
		notablePosition uint64
		preview         string
	}{
		{"an agent's message", text(thread.RoleAgent, thread.Message, true, "hello"), 3, "hello"},
		{"chatter", text(thread.RoleAgent, thread.Message, false, "step 1"), 0, "step 1"},
		{"a person's message is read already", text(thread.RolePerson, thread.Message, true, "go on"), 0, "go on"},
		{"output is never notable and no preview", output, 0, "before"},
		{"a failure of the server's", text(thread.RoleServer, thread.Failure, true, "lost"), 3, "lost"},
		{"nothing to read", thread.Item{Role: thread.RoleAgent, Kind: thread.Message, Notable: true}, 3, "before"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, it := thread.Append(before, test.item, now)
			wantItem, want := test.item, before
			wantItem.Thread, wantItem.Position, wantItem.CreateTime = "thr", 8, now
			wantItem.Notable, wantItem.NotablePosition = test.notablePosition > 0, test.notablePosition
			want.Head, want.NotableHead, want.Preview, want.UpdateTime = 8, max(2, test.notablePosition), test.preview, now
			if diff := cmp.Diff(wantItem, it); diff != "" {
				t.Errorf("item (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, s); diff != "" {
				t.Errorf("thread (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppend_Preview(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"on one line", "two\n\n  lines\t", "two lines"},
		{"as long as may be", strings.Repeat("é", thread.PreviewRunes), strings.Repeat("é", thread.PreviewRunes)},
		{"cut between characters", strings.Repeat("é", thread.PreviewRunes+1), strings.Repeat("é", thread.PreviewRunes-1) + "…"},
	} {
		s, _ := thread.Append(thread.State{}, text(thread.RoleAgent, thread.Message, false, test.text), now)
		if diff := cmp.Diff(test.want, s.Preview); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// R8, every row of the package doc: who reads a message.
func TestRoute(t *testing.T) {
	t.Parallel()
	reads, deaf := thread.Live{Task: "reads", Agent: "agt"}, thread.Live{Task: "deaf", Agent: "agt", NoMessages: true}
	start := func(live ...thread.Live) thread.State {
		s := thread.State{ID: "thr"}
		for _, l := range live {
			s = thread.TaskStarted(s, l, now)
		}
		return s
	}
	for _, test := range []struct {
		name   string
		state  thread.State
		usable bool
		want   string
		err    error
	}{
		{"nobody was ever there", start(), true, "", thread.ErrNoAgent},
		{"none live, agent usable", thread.TaskEnded(start(reads), "reads", now), true, "", nil},
		{"none live, agent revoked", thread.TaskEnded(start(reads), "reads", now), false, "", thread.ErrNoAgent},
		{"none live, agent reads no messages", thread.TaskEnded(start(deaf), "deaf", now), true, "", thread.ErrNoAgent},
		{"live and reads", start(reads), true, "reads", nil},
		{"live and reads none", start(deaf), true, "", thread.ErrNoAgent},
		{"the newest counts, and reads none", start(reads, deaf), true, "", thread.ErrNoAgent},
		{"the newest counts, and reads", start(deaf, reads), true, "reads", nil},
		{"the newest ended, the one before reads", thread.TaskEnded(start(reads, deaf), "deaf", now), true, "reads", nil},
		{"an older one ended", thread.TaskEnded(start(deaf, reads), "deaf", now), true, "reads", nil},
		{"another ended", thread.TaskEnded(start(reads), "stranger", now), true, "reads", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := thread.Route(test.state, test.usable)
			if got != test.want || !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Errorf("to %q, %v; want %q, %v", got, err, test.want, test.err)
			}
		})
	}
}

// States are values: what was kept from before a change is not touched by it.
func TestTasks_LeaveTheStateBeforeAlone(t *testing.T) {
	t.Parallel()
	s := thread.TaskStarted(thread.State{}, thread.Live{Task: "a", Agent: "agt"}, now)
	s = thread.TaskStarted(s, thread.Live{Task: "b", Agent: "agt2", NoMessages: true}, now)
	kept, was := s, slices.Clone(s.Live)
	thread.TaskEnded(s, "a", now)
	thread.TaskStarted(s, thread.Live{Task: "c"}, now)
	if diff := cmp.Diff(was, kept.Live); diff != "" {
		t.Errorf("live tasks (-before +after):\n%s", diff)
	}
	if s.Agent != "agt2" || !s.NoMessages || s.LastTask != "b" || !s.UpdateTime.Equal(now) {
		t.Errorf("the newest task is not that of the thread: %+v", s)
	}
}

func TestMarkRead(t *testing.T) {
	t.Parallel()
	at := thread.State{NotableHead: 5, Read: thread.ReadMark{Generation: 1, Position: 3}}
	for _, test := range []struct {
		name   string
		mark   thread.ReadMark
		want   thread.ReadMark
		unread uint64
	}{
		{"further", thread.ReadMark{Generation: 1, Position: 4}, thread.ReadMark{Generation: 1, Position: 4}, 1},
		{"not so far", thread.ReadMark{Generation: 1, Position: 2}, thread.ReadMark{Generation: 1, Position: 3}, 2},
		{"an older generation", thread.ReadMark{Generation: 0, Position: 5}, thread.ReadMark{Generation: 1, Position: 3}, 2},
		{"unread again", thread.ReadMark{Generation: 2, Position: 1}, thread.ReadMark{Generation: 2, Position: 1}, 4},
		{"beyond the head is cut", thread.ReadMark{Generation: 1, Position: 9}, thread.ReadMark{Generation: 1, Position: 5}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := thread.MarkRead(at, test.mark)
			if s.Read != test.want || s.Unread() != test.unread {
				t.Errorf("read %v, %d unread; want %v, %d", s.Read, s.Unread(), test.want, test.unread)
			}
		})
	}
	if n := (thread.State{NotableHead: 1, Read: thread.ReadMark{Position: 3}}).Unread(); n != 0 {
		t.Errorf("a mark beyond the head leaves %d unread", n)
	}
}

// Marks of several devices may come in any order and more than once.
func TestMarkRead_AnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		marks := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) thread.ReadMark {
			return thread.ReadMark{Generation: rapid.Uint64Range(0, 3).Draw(t, "generation"), Position: rapid.Uint64Range(0, 12).Draw(t, "position")}
		}), 1, 8).Draw(t, "marks")
		fold := func(marks []thread.ReadMark) thread.ReadMark {
			s := thread.State{NotableHead: 10}
			for _, m := range marks {
				s = thread.MarkRead(s, m)
			}
			return s.Read
		}
		other := append(rapid.Permutation(marks).Draw(t, "other order"), marks[0])
		if a, b := fold(marks), fold(other); a != b {
			t.Fatalf("%v gives %v, %v gives %v", marks, a, other, b)
		}
	})
}

// Positions are dense and unread is what a person did not see, whatever comes.
func TestAppend_Counts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, notable, read := thread.State{ID: "thr"}, uint64(0), uint64(0)
		for i := range rapid.IntRange(0, 30).Draw(t, "items") {
			it := text(
				thread.Role(rapid.IntRange(1, 4).Draw(t, "role")), thread.ItemKind(rapid.IntRange(1, 5).Draw(t, "kind")),
				rapid.Bool().Draw(t, "notable"), fmt.Sprint(i))
			counts := it.Notable && it.Role != thread.RolePerson && it.Kind != thread.Output
			s, it = thread.Append(s, it, now)
			if counts {
				notable++
			}
			if it.Position != uint64(i+1) || it.Notable != counts || counts && it.NotablePosition != notable {
				t.Fatalf("item %d stands at %d, notable %v at %d of %d", i, it.Position, it.Notable, it.NotablePosition, notable)
			}
			if rapid.IntRange(0, 4).Draw(t, "reads") == 0 {
				read = notable
				s = thread.MarkRead(s, thread.ReadMark{Position: read})
			}
			if s.Unread() != notable-read {
				t.Fatalf("%d unread, want %d", s.Unread(), notable-read)
			}
		}
	})
}

func TestShowHead(t *testing.T) {
	t.Parallel()
	s := thread.State{HeaderTime: now}
	for _, test := range []struct {
		worth bool
		after time.Duration
		want  bool
	}{{true, 0, true}, {false, 0, false}, {false, thread.HeaderEvery - 1, false}, {false, thread.HeaderEvery, true}} {
		if got := thread.ShowHead(s, test.worth, now.Add(test.after)); got != test.want {
			t.Errorf("worth %v after %v: %v", test.worth, test.after, got)
		}
	}
	if !thread.ShowHead(thread.State{}, false, now) {
		t.Error("a head that was never shown is not")
	}
}

// What is worth the person's attention, or the person's own, brings an archived
// thread back; chatter, reading and the end of work do not.
func TestArchive_WhatBringsItBack(t *testing.T) {
	t.Parallel()
	now := time.Unix(100, 0)
	appended := func(it thread.Item) func(thread.State) thread.State {
		return func(s thread.State) thread.State {
			s, _ = thread.Append(s, it, now)
			return s
		}
	}
	for name, c := range map[string]struct {
		do   func(thread.State) thread.State
		away bool
	}{
		"a notable item":     {appended(thread.Item{Role: thread.RoleAgent, Kind: thread.Message, Notable: true}), false},
		"the person's words": {appended(thread.Item{Role: thread.RolePerson, Kind: thread.Message}), false},
		"chatter":            {appended(thread.Item{Role: thread.RoleAgent, Kind: thread.Message}), true},
		"notable output":     {appended(thread.Item{Role: thread.RoleTool, Kind: thread.Output, Notable: true}), true},
		"a question":         {func(s thread.State) thread.State { return thread.Asked(s, now) }, false},
		"a new task":         {func(s thread.State) thread.State { return thread.TaskStarted(s, thread.Live{Task: "t"}, now) }, false},
		"the end of a task":  {func(s thread.State) thread.State { return thread.TaskEnded(s, "t", now) }, true},
		"reading":            {func(s thread.State) thread.State { return thread.MarkRead(s, thread.ReadMark{Generation: 1}) }, true},
		"fetching it back":   {func(s thread.State) thread.State { return thread.Archive(s, false) }, false},
	} {
		if got := c.do(thread.Archive(thread.State{NotableHead: 3}, true)); got.Archived != c.away {
			t.Errorf("%s: archived %v", name, got.Archived)
		}
	}
}
