package storetest

import (
	"context"
	"crypto/rand"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/store"
)

// RunStore runs every case of the typed store on an engine of its own. The
// rules are those of package store; they run over each back end because that
// is where they have to hold.
func RunStore(t *testing.T, h Harness) {
	cases := map[string]func(*testing.T, *world){}
	for _, group := range []map[string]func(*testing.T, *world){
		changeCases(), pageCases(), pointerCases(), outboxCases(), recordCases(),
	} {
		maps.Copy(cases, group)
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, newWorld(t, h))
		})
	}
}

// wall is a clock that moves when it is told to.
type wall struct {
	mu  sync.Mutex
	now time.Time
}

func (w *wall) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *wall) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// tester is a test or one try of a property.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// world is one account of a typed store.
type world struct {
	t       tester
	h       Harness
	engine  store.Engine
	store   *store.Store
	wall    *wall
	account string
}

func newWorld(t *testing.T, h Harness) *world {
	t.Helper()
	w := &world{
		t: t, h: h, engine: h.Open(t),
		wall: &wall{now: time.Date(2027, 3, 1, 9, 0, 0, 1234, time.UTC)},
	}
	t.Cleanup(func() {
		if err := w.engine.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	w.open()
	w.account = w.newAccount()
	return w
}

// open puts a typed store over the engine, as after a start.
func (w *world) open() {
	w.t.Helper()
	s, err := store.Open(context.Background(), w.engine, store.Config{Clock: w.wall.Now})
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	w.store = s
}

func (w *world) newAccount() string {
	w.t.Helper()
	key, err := store.NewAccountKey(rand.Reader)
	if err != nil {
		w.t.Fatalf("key: %v", err)
	}
	return key
}

// apart is the same store seen by one try of a property, with an account that
// nobody else has.
func (w *world) apart(t tester) *world {
	other := *w
	other.t = t
	other.account = other.newAccount()
	return &other
}

func (w *world) update(fn func(*store.Tx) error) store.Commit {
	w.t.Helper()
	c, err := w.store.Update(context.Background(), w.account, fn)
	if err != nil {
		w.t.Fatalf("update: %v", err)
	}
	return c
}

func (w *world) view(fn func(*store.Read) error) {
	w.t.Helper()
	if err := w.store.View(context.Background(), w.account, fn); err != nil {
		w.t.Fatalf("view: %v", err)
	}
}

// count is the number of this account's rows in a table.
func (w *world) count(table store.Table) int {
	w.t.Helper()
	return w.countFrom(table, w.account, w.account+"\xff")
}

// pointers counts what a lane still has to look at, of whatever account.
func (w *world) pointers(lane string) int {
	w.t.Helper()
	return w.countFrom("pointout", lane+"\x00", lane+"\x01")
}

func (w *world) countFrom(table store.Table, from, to string) int {
	w.t.Helper()
	n := 0
	err := w.engine.View(context.Background(), w.account, func(r store.Reader) error {
		n = 0
		return r.Scan(table, []byte(from), []byte(to), func(_, _ []byte) bool { n++; return true })
	})
	if err != nil {
		w.t.Fatalf("count: %v", err)
	}
	return n
}

// restore begins an epoch, as a restore from a backup does, and starts again.
func (w *world) restore(c store.NewEpoch) {
	w.t.Helper()
	before := w.store.EpochNumber()
	c.From = w.store.Epoch()
	for _, want := range []bool{true, false} { // the second is too late
		began, err := w.store.BeginEpoch(context.Background(), c)
		if err != nil || began != want {
			w.t.Fatalf("restore: began %v, %v", began, err)
		}
	}
	w.open()
	if got := w.store.EpochState(); got.Number != max(before, c.Above)+1 || got.Epoch == c.From || got.CopyTime != c.CopyTime {
		w.t.Fatalf("after epoch %d: %+v", before, got)
	}
}
