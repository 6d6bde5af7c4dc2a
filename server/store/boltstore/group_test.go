package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/server/store/storetest"
)

const rows = store.Table("rows")

func putRow(key string, value []byte) func(store.Writer) error {
	return func(w store.Writer) error { return w.Put(rows, []byte(key), value) }
}

// together lines calls up behind a command that holds the writer, in the given
// order, lets them go at once, and returns when all have. It needs a synctest
// bubble, which tells when a caller has reached the queue.
func together(t *testing.T, e store.Engine, calls ...func()) {
	t.Helper()
	var wg sync.WaitGroup
	let := make(chan struct{})
	wg.Go(func() {
		if err := e.Update(context.Background(), "", func(store.Writer) error {
			<-let
			return nil
		}); err != nil {
			t.Errorf("the holding command: %v", err)
		}
	})
	synctest.Wait()
	for _, call := range calls {
		wg.Go(call)
		synctest.Wait()
	}
	close(let)
	wg.Wait()
}

func TestGroupBounds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		calls   int
		size    int
		commits uint64
	}{
		{"queue empty", 100, 10, 1},
		{"just 256 with the holding command", 255, 10, 1},
		{"over 256 commands", 256, 10, 2},
		{"over 512 commands", 600, 10, 3},
		{"over 4 MiB", 10, 1 << 20, 3},
		{"one large command alone", 2, 5 << 20, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := open(t, t.TempDir())
				defer e.Close() //nolint:errcheck // its commits are what counts
				value := bytes.Repeat([]byte("x"), test.size)
				var calls []func()
				for i := range test.calls {
					calls = append(calls, func() {
						if err := e.Update(context.Background(), "", putRow(fmt.Sprint(i), value)); err != nil {
							t.Error(err)
						}
					})
				}
				together(t, e, calls...)
				want := boltstore.Stats{Commits: test.commits, Commands: uint64(test.calls) + 1}
				if diff := cmp.Diff(want, e.Stats()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestDroppedBytesDoNotCount: what failed commands wrote takes no room in the
// group.
func TestDroppedBytesDoNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := open(t, t.TempDir())
		defer e.Close() //nolint:errcheck // its commits are what counts
		own := errors.New("own")
		var calls []func()
		for i := range 12 {
			calls = append(calls, func() {
				err := e.Update(context.Background(), "", func(w store.Writer) error {
					return errors.Join(w.Put(rows, []byte{'k', byte(i)}, make([]byte, 1<<20)), own)
				})
				if !errors.Is(err, own) {
					t.Error(err)
				}
			}, func() {
				if err := e.Update(context.Background(), "", putRow("same", make([]byte, 1<<19))); err != nil {
					t.Error(err)
				}
			})
		}
		together(t, e, calls...)
		if got := e.Stats().Commits; got != 1 {
			t.Errorf("%d commits, want 1", got)
		}
	})
}

func TestNothingWrittenNoCommit(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir())
	defer e.Close() //nolint:errcheck // its commits are what counts
	own := errors.New("own")
	for _, want := range []error{nil, own} {
		if err := e.Update(context.Background(), "", func(w store.Writer) error {
			if want != nil {
				return errors.Join(w.Put(rows, []byte("k"), []byte("v")), want)
			}
			return nil
		}); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if got := e.Stats(); got.Commits != 0 {
		t.Errorf("%d commits of nothing", got.Commits)
	}
}

// TestRefusalWaitsForCommit: a command that refuses because of a neighbour's
// change may not say so before that change is durable.
func TestRefusalWaitsForCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := open(t, t.TempDir())
		defer e.Close() //nolint:errcheck // irrelevant here
		var refused atomic.Bool
		taken := errors.New("taken")
		update := func(fn func(store.Writer) error, want error) func() {
			return func() {
				if err := e.Update(context.Background(), "", fn); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
		}
		refuse := update(func(w store.Writer) error {
			value, err := w.Get(rows, []byte("k"))
			if string(value) == "neighbour" {
				return taken
			}
			return err
		}, taken)
		together(t, e,
			update(putRow("k", []byte("neighbour")), nil),
			func() { refuse(); refused.Store(true) },
			update(func(store.Writer) error {
				synctest.Wait() // until every caller that was told something has run on
				if refused.Load() {
					t.Error("the refusal came before the commit it rests on")
				}
				return nil
			}, nil))
		if !refused.Load() {
			t.Error("the refusal never came")
		}
		if got := e.Stats().Commits; got != 1 {
			t.Errorf("%d commits, want 1", got)
		}
	})
}

// TestGroupsSameAsMemory is the differential run with several commands in each
// commit, failing and panicking ones among them: groups must answer as the same
// commands do one by one.
func TestGroupsSameAsMemory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, memory := open(t, t.TempDir()), memstore.New()
				defer e.Close() //nolint:errcheck // only answers count
				source := storetest.NewSource(seed)
				for range 40 {
					compareGroup(t, source, e, memory)
				}
			})
		})
	}
}

func compareGroup(t *testing.T, source *storetest.Source, e *boltstore.Engine, memory store.Engine) {
	t.Helper()
	const size = 12
	var want, got [size][]string
	var calls []func()
	for i := range size {
		command := source.Next()
		for command.ReadOnly() { // a view does not join a group
			command = source.Next()
		}
		want[i] = command.Run(t, memory)
		calls = append(calls, func() { got[i] = command.Run(t, e) })
	}
	before := e.Stats().Commits
	together(t, e, calls...)
	if n := e.Stats().Commits - before; n > 1 {
		t.Fatalf("%d commits for one group", n)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}
