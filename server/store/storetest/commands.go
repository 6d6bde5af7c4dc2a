package storetest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/store"
)

// commandCases: what one command may do and what is left when it fails.
func commandCases() map[string]func(*testing.T, Harness) {
	return map[string]func(*testing.T, Harness){
		"a command applies as a whole":      appliesWhole,
		"a failing command leaves nothing":  failureLeavesNothing,
		"a panic becomes an error":          panicIsError,
		"a command that ends its goroutine": goexitIsNoDeath,
		"empty and oversized are refused":   refusals,
		"slices stay the caller's":          putCopies,
		"a command may run again":           rerun,
		"a view panic leaves the engine":    viewPanic,
	}
}

func appliesWhole(t *testing.T, h Harness) {
	engine := start(t, h)
	put(t, engine, alpha, "gone", "1", "kept", "1")
	update(t, engine, func(w store.Writer) error {
		return errors.Join(
			w.Put(alpha, []byte("new"), []byte("2")),
			w.Put(beta, []byte("new"), []byte("3")),
			w.Delete(alpha, []byte("gone")),
			w.Delete(beta, []byte("never there")),
		)
	})
	want := []string{"alpha/kept=1", "alpha/new=2", "beta/new=3"}
	if diff := cmp.Diff(want, dump(t, engine)); diff != "" {
		t.Error(diff)
	}
}

// spoil writes over everything the cases below have stored.
func spoil(w store.Writer) error {
	return errors.Join(
		w.Put(alpha, []byte("kept"), []byte("spoilt")),
		w.Put(alpha, []byte("kept"), []byte("spoilt twice")),
		w.Put(alpha, []byte("extra"), []byte("spoilt")),
		w.Delete(alpha, []byte("extra")),
		w.Delete(alpha, []byte("other")),
		w.Put(beta, []byte("extra"), []byte("spoilt")),
	)
}

func expectUnspoilt(t *testing.T, engine store.Engine) {
	t.Helper()
	if diff := cmp.Diff([]string{"alpha/kept=1", "alpha/other=2"}, dump(t, engine)); diff != "" {
		t.Error(diff)
	}
	update(t, engine, func(w store.Writer) error {
		if value, err := w.Get(alpha, []byte("kept")); err != nil || string(value) != "1" {
			t.Errorf("the next command reads %q, %v", value, err)
		}
		return nil
	})
}

func failureLeavesNothing(t *testing.T, h Harness) {
	engine := start(t, h)
	put(t, engine, alpha, "kept", "1", "other", "2")
	own := errors.New("own")
	err := engine.Update(context.Background(), account, func(w store.Writer) error {
		return errors.Join(spoil(w), own)
	})
	if !errors.Is(err, own) {
		t.Errorf("got %v, want the command's own error", err)
	}
	if err := engine.Update(context.Background(), account, func(store.Writer) error { return own }); err != own {
		t.Errorf("got %v, want the very same error", err)
	}
	expectUnspoilt(t, engine)
}

func dereference(p *int) int { return *p }

func panicIsError(t *testing.T, h Harness) {
	engine := start(t, h)
	put(t, engine, alpha, "kept", "1", "other", "2")
	panics := map[string]func(w store.Writer){
		"value":       func(store.Writer) { panic("a value") },
		"store error": func(store.Writer) { panic(store.ErrNotFound) },
		"fault":       func(store.Writer) { _ = dereference(nil) },
		"in a scan": func(w store.Writer) {
			_ = w.Scan(alpha, nil, nil, func(_, _ []byte) bool { panic("while walking") })
		},
	}
	for name, fall := range panics {
		err := engine.Update(context.Background(), account, func(w store.Writer) error {
			if err := spoil(w); err != nil {
				return err
			}
			fall(w)
			return nil
		})
		if err == nil || errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: got %v, want an error of its own kind", name, err)
		}
	}
	expectUnspoilt(t, engine)
}

func goexitIsNoDeath(t *testing.T, h Harness) {
	engine := start(t, h)
	put(t, engine, alpha, "kept", "1", "other", "2")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = engine.Update(context.Background(), account, func(w store.Writer) error {
			defer runtime.Goexit()
			return spoil(w)
		})
	}()
	<-ended
	expectUnspoilt(t, engine)
}

func refusals(t *testing.T, h Harness) {
	engine := start(t, h)
	key, value := []byte("k"), []byte("v")
	tests := map[string]func(w store.Writer) error{
		"nil value":    func(w store.Writer) error { return w.Put(alpha, key, nil) },
		"empty value":  func(w store.Writer) error { return w.Put(alpha, key, []byte{}) },
		"nil key":      func(w store.Writer) error { return w.Put(alpha, nil, value) },
		"empty key":    func(w store.Writer) error { return w.Put(alpha, []byte{}, value) },
		"long key":     func(w store.Writer) error { return w.Put(alpha, make([]byte, 33<<10), value) },
		"no table":     func(w store.Writer) error { return w.Put("", key, value) },
		"delete empty": func(w store.Writer) error { return w.Delete(alpha, nil) },
	}
	for name, write := range tests {
		update(t, engine, func(w store.Writer) error {
			if write(w) == nil {
				t.Errorf("%s: accepted", name)
			}
			return nil
		})
	}
	if got := dump(t, engine); len(got) != 0 {
		t.Errorf("refused writes left %q", got)
	}
}

func putCopies(t *testing.T, h Harness) {
	engine := start(t, h)
	put(t, engine, alpha, "gone", "1")
	update(t, engine, func(w store.Writer) error {
		key, value, gone := []byte("key"), []byte("value"), []byte("gone")
		err := errors.Join(w.Put(alpha, key, value), w.Delete(alpha, gone))
		key[0], value[0], gone[0] = 'X', 'X', 'X'
		return err
	})
	if diff := cmp.Diff([]string{"alpha/key=value"}, dump(t, engine)); diff != "" {
		t.Error(diff)
	}
}

// rerun holds for engines that run a command more than once as well as for
// those that never do: the last run counts, once.
func rerun(t *testing.T, h Harness) {
	engine := start(t, h)
	put(t, engine, alpha, "n", "x")
	for range 20 {
		var seen []byte
		update(t, engine, func(w store.Writer) error {
			value, err := w.Get(alpha, []byte("n"))
			if err != nil {
				return err
			}
			seen = append(bytes.Clone(value), 'x')
			return w.Put(alpha, []byte("n"), seen)
		})
		view(t, engine, func(r store.Reader) error {
			value, err := r.Get(alpha, []byte("n"))
			if !bytes.Equal(value, seen) {
				t.Errorf("stored %q, the command returned %q", value, seen)
			}
			return err
		})
	}
}

func viewPanic(t *testing.T, h Harness) {
	engine := start(t, h)
	func() {
		defer func() { _ = recover() }()
		_ = engine.View(context.Background(), account, func(store.Reader) error { panic("reader") })
	}()
	put(t, engine, alpha, "k", "v")
	own := errors.New("own")
	if err := engine.View(context.Background(), account, func(store.Reader) error { return own }); err != own {
		t.Errorf("view returns %v, want the very same error", err)
	}
}
