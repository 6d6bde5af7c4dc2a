package replica_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/replica"
)

func key(id string) changelog.Key { return changelog.Key{Kind: changelog.Item, ID: id} }

func entity(id string, version changelog.Seq, body string) changelog.Entity {
	return changelog.Entity{Key: key(id), Version: version, Body: []byte(body)}
}

func gone(id string, version changelog.Seq) changelog.Tombstone {
	return changelog.Tombstone{Key: key(id), Version: version}
}

// begun is a view in the middle of a bootstrap: page 2 is next, a and z are
// held from before the reset, b was named by the first page, the cursor is c1.
func begun() replica.Snapshot {
	return replica.Snapshot{
		Entities: []changelog.Entity{entity("a", 0, "old"), entity("b", 2, "b2"), entity("z", 0, "old")},
		Cursor:   []byte("c1"), Horizon: []byte("h5"), Epoch: []byte("e1"),
		Bootstrapping: true, Page: []byte("p2"),
	}
}

// following is a view that only follows changes.
func following() replica.Snapshot {
	s := begun()
	s.Entities = []changelog.Entity{entity("a", 1, "a1"), entity("b", 2, "b2")}
	s.Bootstrapping, s.Page = false, nil
	return s
}

func TestView_Apply(t *testing.T) {
	t.Parallel()
	page := replica.BootstrapPage{
		Put: []changelog.Entity{entity("a", 4, "a4")}, Page: []byte("p3"),
		Cursor: []byte("c1"), AsOf: []byte("h6"), Epoch: []byte("e1"),
	}
	foreign, last := page, page
	foreign.Epoch = []byte("e0")
	last.Page, last.Complete = nil, true
	changes := replica.ChangesPage{
		Put: []changelog.Entity{entity("c", 7, "c7"), entity("b", 1, "late")}, Del: []changelog.Tombstone{gone("a", 8), gone("b", 2)},
		Next: []byte("c2"), AsOf: []byte("h8"), Epoch: []byte("e1"),
	}
	newer := replica.ChangesPage{Next: []byte("c3"), AsOf: []byte("h1"), Epoch: []byte("e2")}
	point := func(asOf, epoch string) replica.Point {
		return replica.Point{Put: []changelog.Entity{entity("b", 3, "b3")}, AsOf: []byte(asOf), Epoch: []byte(epoch)}
	}
	for _, test := range []struct {
		name  string
		from  replica.Snapshot
		apply func(*replica.View) bool
		// want changes from into what is expected; nil means dropped.
		want func(*replica.Snapshot)
	}{
		{"first page gives cursor, stamp and epoch", replica.Snapshot{Entities: []changelog.Entity{entity("z", 0, "old")}, Bootstrapping: true},
			func(v *replica.View) bool { return v.ApplyBootstrap(nil, page) }, func(s *replica.Snapshot) {
				s.Entities = []changelog.Entity{entity("a", 4, "a4"), entity("z", 0, "old")}
				s.Cursor, s.Page, s.Horizon, s.Epoch = []byte("c1"), []byte("p3"), []byte("h6"), []byte("e1")
			}},
		{"a page in between keeps the cursor and what nobody named yet", begun(),
			func(v *replica.View) bool { return v.ApplyBootstrap([]byte("p2"), page) }, func(s *replica.Snapshot) {
				s.Entities[0], s.Page, s.Horizon = entity("a", 4, "a4"), []byte("p3"), []byte("h6")
			}},
		{"the last page sweeps what nobody named", begun(),
			func(v *replica.View) bool { return v.ApplyBootstrap([]byte("p2"), last) }, func(s *replica.Snapshot) {
				s.Entities = []changelog.Entity{entity("a", 4, "a4"), entity("b", 2, "b2")}
				s.Bootstrapping, s.Page, s.Horizon = false, nil, []byte("h6")
			}},
		{"a page asked for with another token", begun(),
			func(v *replica.View) bool { return v.ApplyBootstrap([]byte("p1"), page) }, nil},
		{"a page of another epoch than the cursor's", begun(),
			func(v *replica.View) bool { return v.ApplyBootstrap([]byte("p2"), foreign) }, nil},
		{"a page when no bootstrap runs", following(),
			func(v *replica.View) bool { return v.ApplyBootstrap(nil, last) }, nil},
		{"changes put and delete what is newer and move the cursor", following(),
			func(v *replica.View) bool { return v.ApplyChanges([]byte("c1"), []byte("h5"), changes) }, func(s *replica.Snapshot) {
				s.Entities = []changelog.Entity{entity("b", 2, "b2"), entity("c", 7, "c7")}
				s.Cursor, s.Horizon = []byte("c2"), []byte("h8")
			}},
		{"changes during a bootstrap remember deletions", begun(),
			func(v *replica.View) bool { return v.ApplyChanges([]byte("c1"), []byte("h5"), changes) }, func(s *replica.Snapshot) {
				s.Entities = []changelog.Entity{entity("b", 2, "b2"), entity("c", 7, "c7"), entity("z", 0, "old")}
				s.Deleted = []changelog.Tombstone{gone("a", 8), gone("b", 2)}
				s.Cursor, s.Horizon = []byte("c2"), []byte("h8")
			}},
		{"changes of a newer epoch take its stamp, though it sorts lower", following(),
			func(v *replica.View) bool { return v.ApplyChanges([]byte("c1"), []byte("h5"), newer) }, func(s *replica.Snapshot) {
				s.Cursor, s.Horizon, s.Epoch = []byte("c3"), []byte("h1"), []byte("e2")
			}},
		{"changes of a newer epoch, judged before the stamp rose", following(),
			func(v *replica.View) bool { return v.ApplyChanges([]byte("c1"), []byte("h4"), newer) }, nil},
		{"changes of the same epoch, asked for before the stamp rose", following(),
			func(v *replica.View) bool { return v.ApplyChanges([]byte("c1"), []byte("h4"), changes) }, func(s *replica.Snapshot) {
				s.Entities = []changelog.Entity{entity("b", 2, "b2"), entity("c", 7, "c7")}
				s.Cursor, s.Horizon = []byte("c2"), []byte("h8")
			}},
		{"changes since another cursor", following(),
			func(v *replica.View) bool { return v.ApplyChanges([]byte("c0"), []byte("h5"), changes) }, nil},
		{"changes before there is a cursor", replica.Snapshot{Bootstrapping: true},
			func(v *replica.View) bool { return v.ApplyChanges(nil, nil, changes) }, nil},
		{"a point read raises the stamp and leaves the cursor", following(),
			func(v *replica.View) bool { return v.ApplyPoint(point("h9", "e1")) }, func(s *replica.Snapshot) {
				s.Entities[1], s.Horizon = entity("b", 3, "b3"), []byte("h9")
			}},
		{"a point read older than what was applied", following(),
			func(v *replica.View) bool { return v.ApplyPoint(point("h4", "e1")) }, nil},
		{"a point read of another epoch", following(),
			func(v *replica.View) bool { return v.ApplyPoint(point("h9", "e2")) }, nil},
		{"a point read before there is a cursor", replica.Snapshot{Bootstrapping: true},
			func(v *replica.View) bool { return v.ApplyPoint(point("h9", "")) }, nil},
		{"a refused cursor keeps what is shown", following(),
			func(v *replica.View) bool { return v.ApplyReset([]byte("c1")) }, func(s *replica.Snapshot) {
				*s = replica.Snapshot{Entities: []changelog.Entity{entity("a", 0, "a1"), entity("b", 0, "b2")}, Bootstrapping: true}
			}},
		{"a refused page token starts again", begun(),
			func(v *replica.View) bool { return v.ApplyReset([]byte("p2")) }, func(s *replica.Snapshot) {
				*s = replica.Snapshot{Entities: []changelog.Entity{entity("a", 0, "old"), entity("b", 0, "b2"), entity("z", 0, "old")}, Bootstrapping: true}
			}},
		{"a refused cursor that is not held any more", following(),
			func(v *replica.View) bool { return v.ApplyReset([]byte("c0")) }, nil},
		{"a refused first page says nothing about a view that follows", following(),
			func(v *replica.View) bool { return v.ApplyReset(nil) }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			view := replica.Open(test.from)
			applied := test.apply(view)
			want := replica.Open(test.from).Snapshot()
			if test.want != nil {
				test.want(&want)
			}
			if applied != (test.want != nil) {
				t.Errorf("applied %v, want %v", applied, test.want != nil)
			}
			if diff := cmp.Diff(want, view.Snapshot()); diff != "" {
				t.Errorf("view (-want +got):\n%s", diff)
			}
		})
	}
}

// A page that was read before a delete and arrives after it must not bring the
// entity back; one that was written again since must come.
func TestView_LatePageDoesNotResurrect(t *testing.T) {
	t.Parallel()
	view := replica.Open(begun())
	view.ApplyChanges([]byte("c1"), []byte("h5"), replica.ChangesPage{
		Del: []changelog.Tombstone{gone("x", 7), gone("y", 8)}, Next: []byte("c2"), AsOf: []byte("h8"), Epoch: []byte("e1"),
	})
	view.ApplyBootstrap([]byte("p2"), replica.BootstrapPage{
		Put:    []changelog.Entity{entity("w", 3, "w3"), entity("x", 6, "x6"), entity("y", 9, "y9")},
		Cursor: []byte("c1"), Complete: true, AsOf: []byte("h6"), Epoch: []byte("e1"),
	})
	want := map[changelog.Key]string{key("b"): "b2", key("w"): "w3", key("y"): "y9"}
	if diff := cmp.Diff(want, shown(view)); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
	if s := view.Snapshot(); s.Deleted != nil {
		t.Errorf("deletions are remembered after the bootstrap: %v", s.Deleted)
	}
	if _, horizon := view.At(); string(horizon) != "h8" {
		t.Errorf("an older page lowered the horizon to %q", horizon)
	}
}

// A pull is judged good after a restore, and before its answer arrives a page
// of the lost future does, which does not move the cursor. The answer would
// carry the view into the new epoch with what was lost, and nothing in that
// epoch would ever take it back.
func TestView_LostFutureOvertakesAPull(t *testing.T) {
	t.Parallel()
	a, b := key("a"), key("b")
	for _, test := range []struct {
		name string
		// late is what was read in the lost future.
		late func(*server, *replica.View) func() bool
	}{
		{"a page of a bootstrap", func(srv *server, view *replica.View) func() bool {
			token, _ := view.Bootstrap()
			page, _ := srv.bootstrap(token, 1)
			return func() bool { return view.ApplyBootstrap(token, page) }
		}},
		{"a point read", func(srv *server, view *replica.View) func() bool {
			point := srv.point(b)
			return func() bool { return view.ApplyPoint(point) }
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, view := newServer(), replica.New()
			srv.write(a)
			srv.write(b)
			first, _ := srv.bootstrap(nil, 1)
			view.ApplyBootstrap(nil, first) // a; b is on the next page
			backup := srv.backup()
			srv.write(b)
			late := test.late(srv, view)
			srv.restore(backup)
			cursor, horizon := view.At()
			changes, reset := srv.pull(cursor, horizon, 1)
			if reset != changelog.NoReset {
				t.Fatalf("reset %d, though the view had seen nothing that was lost", reset)
			}
			if !late() {
				t.Fatal("the late read was dropped; the view could not know that it was lost")
			}
			if view.ApplyChanges(cursor, horizon, changes) {
				t.Error("the judgement did not cover what has been applied since")
			}
			if err := (&world{srv: srv, view: view}).settle(); err != nil {
				t.Error(err)
			}
		})
	}
}

// An entity that only a point read has named since the reset is kept by the
// last page, though its version is from before the bootstrap: it was alive at
// the horizon, so if a later page does not have it, its tombstone is to come.
func TestView_SweepSparesWhatAPointReadNamed(t *testing.T) {
	t.Parallel()
	view := replica.Open(begun())
	view.ApplyPoint(replica.Point{Put: []changelog.Entity{entity("a", 1, "a1")}, AsOf: []byte("h5"), Epoch: []byte("e1")})
	view.ApplyBootstrap([]byte("p2"), replica.BootstrapPage{
		Cursor: []byte("c1"), Complete: true, AsOf: []byte("h6"), Epoch: []byte("e1"),
	})
	want := map[changelog.Key]string{key("a"): "a1", key("b"): "b2"}
	if diff := cmp.Diff(want, shown(view)); diff != "" {
		t.Errorf("after the last page (-want +got):\n%s", diff)
	}
	view.ApplyChanges([]byte("c1"), []byte("h6"), replica.ChangesPage{
		Del: []changelog.Tombstone{gone("a", 6)}, Next: []byte("c2"), AsOf: []byte("h6"), Epoch: []byte("e1"),
	})
	delete(want, key("a"))
	if diff := cmp.Diff(want, shown(view)); diff != "" {
		t.Errorf("after its tombstone (-want +got):\n%s", diff)
	}
}

// Overlap brings older versions; they never replace newer ones.
func TestView_OlderVersionIsIgnored(t *testing.T) {
	t.Parallel()
	view := replica.Open(following())
	view.ApplyPoint(replica.Point{
		Put: []changelog.Entity{entity("a", 1, "same"), entity("b", 1, "older")}, AsOf: []byte("h9"), Epoch: []byte("e1"),
	})
	want := map[changelog.Key]string{key("a"): "a1", key("b"): "b2"}
	if diff := cmp.Diff(want, shown(view)); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
}

// A hundred answers to one bad cursor make one bootstrap.
func TestView_ResetOnce(t *testing.T) {
	t.Parallel()
	view, resets := replica.Open(following()), 0
	first, _ := view.At()
	for range 100 {
		if view.ApplyReset(first) {
			resets++
			view.ApplyBootstrap(nil, replica.BootstrapPage{
				Page: []byte("p2"), Cursor: []byte("c9"), AsOf: []byte("h9"), Epoch: []byte("e2"),
			})
		}
	}
	if resets != 1 {
		t.Errorf("%d resets, want 1", resets)
	}
}

func TestView_GetAndLen(t *testing.T) {
	t.Parallel()
	view := replica.Open(following())
	if e, ok := view.Get(key("b")); !ok || string(e.Body) != "b2" || view.Len() != 2 {
		t.Errorf("Get(b) = %v, %v; Len %d", e, ok, view.Len())
	}
	if _, ok := view.Get(key("x")); ok {
		t.Error("Get finds what is not held")
	}
	for range view.All() {
		break // stopping early is allowed
	}
}

// A view opened without a cursor has nothing to follow, whatever was stored.
func TestOpen_WithoutCursorBootstraps(t *testing.T) {
	t.Parallel()
	if _, running := replica.Open(replica.Snapshot{}).Bootstrap(); !running {
		t.Error("no bootstrap runs")
	}
}
