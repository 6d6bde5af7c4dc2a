package replica_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/replica"
)

// The rules here are about rare interleavings, so a run of the tests plays
// many worlds, in shares that run side by side.
const (
	shares        = 4
	worldsOfShare = 2600
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", fmt.Sprint(worldsOfShare)); err != nil {
		panic(err)
	}
	if err := flag.Set("rapid.shrinktime", "5s"); err != nil {
		panic(err)
	}
	flag.Parse() // what the command line says, wins
	os.Exit(m.Run())
}

// SY2–SY6, and what R25 says of resets: whatever writes, purges, restores and
// a faulty network do, the view ends equal to a fresh read.
func TestView_EqualsAFreshRead(t *testing.T) {
	t.Parallel()
	for share := range shares {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				steps := rapid.IntRange(0, 300).Draw(t, "steps")
				code := rapid.SliceOfN(rapid.Byte(), steps, steps).Draw(t, "program")
				if err := run(code); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// The same runs, for a fuzzer to look for the ones that chance does not find.
func FuzzView_EqualsAFreshRead(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{0, 1, 0, 2, 30, 0, 50, 0, 14, 1, 40, 2, 50, 0, 30, 2, 50, 0})
	// Two pages of a bootstrap, a delete between them whose tombstone comes first.
	f.Add([]byte{0, 0, 0, 2, 30, 0, 50, 0, 30, 2, 14, 2, 40, 2, 50, 1, 50, 0})
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
				t.Fatal("more, yet the cursor did not grow") // SY3
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
