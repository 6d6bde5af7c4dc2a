package replica_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/replica"
)

// The rules here are about rare interleavings, so a run of the tests plays
// many worlds, in shares that run side by side. They are the same ones each
// time, so that a failure is about what has changed; other ones are played with
// -worlds.from, more with -worlds.
var (
	worlds    = flag.Int("worlds", 8000, "how many random worlds to play")
	fromWorld = flag.Uint64("worlds.from", 0, "number of the first random world")
)

const shares = 4

// What R25 says of resets: whatever writes, purges, restores and
// a faulty network do, the view ends equal to a fresh read.
func TestView_EqualsAFreshRead(t *testing.T) {
	t.Parallel()
	for share := range shares {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			t.Parallel()
			for n := share; n < *worlds; n += shares {
				seed := *fromWorld + uint64(n)
				code := randomProgram(rand.New(rand.NewPCG(seed, 25)))
				if run(code) != nil {
					code = shrink(code)
					t.Fatalf("world %d, shrunk to run(%#v): %v", seed, code, run(code))
				}
			}
		})
	}
}

// randomProgram draws uniformly from a few bytes that each mean another step.
// Bytes that lean towards small ones, as property testing libraries draw them,
// make worlds of many writes and few arrivals, which find almost nothing.
func randomProgram(r *rand.Rand) []byte {
	bytes := [...]byte{
		0, 1, 14, 22, 24, 26, // write, write, remove, purge, back up, restore
		28, 29, 30, 38, 39, 40, 46, // ask for pages, changes, a point
		47, 49, 50, 51, 60, 61, 62, 63, // arrive, twice, get lost; store, be killed
	}
	code := make([]byte, r.IntN(400))
	for i := range code {
		code[i] = bytes[r.IntN(len(bytes))]
	}
	return code
}

// shrink leaves out what a failing program does not need to fail.
func shrink(code []byte) []byte {
	for n := max(1, len(code)/2); n > 0; n /= 2 {
		for i := 0; i+n <= len(code); {
			if shorter := slices.Concat(code[:i], code[i+n:]); run(shorter) != nil {
				code = shorter
			} else {
				i++
			}
		}
	}
	return code
}

// The same runs, for a fuzzer to look for the ones that chance does not find.
func FuzzView_EqualsAFreshRead(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{0, 1, 0, 2, 30, 0, 50, 0, 14, 1, 40, 2, 50, 0, 30, 2, 50, 0})
	// Two pages of a bootstrap, a delete between them whose tombstone comes first.
	f.Add([]byte{0, 0, 0, 2, 30, 0, 50, 0, 30, 2, 14, 2, 40, 2, 50, 1, 50, 0})
	// A pull answered after a restore, overtaken by a page of the lost future.
	f.Add([]byte{0, 3, 0, 0, 24, 28, 0, 49, 0, 0, 3, 28, 0, 26, 38, 0, 49, 0, 49, 0})
	// A backup, a lost future, a restore.
	f.Add([]byte{0, 0, 24, 0, 2, 30, 2, 50, 0, 40, 2, 50, 0, 26, 0, 4, 40, 2, 50, 0})
	f.Fuzz(func(t *testing.T, code []byte) {
		if len(code) > 2000 {
			t.Skip("long runs find nothing that short ones do not")
		}
		if err := run(code); err != nil {
			t.Error(err)
		}
	})
}

// However a state is cut into pages, and whatever is written between them, one
// view comes out.
func FuzzView_AnySplitGivesOneView(f *testing.F) {
	f.Add([]byte{0, 2, 4, 6, 1, 3}, []byte{1, 2, 3}, []byte{16, 2, 0, 4})
	f.Add([]byte{1, 1, 1, 7, 5}, []byte{0}, []byte{9, 1, 200})
	f.Add([]byte(nil), []byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, writes, splits, between []byte) {
		srv := newServer()
		mutate(srv, &program{code: writes}, len(writes))
		split, later := &program{code: splits}, &program{code: between}
		view := replica.New()
		for {
			token, running := view.Bootstrap()
			if !running {
				break
			}
			page, ok := srv.bootstrap(token, 1+split.next(9))
			if !ok || !view.ApplyBootstrap(token, page) {
				t.Fatal("a page was refused")
			}
			mutate(srv, later, 2)
		}
		mutate(srv, later, len(later.code))
		for more := true; more; {
			cursor, horizon := view.At()
			page, reset := srv.pull(cursor, horizon, 1+split.next(9))
			if reset != changelog.NoReset || !view.ApplyChanges(cursor, horizon, page) {
				t.Fatalf("changes were refused: reset %d", reset)
			}
			if next, _ := view.At(); page.More && string(next) <= string(cursor) {
				t.Fatal("more, yet the cursor did not grow")
			}
			more = page.More
		}
		if diff := cmp.Diff(srv.live(), shown(view)); diff != "" {
			t.Errorf("view differs from a fresh read (-server +view):\n%s", diff)
		}
		whole := replica.New()
		page, _ := srv.bootstrap(nil, len(srv.rows)+1)
		whole.ApplyBootstrap(nil, page)
		if diff := cmp.Diff(whole.Snapshot().Entities, view.Snapshot().Entities); diff != "" {
			t.Errorf("one page and many differ (-one +many):\n%s", diff)
		}
	})
}

func mutate(srv *server, p *program, n int) {
	for ; n > 0 && len(p.code) > 0; n-- {
		if kill := p.next(3) == 0; kill {
			srv.remove(p.key())
		} else {
			srv.write(p.key())
		}
	}
}
