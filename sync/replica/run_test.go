package replica_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/replica"
)

// answer is one on its way to the client.
type answer struct {
	// asked is the cursor or the page token, horizon the stamp beside a cursor.
	asked, horizon []byte
	// One of them is set; none means a reset.
	page    *replica.BootstrapPage
	changes *replica.ChangesPage
	point   *replica.Point
}

// world is a server, one client and the network between them, which loses,
// repeats and reorders answers.
type world struct {
	srv    *server
	view   *replica.View
	stored replica.Snapshot
	backup *server
	flying []answer
	resets int
	// heard, if set, is told every step.
	heard func(move)
}

func newWorld() *world {
	w := &world{srv: newServer(), view: replica.New()}
	w.stored = w.view.Snapshot()
	return w
}

// program is the byte string that drives a run: whatever a fuzzer or a
// property test comes up with is a run, and a prefix is a shorter one.
type program struct{ code []byte }

func (p *program) next(n int) int {
	if len(p.code) == 0 {
		return 0
	}
	b := int(p.code[0])
	p.code = p.code[1:]
	return b % n
}

func (p *program) key() changelog.Key {
	n := p.next(8)
	kinds := [...]changelog.Kind{changelog.Item, changelog.Decision}
	return changelog.Key{Kind: kinds[n%2], ID: string(rune('a' + n/2))}
}

// run drives a world by a program, then lets it come to rest and compares.
func run(code []byte) error {
	w, p := newWorld(), &program{code: code}
	for len(p.code) > 0 {
		if err := w.step(p); err != nil {
			return err
		}
	}
	return w.settle()
}

func (w *world) step(p *program) error {
	switch op := p.next(64); {
	case op < 14:
		w.srv.write(p.key())
	case op < 22:
		w.srv.remove(p.key())
	case op < 24:
		w.srv.purge([...]changelog.Seq{2, 5, 10}[p.next(3)])
	case op < 26:
		b := w.srv.backup()
		w.backup = &b
	case op < 28:
		if w.backup != nil {
			w.srv.restore(*w.backup)
		}
	case op < 38:
		w.askPage(1 + p.next(3))
	case op < 46:
		w.askChanges(1 + p.next(3))
	case op < 49:
		w.askPoint(p.key())
	case op < 60: // an answer arrives, perhaps out of order
		if n := len(w.flying); n > 0 {
			i := p.next(n)
			a := w.flying[i]
			w.flying = slices.Delete(w.flying, i, i+1)
			return w.deliver(a)
		}
	case op < 61: // it arrives, and will once more
		if n := len(w.flying); n > 0 {
			return w.deliver(w.flying[p.next(n)])
		}
	case op < 62: // it is lost
		if n := len(w.flying); n > 0 {
			i := p.next(n)
			w.flying = slices.Delete(w.flying, i, i+1)
		}
	case op < 63:
		w.stored = w.view.Snapshot()
		w.tell(move{Do: "store"})
	default: // the client is killed and opens what it has stored
		w.view = replica.Open(w.stored)
		w.tell(move{Do: "kill"})
	}
	return nil
}

func (w *world) askPage(limit int) {
	token, running := w.view.Bootstrap()
	if !running {
		return
	}
	a := answer{asked: token}
	if p, ok := w.srv.bootstrap(token, limit); ok {
		a.page = &p
	}
	w.flying = append(w.flying, a)
}

func (w *world) askChanges(limit int) {
	cursor, horizon := w.view.At()
	if cursor == nil {
		return
	}
	a := answer{asked: cursor, horizon: horizon}
	if p, reset := w.srv.pull(cursor, horizon, limit); reset == changelog.NoReset {
		a.changes = &p
	}
	w.flying = append(w.flying, a)
}

func (w *world) askPoint(k changelog.Key) {
	p := w.srv.point(k)
	w.flying = append(w.flying, answer{point: &p})
}

// deliver applies an answer and checks what holds at every step: nothing
// dropped leaves a trace, only changes move a cursor, a reset blanks nothing.
func (w *world) deliver(a answer) error {
	before := w.view.Snapshot()
	cursor, _ := w.view.At()
	var applied bool
	switch {
	case a.page != nil:
		applied = w.view.ApplyBootstrap(a.asked, *a.page)
	case a.changes != nil:
		applied = w.view.ApplyChanges(a.asked, a.horizon, *a.changes)
	case a.point != nil:
		applied = w.view.ApplyPoint(*a.point)
	default:
		if applied = w.view.ApplyReset(a.asked); applied {
			w.resets++
			w.tell(a.move(true))
			return w.afterReset(before)
		}
	}
	w.tell(a.move(applied))
	if !applied {
		if diff := differs(before, w.view.Snapshot()); diff != "" {
			return fmt.Errorf("a dropped answer left a trace (-before +after):\n%s", diff)
		}
		return nil
	}
	if now, _ := w.view.At(); a.changes == nil && cursor != nil && !bytes.Equal(cursor, now) {
		return fmt.Errorf("the cursor moved without a page of changes")
	}
	return nil
}

// differs spares the many that are equal what drawing a difference costs.
func differs[T any](want, got T) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

func (w *world) afterReset(before replica.Snapshot) error {
	for i := range before.Entities {
		before.Entities[i].Version = 0
	}
	want := replica.Snapshot{Entities: before.Entities, Bootstrapping: true}
	if diff := differs(want, w.view.Snapshot()); diff != "" {
		return fmt.Errorf("after a reset (-want +got):\n%s", diff)
	}
	return nil
}

// settle stops the faults and reads until nothing is left to read.
func (w *world) settle() error {
	for range 200 {
		w.flying = nil
		if _, running := w.view.Bootstrap(); running {
			w.askPage(3)
		} else {
			w.askChanges(3)
		}
		a := w.flying[0]
		if err := w.deliver(a); err != nil {
			return err
		}
		if a.changes == nil || a.changes.More {
			continue
		}
		if diff := differs(w.srv.live(), shown(w.view)); diff != "" {
			return fmt.Errorf("view differs from a fresh read (-server +view):\n%s", diff)
		}
		return nil
	}
	return fmt.Errorf("the view did not come to rest")
}
