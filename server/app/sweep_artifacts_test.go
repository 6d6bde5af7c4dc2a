package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// mortal is a process that dies at the nth line that reaches store or medium:
// before it is carried out or right after, before anybody hears of it. What is
// dead does nothing more.
type mortal struct {
	mu   sync.Mutex
	left int
	dead bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) line(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	if m.left--; m.left == 0 {
		m.dead = true
		return errDead
	}
	err := do()
	if m.left--; m.left == 0 {
		m.dead = true
		return errDead
	}
	return err
}

// mortalEngine dies at commits.
type mortalEngine struct {
	store.Engine

	life *mortal
}

func (e mortalEngine) Update(ctx context.Context, account string, fn func(store.Writer) error) error {
	return e.life.line(func() error { return e.Engine.Update(ctx, account, fn) })
}

// mortalBlobs dies at what changes the medium.
type mortalBlobs struct {
	store.Blobs

	life *mortal
}

func (b mortalBlobs) Create(account string) (w store.BlobWriter, err error) {
	err = b.life.line(func() error {
		w, err = b.Blobs.Create(account)
		return err
	})
	return mortalWriter{w, b.life}, err
}

func (b mortalBlobs) Remove(account string, sum store.Sum) error {
	return b.life.line(func() error { return b.Blobs.Remove(account, sum) })
}

func (b mortalBlobs) RemoveUnfinished(ctx context.Context, before time.Time) (n int, err error) {
	err = b.life.line(func() error {
		n, err = b.Blobs.RemoveUnfinished(ctx, before)
		return err
	})
	return n, err
}

// mortalWriter dies at every step of an upload.
type mortalWriter struct {
	store.BlobWriter

	life *mortal
}

func (w mortalWriter) Write(p []byte) (n int, err error) {
	err = w.life.line(func() error {
		n, err = w.BlobWriter.Write(p)
		return err
	})
	return n, err
}

func (w mortalWriter) Seal(sum store.Sum) error {
	return w.life.line(func() error { return w.BlobWriter.Seal(sum) })
}
func (w mortalWriter) Keep() error    { return w.life.line(w.BlobWriter.Keep) }
func (w mortalWriter) Discard() error { return w.life.line(w.BlobWriter.Discard) }

// dieAt runs an act in a process that dies at the nth line, and restarts. It
// reports whether the process got that far.
func (h *harness) dieAt(n int, act func()) (died bool) {
	h.t.Helper()
	life := &mortal{}
	life.left = 1 << 30 // it lives until it is open
	st, err := store.Open(h.t.Context(), mortalEngine{h.commits, life}, store.Config{Clock: h.clock.Now})
	check(h.t, err)
	life.left = n
	cfg := h.config
	cfg.Store, cfg.Blobs = st, mortalBlobs{h.config.Blobs, life}
	h.app = app.New(cfg)
	act()
	h.restart()
	return life.dead
}

// drop takes an artifact from a task, as the end of its retention will.
func (h *harness) drop(task string, sum store.Sum) {
	h.t.Helper()
	h.update(h.account, func(tx *store.Tx) error { return tx.DropArtifact(task, sum) })
}

// intact: whatever a task has can be read, and is what it was.
func (h *harness) intact(tasks ...string) (has int) {
	h.t.Helper()
	for _, id := range tasks {
		var refs []store.ArtifactRef
		h.view(h.account, func(tx *store.Read) (err error) {
			refs, err = tx.ArtifactsOf(id)
			return err
		})
		for _, ref := range refs {
			got, err := h.download(h.agent, app.DownloadArtifact{Task: id, Sum: ref.Sum})
			if err != nil || artifact(app.Held{}, got).Sum != ref.Sum {
				h.t.Errorf("%s has %s, which gives %q, %v", id, ref.Name, got, err)
			}
			has++
		}
	}
	return has
}

// noLeak: after the grace, what is stored is what tasks have.
func (h *harness) noLeak(tasks ...string) {
	h.t.Helper()
	h.clock.Advance(25 * time.Hour)
	check(h.t, h.app.SweepArtifacts(h.t.Context()))
	has := map[store.Sum]bool{}
	var counted, size uint64
	h.view(h.account, func(tx *store.Read) error {
		for _, id := range tasks {
			refs, err := tx.ArtifactsOf(id)
			if err != nil {
				return err
			}
			for _, ref := range refs {
				row, err := tx.Artifact(ref.Sum)
				if err != nil {
					return err
				}
				if !has[ref.Sum] {
					size += row.Size
				}
				has[ref.Sum] = true
			}
		}
		counted = tx.ArtifactBytes()
		return nil
	})
	h.intact(tasks...)
	h.storedIs(len(has))
	if counted != size {
		h.t.Errorf("%d bytes are counted, tasks have %d", counted, size)
	}
	loose, err := h.store.LooseArtifacts(h.t.Context(), h.clock.Now().AddDate(1, 0, 0), 10)
	if err != nil || len(loose) != 0 {
		h.t.Errorf("still loose: %v, %v", loose, err)
	}
}

// lines is more than any act here reaches.
const lines = 60

// eachLine runs a story with its act dying at the first line, the second and so
// on, until it gets through.
func eachLine(t *testing.T, story func(t *testing.T, h *harness, n int) (died bool)) {
	t.Helper()
	for n := 1; ; n++ {
		died := true
		t.Run(fmt.Sprint("line ", n), func(t *testing.T) {
			h := newHarness(t)
			h.t = t
			died = story(t, h, n)
		})
		if !died {
			if n < 6 {
				t.Errorf("the act has only %d lines", n)
			}
			return
		}
		if n > lines {
			t.Fatal("the act never gets through")
		}
	}
}

// TestPutArtifact_KilledAtEachLine: the caller repeats the call, as it has to,
// and nothing is lost or left.
func TestPutArtifact_KilledAtEachLine(t *testing.T) {
	t.Parallel()
	eachLine(t, func(t *testing.T, h *harness, n int) bool {
		s, held := h.startTask("a")
		text := strings.Repeat("0123456789", 20_000) // several writes
		died := h.dieAt(n, func() {
			_, err := h.app.PutArtifact(t.Context(), h.agent, artifact(held, text), strings.NewReader(text))
			if err == nil && h.intact(s.ID) != 1 {
				t.Error("the upload was acknowledged and is not there")
			}
		})
		h.intact(s.ID)
		h.put(held, text)
		if h.intact(s.ID) != 1 {
			t.Error("the repeat did not store it")
		}
		h.noLeak(s.ID)
		return died
	})
}

// TestPutArtifact_KilledForGood: nobody repeats the upload; what is left of it
// goes after the grace.
func TestPutArtifact_KilledForGood(t *testing.T) {
	t.Parallel()
	eachLine(t, func(t *testing.T, h *harness, n int) bool {
		s, held := h.startTask("a")
		died := h.dieAt(n, func() {
			_, _ = h.app.PutArtifact(t.Context(), h.agent, artifact(held, "text"), strings.NewReader("text")) // it may be dead
		})
		h.noLeak(s.ID)
		return died
	})
}

// TestSweepArtifacts_KilledAtEachLine: one artifact nobody has, one that a task
// has, one without a row and an upload that nobody ended. Dead at any line, the
// next sweep finishes.
func TestSweepArtifacts_KilledAtEachLine(t *testing.T) {
	t.Parallel()
	eachLine(t, func(t *testing.T, h *harness, n int) bool {
		first, second := h.litter(t)
		died := h.dieAt(n, func() { _ = h.app.SweepArtifacts(t.Context()) }) // it may be dead
		if h.intact(first, second) != 2 {
			t.Error("a task lost what it has")
		}
		h.admitsLoss("loose")
		h.noLeak(first, second)
		if h.intact(first, second) != 2 {
			t.Error("a task lost what it has")
		}
		return died
	})
}

// TestSweepArtifacts_UploadedAgainAtEachLine: whatever the sweep died at, the
// same bytes can be stored again and stay.
func TestSweepArtifacts_UploadedAgainAtEachLine(t *testing.T) {
	t.Parallel()
	eachLine(t, func(t *testing.T, h *harness, n int) bool {
		first, second := h.litter(t)
		died := h.dieAt(n, func() { _ = h.app.SweepArtifacts(t.Context()) }) // it may be dead
		third, held := h.startTask("third")
		for _, text := range []string{"loose", "nameless", "half"} {
			h.put(held, text)
		}
		if has := h.intact(first, second, third.ID); has != 5 {
			t.Errorf("tasks have %d", has)
		}
		h.noLeak(first, second, third.ID)
		if has := h.intact(first, second, third.ID); has != 5 {
			t.Errorf("tasks have %d after the sweep", has)
		}
		return died
	})
}

// admitsLoss: a row without its bytes says so.
func (h *harness) admitsLoss(text string) {
	h.t.Helper()
	sum := artifact(app.Held{}, text).Sum
	if _, err := h.config.Blobs.Size(h.account, sum); !errors.Is(err, store.ErrNotFound) {
		return
	}
	h.view(h.account, func(tx *store.Read) error {
		if row, err := tx.Artifact(sum); err == nil && row.State != store.ArtifactDeleting {
			h.t.Error("the bytes are gone, and the row does not know")
		}
		return nil
	})
}

// litter leaves something of every kind, and lets the grace pass. The two tasks
// that it returns have one artifact each.
func (h *harness) litter(t *testing.T) (first, second string) {
	t.Helper()
	s, held := h.startTask("first")
	r, other := h.startTask("second")
	h.put(held, "kept")
	h.put(other, "shared")
	h.put(held, "shared")
	h.drop(s.ID, h.put(held, "loose").Sum)
	h.drop(s.ID, artifact(held, "shared").Sum) // the other task has it still
	nameless, err := h.config.Blobs.Create(h.account)
	check(t, err)
	_, err = io.WriteString(nameless, "nameless")
	check(t, err)
	check(t, nameless.Seal(artifact(held, "nameless").Sum))
	check(t, nameless.Keep())
	half, err := h.config.Blobs.Create(h.account)
	check(t, err)
	_, err = io.WriteString(half, "ha")
	check(t, err)
	h.clock.Advance(25 * time.Hour)
	return s.ID, r.ID
}

// TestSweepArtifacts_Grace: what is loose for less than the grace stays, and a
// task that wants it meanwhile makes it stay.
func TestSweepArtifacts_Grace(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("a")
	v := h.put(held, "text")
	h.drop(s.ID, v.Sum)
	h.clock.Advance(24 * time.Hour)
	check(t, h.app.SweepArtifacts(t.Context()))
	h.storedIs(1)
	_, err := h.download(h.phone.Principal, app.DownloadArtifact{Sum: v.Sum})
	sameError(t, err, store.ErrNotFound)
	_, held = h.startTask("b")
	h.put(held, "text")
	h.clock.Advance(48 * time.Hour)
	check(t, h.app.SweepArtifacts(t.Context()))
	if got, err := h.download(h.phone.Principal, app.DownloadArtifact{Sum: v.Sum}); err != nil || got != "text" {
		t.Errorf("%q, %v", got, err)
	}
	h.drop(held.Task, v.Sum)
	h.clock.Advance(24*time.Hour + time.Microsecond)
	check(t, h.app.SweepArtifacts(t.Context()))
	h.storedIs(0)
}

// TestSweepArtifacts_Race: without any grace, uploads, drops and sweeps of the
// same bytes run beside each other. What a task has when all is over can be
// read, and so could it right after its upload.
func TestSweepArtifacts_Race(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(func(l *policy.Limits) {
		l.ArtifactGrace, l.StreamsPerDevice, l.StreamsPerAccount = -time.Second, 100, 100
	}))
	texts := []string{"one", "two", "three"}
	var tasks []string
	var workers, sweeper sync.WaitGroup
	for i := range 4 {
		s, held := h.startTask(fmt.Sprint("task ", i))
		tasks = append(tasks, s.ID)
		workers.Go(func() {
			for n := range 60 {
				text := texts[(n+i)%len(texts)]
				v, err := h.app.PutArtifact(t.Context(), h.agent, artifact(held, text), strings.NewReader(text))
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := h.download(h.agent, app.DownloadArtifact{Task: s.ID, Sum: v.Sum}); err != nil || got != text {
					t.Errorf("just stored: %q, %v", got, err)
				}
				if n%4 != 3 {
					_, err := h.store.Update(context.WithoutCancel(t.Context()), h.account, func(tx *store.Tx) error { return tx.DropArtifact(s.ID, v.Sum) })
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	over, cancel := context.WithCancel(t.Context())
	sweeper.Go(func() {
		for over.Err() == nil {
			if err := h.app.SweepArtifacts(over); err != nil && over.Err() == nil {
				t.Error(err)
			}
		}
	})
	workers.Wait()
	cancel()
	sweeper.Wait()
	h.noLeak(tasks...)
}
