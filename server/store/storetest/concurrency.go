package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/store"
)

// concurrencyCases: many callers at once.
func concurrencyCases() map[string]func(*testing.T, Harness) {
	return map[string]func(*testing.T, Harness){
		"every increment counts":              increments,
		"bad commands between good ones":      badNeighbours,
		"a view is one picture":               viewIsolation,
		"no view sees half a command":         noHalves,
		"a command sees all earlier commands": seesEarlier,
	}
}

func increment(w store.Writer, key string) (int, error) {
	value, err := w.Get(alpha, []byte(key))
	if err != nil {
		return 0, err
	}
	n := 0
	if value != nil {
		if n, err = strconv.Atoi(string(value)); err != nil {
			return 0, err
		}
	}
	return n + 1, w.Put(alpha, []byte(key), strconv.AppendInt(nil, int64(n+1), 10))
}

// increments also checks the order: each command gets a number of its own.
func increments(t *testing.T, h Harness) {
	engine := start(t, h)
	const callers, each = 32, 10
	var mu sync.Mutex
	seen := make(map[int]int)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				var n int
				err := engine.Update(context.Background(), account, func(w store.Writer) (err error) {
					n, err = increment(w, "n")
					return err
				})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				seen[n]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for n := 1; n <= callers*each; n++ {
		if seen[n] != 1 {
			t.Errorf("%d callers got number %d", seen[n], n)
		}
	}
}

func badNeighbours(t *testing.T, h Harness) {
	engine := start(t, h)
	const good, each = 12, 10
	own := errors.New("own")
	ways := []func() error{
		func() error { return own },
		func() error { panic("bad neighbour") },
		func() error { runtime.Goexit(); return nil },
	}
	var wg sync.WaitGroup
	for caller := range good {
		key := fmt.Sprintf("good%02d", caller)
		wg.Go(func() {
			for range each {
				if err := engine.Update(context.Background(), account, func(w store.Writer) error {
					_, err := increment(w, key)
					_, errAll := increment(w, "all")
					return errors.Join(err, errAll)
				}); err != nil {
					t.Errorf("good command: %v", err)
				}
			}
		})
		for _, way := range ways {
			for range each {
				wg.Go(func() {
					err := engine.Update(context.Background(), account, func(w store.Writer) error {
						_, err := increment(w, key)
						return errors.Join(err, w.Delete(alpha, []byte("all")), w.Put(beta, []byte("bad"), []byte("1")), way())
					})
					if err == nil {
						t.Error("bad command succeeded")
					}
				})
			}
		}
	}
	wg.Wait()
	want := []string{fmt.Sprintf("alpha/all=%d", good*each)}
	for caller := range good {
		want = append(want, fmt.Sprintf("alpha/good%02d=%d", caller, each))
	}
	if diff := cmp.Diff(want, dump(t, engine)); diff != "" {
		t.Error(diff)
	}
}

func viewIsolation(t *testing.T, h Harness) {
	engine := start(t, h)
	put(t, engine, alpha, "a", "1", "b", "1")
	view(t, engine, func(r store.Reader) error {
		written := make(chan struct{})
		go func() {
			defer close(written)
			if err := engine.Update(context.Background(), account, func(w store.Writer) error {
				return errors.Join(w.Put(alpha, []byte("a"), []byte("2")), w.Delete(alpha, []byte("b")),
					w.Put(alpha, []byte("c"), []byte("2")), w.Put(beta, []byte("new"), []byte("2")))
			}); err != nil {
				t.Error(err)
			}
		}()
		<-written
		got, err := collect(r.Scan, alpha, nil, nil)
		if diff := cmp.Diff([]string{"a=1", "b=1"}, got); diff != "" {
			t.Errorf("the picture changed: %s", diff)
		}
		fresh, errFresh := r.Get(beta, []byte("new"))
		if fresh != nil {
			t.Errorf("a table appeared in the picture: %q", fresh)
		}
		return errors.Join(err, errFresh)
	})
	want := []string{"alpha/a=2", "alpha/c=2", "beta/new=2"}
	if diff := cmp.Diff(want, dump(t, engine)); diff != "" {
		t.Errorf("after it: %s", diff)
	}
}

func noHalves(t *testing.T, h Harness) {
	engine := start(t, h)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				err := engine.View(context.Background(), account, func(r store.Reader) error {
					one, err := r.Get(alpha, []byte("one"))
					two, errTwo := r.Get(beta, []byte("two"))
					if string(one) != string(two) {
						t.Errorf("half a command: %q and %q", one, two)
					}
					return errors.Join(err, errTwo)
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 50 {
		update(t, engine, func(w store.Writer) error {
			n := strconv.AppendInt(nil, int64(i), 10)
			return errors.Join(w.Put(alpha, []byte("one"), n), w.Put(beta, []byte("two"), n))
		})
	}
	close(done)
	wg.Wait()
}

func seesEarlier(t *testing.T, h Harness) {
	engine := start(t, h)
	var wg sync.WaitGroup
	for caller := range 8 {
		key := []byte{'k', byte('a' + caller)}
		wg.Go(func() {
			for i := range 15 {
				want := strconv.Itoa(i)
				update := func(w store.Writer) error { return w.Put(alpha, key, []byte(want)) }
				if err := engine.Update(context.Background(), account, update); err != nil {
					t.Error(err)
				}
				check := func(r store.Reader) error {
					value, err := r.Get(alpha, key)
					if string(value) != want {
						t.Errorf("acknowledged %s, then read %q", want, value)
					}
					return err
				}
				if err := engine.View(context.Background(), account, check); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
