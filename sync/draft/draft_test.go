package draft_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/draft"
)

var (
	now   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	epoch = changelog.Epoch{1}
	lost  = changelog.Epoch{2}
)

// on is a text that builds on a rev of an epoch.
func on(e changelog.Epoch, rev uint64, device, words string) draft.Write {
	return draft.Write{Text: draft.Text{Base: draft.Base{Epoch: e, Rev: rev}, Installation: device, Words: words}}
}

func naming(w draft.Write, revs ...uint64) draft.Write {
	w.Merged = revs
	return w
}

// words are the texts of a draft as "rev device words".
func words(s draft.State) []string {
	out := []string{}
	for _, t := range s.Texts {
		out = append(out, fmt.Sprintf("%d %s %s", t.Rev, t.Installation, t.Words))
	}
	return out
}

// Every row of the package doc.
func TestApply(t *testing.T) {
	t.Parallel()
	first := draft.Base{}
	two := draft.State{Rev: 3, Texts: []draft.Text{
		{Rev: 1, Base: first, Installation: "phone", Words: "on the phone"},
		{Rev: 3, Base: draft.Base{Epoch: epoch, Rev: 9}, Installation: "desk", Words: "at the desk"},
	}}
	full := draft.State{Rev: 4, Texts: []draft.Text{
		{Rev: 1, Installation: "a", Words: "1"}, {Rev: 4, Installation: "d", Words: "4"},
		{Rev: 3, Installation: "c", Words: "3"}, {Rev: 2, Installation: "b", Words: "2"},
	}}
	for _, test := range []struct {
		name     string
		before   draft.State
		write    draft.Write
		want     []string
		rev      uint64
		diverged bool
		err      error
	}{
		{"the first", draft.State{}, on(epoch, 0, "phone", "hello"), []string{"1 phone hello"}, 1, false, nil},
		{"the first since one was cleared", draft.State{Rev: 7}, on(epoch, 7, "phone", "hello"), []string{"8 phone hello"}, 8, false, nil},
		{"on the own text", two, on(epoch, 1, "desk", "taken up"), []string{"4 desk taken up", "3 desk at the desk"}, 4, false, nil},
		{"on a sibling", two, on(epoch, 3, "phone", "taken up"), []string{"1 phone on the phone", "4 phone taken up"}, 4, false, nil},
		{"after a lost answer", two, on(changelog.Epoch{}, 0, "phone", "on the phone, more"), []string{"4 phone on the phone, more", "3 desk at the desk"}, 4, false, nil},
		{"a sibling after a lost answer", two, on(epoch, 9, "desk", "more"), []string{"1 phone on the phone", "4 desk more"}, 4, false, nil},
		{"without knowing", two, on(epoch, 0, "pad", "on the pad"), []string{"1 phone on the phone", "4 pad on the pad", "3 desk at the desk"}, 4, true, nil},
		{"a rev of a lost future", two, on(lost, 1, "phone", "older"), []string{"1 phone on the phone", "4 phone older", "3 desk at the desk"}, 4, true, nil},
		{"what is there already", two, on(lost, 1, "phone", "at the desk"), words(two), 3, false, nil},
		{"no room", full, on(epoch, 0, "e", "5"), words(full), 4, false, draft.ErrFull},
		{"no room, but on one of them", full, on(epoch, 2, "e", "5"), []string{"1 a 1", "4 d 4", "3 c 3", "5 e 5"}, 5, false, nil},
		{"no room, but one is taken up", full, naming(on(epoch, 0, "e", "5"), 3), []string{"1 a 1", "5 e 5", "4 d 4", "2 b 2"}, 5, true, nil},
		{"takes a sibling up", two, naming(on(epoch, 1, "phone", "both"), 3), []string{"4 phone both"}, 4, false, nil},
		{"takes up what it has not seen", two, naming(on(lost, 1, "phone", "both"), 3), []string{"1 phone on the phone", "4 phone both", "3 desk at the desk"}, 4, true, nil},
		{"empty", two, on(epoch, 1, "phone", ""), []string{"3 desk at the desk"}, 3, false, nil},
		{"empty of another's", two, on(epoch, 1, "desk", ""), words(two), 3, false, nil},
		{"empty of what was written since", two, on(epoch, 2, "phone", ""), words(two), 3, false, nil},
		{"empty and gives up", two, naming(on(epoch, 1, "phone", ""), 1, 3), []string{}, 3, false, nil},
		{"too long", two, on(epoch, 1, "phone", strings.Repeat("x", draft.MaxWords+1)), words(two), 3, false, draft.ErrLarge},
		{"too much chosen", two, draft.Write{Text: draft.Text{Items: []decision.AnswerItem{{Content: make([]byte, draft.MaxItems+1)}}}}, words(two), 3, false, draft.ErrLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			was := words(test.before)
			got, diverged, err := draft.Apply(test.before, test.write, epoch, now)
			if diff := cmp.Diff(test.want, words(got)); diff != "" {
				t.Errorf("texts (-want +got):\n%s", diff)
			}
			if got.Rev != test.rev || diverged != test.diverged || !errors.Is(err, test.err) {
				t.Errorf("rev %d, diverged %t, %v; want %d, %t, %v", got.Rev, diverged, err, test.rev, test.diverged, test.err)
			}
			if diff := cmp.Diff(was, words(test.before)); diff != "" {
				t.Errorf("the draft before was changed:\n%s", diff)
			}
		})
	}
}

func TestConsume(t *testing.T) {
	t.Parallel()
	s := draft.State{Rev: 2, Texts: []draft.Text{{Rev: 2, Installation: "phone", Words: "b"}, {Rev: 1, Installation: "desk", Words: "a"}}}
	for name, test := range map[string]struct {
		sent draft.Base
		want []string
	}{
		"the own text":   {draft.Base{Epoch: epoch, Rev: 2}, []string{"1 desk a"}},
		"a sibling":      {draft.Base{Epoch: epoch, Rev: 1}, []string{"2 phone b"}},
		"written since":  {draft.Base{Epoch: epoch, Rev: 3}, words(s)},
		"another future": {draft.Base{Epoch: lost, Rev: 2}, words(s)},
	} {
		if diff := cmp.Diff(test.want, words(draft.Consume(s, test.sent, epoch))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]string{"1 desk a"}, words(draft.Answered(s, "phone"))); diff != "" {
		t.Errorf("answered (-want +got):\n%s", diff)
	}
}

// writer is one device with a composer: what it holds, what that was built on,
// and the last draft it has seen.
type writer struct {
	name    string
	base    draft.Base
	text    string
	seen    draft.State
	offline bool
	// unknown: the answer to its last write was lost. Until it knows, it keeps
	// its composer, or its next write might pass for that one.
	unknown bool
	queue   []draft.Write
}

// Two or three devices write, offline in turn, lose answers, and come back after
// a restore. Whatever a person has typed and not taken back can be read in the
// draft or on the device that holds it.
func TestApply_NoTextOutOfReach(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := changelog.Epoch{1}
		var server, backup draft.State
		devices := make([]*writer, rapid.IntRange(2, 3).Draw(t, "devices"))
		for i := range devices {
			devices[i] = &writer{name: string(rune('a' + i))}
		}
		n := 0
		typed := map[string]bool{} // words that nobody has taken back
		send := func(d *writer) {
			for _, w := range d.queue {
				next, _, err := draft.Apply(server, w, e, now)
				if err != nil {
					return // the text stays on the device
				}
				server = next
				if d.unknown = rapid.IntRange(0, 3).Draw(t, "lost") == 0; d.unknown {
					continue
				}
				d.seen = server
				for _, x := range server.Texts {
					if x.Installation == d.name && x.Words == w.Text.Words && w.Text.Words == d.text {
						d.base = draft.Base{Epoch: e, Rev: x.Rev}
					}
				}
			}
			d.queue = nil
		}
		reachable := func() string {
			var all strings.Builder
			for _, x := range server.Texts {
				all.WriteString(x.Words + "|")
			}
			for _, d := range devices {
				all.WriteString(d.text + "|")
				for _, w := range d.queue {
					all.WriteString(w.Text.Words + "|")
				}
			}
			return all.String()
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			d := devices[rapid.IntRange(0, len(devices)-1).Draw(t, "device")]
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				d.offline = !d.offline
			case 1, 2: // types on
				n++
				word := fmt.Sprintf("<%d>", n)
				typed[word] = true
				d.text += word
				d.queue = append(d.queue, draft.Write{Text: draft.Text{Base: d.base, Installation: d.name, Words: d.text}})
			case 3: // takes up a text that it has seen, in an empty composer
				if len(d.seen.Texts) == 0 || len(d.queue) > 0 || d.unknown || d.text != "" && !strings.Contains(stored(server), d.text) {
					continue
				}
				x := d.seen.Texts[rapid.IntRange(0, len(d.seen.Texts)-1).Draw(t, "text")]
				d.text, d.base = x.Words, draft.Base{Epoch: e, Rev: x.Rev}
			case 4: // merges what it has seen behind its own
				w := draft.Write{Text: draft.Text{Base: d.base, Installation: d.name}}
				if w.Text.Base.Epoch != e || len(d.queue) > 0 {
					continue
				}
				for _, x := range d.seen.Texts {
					if !strings.Contains(d.text, x.Words) {
						d.text += x.Words
					}
					w.Merged = append(w.Merged, x.Rev)
				}
				w.Text.Words = d.text
				if d.text != "" {
					d.queue = append(d.queue, w)
				}
			case 5:
				if rapid.IntRange(0, 1).Draw(t, "backup") == 0 {
					backup = server
				}
			case 6: // the server is taken back; devices say again what they hold
				if rapid.IntRange(0, 2).Draw(t, "restore") > 0 {
					continue
				}
				for word := range typed {
					held := false
					for _, o := range devices {
						held = held || strings.Contains(o.text, word)
					}
					if !held && !strings.Contains(stored(backup), word) {
						delete(typed, word) // gone with the disk
					}
				}
				server, e[0] = backup, e[0]+2
				for _, o := range devices {
					o.seen = draft.State{}
					o.queue = nil
					if o.text != "" {
						o.queue = []draft.Write{{Text: draft.Text{Base: o.base, Installation: o.name, Words: o.text}}}
					}
				}
			}
			if !d.offline {
				send(d)
			}
			all := reachable()
			for word := range typed {
				if !strings.Contains(all, word) {
					t.Fatalf("%s is out of reach; the draft has %q", word, words(server))
				}
			}
		}
		for _, d := range devices {
			send(d)
		}
		for word := range typed {
			if !strings.Contains(reachable(), word) {
				t.Fatalf("%s is out of reach at the end; the draft has %q", word, words(server))
			}
		}
	})
}

func stored(s draft.State) string { return strings.Join(words(s), "|") }
