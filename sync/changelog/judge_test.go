package changelog_test

import (
	"flag"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/changelog"
)

// The faults to be found need two restores in the right order, so the
// properties are tried more often than by default.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "2000"); err != nil {
		panic(err)
	}
	flag.Parse() // what the command line says, wins
	os.Exit(m.Run())
}

func epoch(n byte) changelog.Epoch { return changelog.Epoch{n} }

func pos(e byte, seq changelog.Seq) changelog.Position {
	return changelog.Position{Epoch: epoch(e), Seq: seq}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	// Epoch 1 wrote to 100, was restored to 40 as epoch 2, which wrote to 60 and
	// was restored to 50 as epoch 3; the scope has now 70.
	h := changelog.History{
		Epochs: []changelog.Epoch{epoch(1), epoch(2), epoch(3)}, Head: 70, Floor: 10,
		Bases: []changelog.Base{{Epoch: 0, Head: 0}, {Epoch: 1, Head: 40}, {Epoch: 2, Head: 50}},
	}
	// The same store, where epoch 3 has not written to this scope yet.
	quiet := h
	quiet.Head, quiet.Bases = 50, h.Bases[:2]
	// A scope that only epoch 3 ever wrote to.
	late := changelog.History{Epochs: h.Epochs, Head: 5, Bases: []changelog.Base{{Epoch: 2, Head: 0}}}
	// The store that was found ahead: epoch 3 cuts off what was before it.
	cut := h
	cut.Oldest = 2
	fresh := changelog.History{Epochs: []changelog.Epoch{epoch(1)}}
	for _, test := range []struct {
		name            string
		h               changelog.History
		cursor, horizon changelog.Position
		want            changelog.Reset
	}{
		{"current", h, pos(3, 60), pos(3, 65), changelog.NoReset},
		{"at the head", h, pos(3, 70), pos(3, 70), changelog.NoReset},
		{"ahead in this epoch: an unnoticed restore", h, pos(3, 60), pos(3, 71), changelog.Ahead},
		{"no horizon", h, pos(3, 60), changelog.Position{}, changelog.Malformed},
		{"horizon of another epoch", h, pos(3, 60), pos(2, 60), changelog.Malformed},
		{"horizon below the cursor", h, pos(3, 60), pos(3, 59), changelog.Malformed},
		{"unknown epoch", h, pos(9, 20), pos(9, 20), changelog.UnknownEpoch},
		{"first epoch, shared past", h, pos(1, 40), pos(1, 40), changelog.NoReset},
		{"first epoch, page ended below the base, horizon did not", h, pos(1, 40), pos(1, 41), changelog.UnknownEpoch},
		{"first epoch, below the last base, not below one before it", h, pos(1, 45), pos(1, 45), changelog.UnknownEpoch},
		{"second epoch, shared past", h, pos(2, 50), pos(2, 50), changelog.NoReset},
		{"second epoch, lost future", h, pos(2, 51), pos(2, 51), changelog.UnknownEpoch},
		{"its own base does not concern an epoch", h, pos(2, 45), pos(2, 48), changelog.NoReset},
		{"older epoch ahead of the head", h, pos(1, 80), pos(1, 80), changelog.UnknownEpoch},
		{"quiet scope, shared past", quiet, pos(2, 50), pos(2, 50), changelog.NoReset},
		{"quiet scope, lost future, known by the head alone", quiet, pos(2, 50), pos(2, 51), changelog.UnknownEpoch},
		{"late scope, a cursor from when it was empty", late, pos(1, 0), pos(1, 0), changelog.NoReset},
		{"late scope, a cursor from a lost write", late, pos(1, 0), pos(1, 1), changelog.UnknownEpoch},
		{"at the floor", h, pos(3, 10), pos(3, 20), changelog.NoReset},
		{"below the floor", h, pos(3, 9), pos(3, 20), changelog.TooOld},
		{"a lost future is told before the floor", h, pos(1, 9), pos(1, 41), changelog.UnknownEpoch},
		{"cut off, though of the shared past", cut, pos(2, 50), pos(2, 50), changelog.UnknownEpoch},
		{"cut off, from the beginning", cut, pos(1, 0), pos(1, 0), changelog.UnknownEpoch},
		{"since the cut", cut, pos(3, 60), pos(3, 65), changelog.NoReset},
		{"an empty scope", fresh, pos(1, 0), pos(1, 0), changelog.NoReset},
		{"a store without epochs", changelog.History{}, pos(1, 0), pos(1, 0), changelog.UnknownEpoch},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := changelog.Judge(test.h, test.cursor, test.horizon); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestHistory_Current(t *testing.T) {
	t.Parallel()
	if got := (changelog.History{}).Current(); got != (changelog.Epoch{}) {
		t.Errorf("a store without epochs is in %s", got)
	}
	if got := (changelog.History{Epochs: []changelog.Epoch{epoch(1), epoch(2)}}).Current(); got != epoch(2) {
		t.Errorf("current is %s", got)
	}
}

// past is a scope that remembers what every seq was, in the present history and
// in those that restores have thrown away.
type past struct {
	h    changelog.History
	log  []int // what each seq wrote; log[0] is nothing
	next int
}

func (p *past) write() {
	index := len(p.h.Epochs) - 1
	if n := len(p.h.Bases); n == 0 || p.h.Bases[n-1].Epoch < index {
		p.h.Bases = append(p.h.Bases[:n:n], changelog.Base{Epoch: index, Head: p.h.Head})
	}
	p.h.Head++
	p.next++
	p.log = append(p.log[:p.h.Head:p.h.Head], p.next)
}

// restore goes back to a backup and begins an epoch.
func (p *past) restore(b past, e byte) {
	p.h, p.log = b.h, b.log
	p.h.Epochs = append(slices.Clip(p.h.Epochs), epoch(e))
}

// notice begins an epoch on a store that was taken back without a word and
// written to since.
func (p *past) notice(e byte) {
	p.h.Epochs = append(slices.Clip(p.h.Epochs), epoch(e))
	p.h.Oldest = len(p.h.Epochs) - 1
}

// seen is a cursor with its horizon, and what its client had been told.
type seen struct {
	cursor, horizon changelog.Position
	log             []int
}

// A cursor from a lost future always resets. One whose client saw nothing
// that was lost goes on, as long as the store still knows its epoch and the
// tombstones after it.
func TestJudge_LostFutures(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &past{h: changelog.History{Epochs: []changelog.Epoch{epoch(1)}}, log: []int{0}}
		backups := []past{*p}
		var clients []seen
		epochs := byte(1)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				backups = append(backups, *p)
			case 1:
				epochs++
				p.restore(rapid.SampledFrom(backups).Draw(t, "backup"), epochs)
			case 9:
				// Back without a word, some writes, and then it is noticed.
				if rapid.IntRange(0, 3).Draw(t, "unnoticed") > 0 {
					p.write()
					continue
				}
				b := rapid.SampledFrom(backups).Draw(t, "taken back to")
				p.h, p.log = b.h, b.log
				for range rapid.IntRange(0, 5).Draw(t, "writes before it is noticed") {
					p.write()
				}
				epochs++
				p.notice(epochs)
			case 2:
				p.h.Floor = max(p.h.Floor, changelog.Seq(rapid.IntRange(0, int(p.h.Head)).Draw(t, "floor")))
			case 3, 4:
				at := changelog.Seq(rapid.IntRange(0, int(p.h.Head)).Draw(t, "cursor"))
				e := p.h.Current()
				clients = append(clients, seen{
					changelog.Position{Epoch: e, Seq: at}, changelog.Position{Epoch: e, Seq: p.h.Head}, p.log,
				})
			default:
				p.write()
			}
		}
		for _, c := range clients {
			shared := len(c.log) <= len(p.log)
			for i := 0; shared && i < len(c.log); i++ {
				shared = c.log[i] == p.log[i]
			}
			known := false
			for i, e := range p.h.Epochs {
				known = known || e == c.cursor.Epoch && i >= p.h.Oldest
			}
			want := changelog.NoReset
			switch {
			case !shared || !known:
				want = changelog.UnknownEpoch
			case c.cursor.Seq < p.h.Floor:
				want = changelog.TooOld
			}
			if got := changelog.Judge(p.h, c.cursor, c.horizon); got != want {
				t.Fatalf("cursor %v horizon %v of a client that saw %v; the store has %v, %+v: got %d, want %d",
					c.cursor, c.horizon, c.log, p.log, p.h, got, want)
			}
		}
	})
}
