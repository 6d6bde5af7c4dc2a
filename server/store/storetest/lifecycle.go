package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/store"
)

// lifecycleCases: contexts, closing and opening again.
func lifecycleCases() map[string]func(*testing.T, Harness) {
	return map[string]func(*testing.T, Harness){
		"an ended context starts nothing":        endedContext,
		"a waiting command can be withdrawn":     withdrawn,
		"a command taken up is waited for":       takenUp,
		"closed refuses":                         closedRefuses,
		"close under load tells the truth":       closeUnderLoad,
		"reopening keeps what was acknowledged":  reopenKeeps,
		"reopening forgets what was not written": reopenForgets,
	}
}

func endedContext(t *testing.T, h Harness) {
	engine := start(t, h)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancelLate := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancelLate()
	for want, ctx := range map[error]context.Context{context.Canceled: canceled, context.DeadlineExceeded: late} {
		err := engine.Update(ctx, account, func(w store.Writer) error {
			t.Error("the command ran")
			return w.Put(alpha, []byte("k"), []byte("v"))
		})
		if !errors.Is(err, want) {
			t.Errorf("update: got %v, want %v", err, want)
		}
		err = engine.View(ctx, account, func(store.Reader) error { t.Error("the view ran"); return nil })
		if !errors.Is(err, want) {
			t.Errorf("view: got %v, want %v", err, want)
		}
	}
}

// occupy runs a command that keeps the engine busy until release is called.
func occupy(t *testing.T, engine store.Engine) (release func()) {
	t.Helper()
	running, let, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once sync.Once
	go func() {
		defer close(ended)
		if err := engine.Update(context.Background(), account, func(w store.Writer) error {
			once.Do(func() { close(running) })
			<-let
			return w.Put(alpha, []byte("occupied"), []byte("1"))
		}); err != nil {
			t.Error(err)
		}
	}()
	<-running
	return func() { close(let); <-ended }
}

// watched is a context that tells when somebody waits for its end.
type watched struct {
	context.Context
	once   sync.Once
	waited chan struct{}
}

func (c *watched) Done() <-chan struct{} {
	c.once.Do(func() { close(c.waited) })
	return c.Context.Done()
}

func withdrawn(t *testing.T, h Harness) {
	engine := start(t, h)
	release := occupy(t, engine)
	inner, cancel := context.WithCancel(context.Background())
	ctx := &watched{Context: inner, waited: make(chan struct{})}
	result := make(chan error)
	go func() {
		result <- engine.Update(ctx, account, func(w store.Writer) error {
			return w.Put(alpha, []byte("withdrawn"), []byte("1"))
		})
	}()
	<-ctx.waited
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) { // while the engine is busy
		t.Errorf("got %v, want canceled", err)
	}
	release()
	put(t, engine, alpha, "after", "1")
	want := []string{"alpha/after=1", "alpha/occupied=1"}
	if diff := cmp.Diff(want, dump(t, engine)); diff != "" {
		t.Error(diff)
	}
}

func takenUp(t *testing.T, h Harness) {
	engine := start(t, h)
	ctx, cancel := context.WithCancel(context.Background())
	err := engine.Update(ctx, account, func(w store.Writer) error {
		cancel()
		return w.Put(alpha, []byte("k"), []byte("v"))
	})
	got := dump(t, engine)
	if err != nil || len(got) != 1 {
		t.Errorf("got %v with content %q, want success", err, got)
	}
}

func closedRefuses(t *testing.T, h Harness) {
	engine := h.Open(t)
	put(t, engine, alpha, "k", "v")
	for range 2 {
		if err := engine.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	err := engine.Update(context.Background(), account, func(store.Writer) error { t.Error("ran"); return nil })
	if !errors.Is(err, store.ErrClosed) {
		t.Errorf("update: got %v", err)
	}
	err = engine.View(context.Background(), account, func(store.Reader) error { t.Error("ran"); return nil })
	if !errors.Is(err, store.ErrClosed) {
		t.Errorf("view: got %v", err)
	}
}

// closeUnderLoad closes while callers write: each hears success or ErrClosed,
// and after opening again exactly the successes are there.
func closeUnderLoad(t *testing.T, h Harness) {
	engine := h.Open(t)
	const callers = 16
	var wg sync.WaitGroup
	var mu sync.Mutex
	var want []string
	started := make(chan struct{}, callers)
	for caller := range callers {
		wg.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%02d-%06d", caller, i)
				err := engine.Update(context.Background(), account, func(w store.Writer) error {
					return w.Put(alpha, []byte(key), []byte("1"))
				})
				if i == 0 {
					started <- struct{}{}
				}
				if errors.Is(err, store.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("update: %v", err)
					return
				}
				mu.Lock()
				want = append(want, "alpha/"+key+"=1")
				mu.Unlock()
			}
		})
	}
	for range callers {
		<-started
	}
	if err := engine.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	wg.Wait()
	if h.Reopen == nil {
		return
	}
	engine = h.Reopen(t, engine)
	defer engine.Close() //nolint:errcheck // read only from here
	got := strings.Join(dump(t, engine), "\n")
	if len(want) < callers || strings.Count(got, "\n")+1 != len(want) {
		t.Errorf("%d acknowledged, %d found", len(want), strings.Count(got, "\n")+1)
	}
	for _, line := range want {
		if !strings.Contains(got, line) {
			t.Errorf("acknowledged %s is gone", line)
		}
	}
}

func reopenKeeps(t *testing.T, h Harness) {
	if h.Reopen == nil {
		t.Skip("nothing outlives this engine")
	}
	engine := h.Open(t)
	var want []string
	for round := range 5 {
		for i := range 20 {
			key := fmt.Sprintf("%d-%02d", round, i)
			put(t, engine, alpha, key, strings.Repeat("v", 20))
			want = append(want, "alpha/"+key+"="+strings.Repeat("v", 20))
		}
		engine = h.Reopen(t, engine)
		if diff := cmp.Diff(want, dump(t, engine)); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
	}
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
}

func reopenForgets(t *testing.T, h Harness) {
	if h.Reopen == nil {
		t.Skip("nothing outlives this engine")
	}
	engine := h.Open(t)
	put(t, engine, alpha, "kept", "1", "gone", "1")
	put(t, engine, alpha, "kept", "2")
	update(t, engine, func(w store.Writer) error { return w.Delete(alpha, []byte("gone")) })
	err := engine.Update(context.Background(), account, func(w store.Writer) error {
		return errors.Join(w.Put(alpha, []byte("failed"), []byte("1")), errUndo)
	})
	if !errors.Is(err, errUndo) {
		t.Fatal(err)
	}
	engine = h.Reopen(t, engine)
	if diff := cmp.Diff([]string{"alpha/kept=2"}, dump(t, engine)); diff != "" {
		t.Error(diff)
	}
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
}
