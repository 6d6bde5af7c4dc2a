package storetest

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// pageCases: reading a scope or a timeline in pieces.
func pageCases() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"a page holds at most 200 entities":          pageEntities,
		"a page holds at most its bytes, or one":     pageBytes,
		"pages go on under writes and miss nothing":  pagesUnderWrites,
		"a first read pages by key":                  entityPages,
		"a timeline is read backwards within bounds": timeline,
		"a scope shows nothing of another":           scopesApart,
	}
}

// walk reads pages until the last and holds each to the rules of paging.
func (w *world) walk(scope changelog.Scope, since changelog.Seq, maxBytes int, each func(changelog.Page)) {
	w.t.Helper()
	for {
		var p changelog.Page
		w.view(func(r *store.Read) (err error) {
			p, err = r.Changes(scope, since, maxBytes)
			return err
		})
		w.judge(p, since, maxBytes)
		each(p)
		if !p.More {
			if p.Next != p.AsOf {
				w.t.Fatalf("the last page ends at %v, the head is %v", p.Next, p.AsOf)
			}
			return
		}
		since = p.Next.Seq
	}
}

func (w *world) judge(p changelog.Page, since changelog.Seq, maxBytes int) {
	w.t.Helper()
	size, n := 0, len(p.Put)+len(p.Del)
	for _, e := range p.Put {
		size += len(e.Body)
		if e.Version <= since || e.Version > p.Next.Seq {
			w.t.Errorf("version %d is outside (%d, %d]", e.Version, since, p.Next.Seq)
		}
	}
	switch {
	case p.More && p.Next.Seq <= since:
		w.t.Fatalf("more after %d, yet next is %d", since, p.Next.Seq)
	case p.More && n == 0:
		w.t.Fatalf("more, and nothing on the page")
	case n > store.PageEntities:
		w.t.Errorf("%d entities on a page", n)
	case size > maxBytes && n > 1:
		w.t.Errorf("%d bytes in %d entities", size, n)
	case p.AsOf.Seq < p.Next.Seq:
		w.t.Errorf("next %d is past the head %d", p.Next.Seq, p.AsOf.Seq)
	}
}

// fillThread writes items of a size.
func (w *world) fillThread(n, size int) {
	w.t.Helper()
	text := strings.Repeat("x", size)
	w.update(func(tx *store.Tx) error {
		for i := range n {
			if err := tx.PutItem(item(i, text)); err != nil {
				return err
			}
		}
		return nil
	})
}

// sizes are the numbers of entities of the pages of a scope.
func (w *world) sizes(maxBytes int) []int {
	var n []int
	w.walk(changelog.ThreadScope(theThread), 0, maxBytes, func(p changelog.Page) { n = append(n, len(p.Put)) })
	return n
}

func pageEntities(t *testing.T, w *world) {
	w.fillThread(2*store.PageEntities, 1)
	expect(t, "pages", w.sizes(store.PageBytes), []int{200, 200})
	w.update(func(tx *store.Tx) error { return tx.PutItem(item(2*store.PageEntities, "one more")) })
	expect(t, "pages", w.sizes(store.PageBytes), []int{200, 200, 1})
}

func pageBytes(t *testing.T, w *world) {
	if store.PageBytes != 256<<10 {
		t.Errorf("a page is %d bytes", store.PageBytes)
	}
	w.fillThread(5, 100<<10)
	expect(t, "two fit", w.sizes(store.PageBytes), []int{2, 2, 1})
	w.fillThread(3, 300<<10)
	expect(t, "one never fits and is sent", w.sizes(store.PageBytes), []int{2, 1, 1, 1})
	expect(t, "no bytes wanted", w.sizes(0), []int{1, 1, 1, 1, 1})
}

// pagesUnderWrites: a client that folds the pages it gets while others write
// ends up with what is there.
func pagesUnderWrites(t *testing.T, w *world) {
	rapid.Check(t, func(rt *rapid.T) {
		w := w.apart(rt)
		w.fillThread(rapid.IntRange(0, 12).Draw(rt, "first"), 10)
		folded := map[changelog.Key]changelog.Entity{}
		writes := 5
		w.walk(changelog.ThreadScope(theThread), 0, rapid.IntRange(0, 200).Draw(rt, "bytes"), func(p changelog.Page) {
			for _, e := range p.Put {
				folded[e.Key] = e
			}
			if p.More && writes > 0 { // bounded, or the reader would never be done
				writes--
				n, text := rapid.IntRange(0, 15).Draw(rt, "item"), rapid.StringN(0, 3, -1).Draw(rt, "text")
				w.update(func(tx *store.Tx) error { return tx.PutItem(item(n, text)) })
			}
		})
		have := w.all(changelog.ThreadScope(theThread))
		if len(have) != len(folded) {
			rt.Fatalf("folded %d of %d", len(folded), len(have))
		}
		for key, e := range have {
			if f := folded[key]; f.Version != e.Version || string(f.Body) != string(e.Body) {
				rt.Fatalf("%v: folded version %d, there is %d", key, f.Version, e.Version)
			}
		}
	})
}

func entityPages(t *testing.T, w *world) {
	w.fillThread(450, 10)
	var last changelog.Key
	var sizes []int
	for more := true; more; {
		var put []changelog.Entity
		w.view(func(r *store.Read) (err error) {
			put, more, err = r.Entities(changelog.ThreadScope(theThread), last, store.PageBytes)
			return err
		})
		for _, e := range put {
			if e.ID <= last.ID {
				t.Fatalf("%q after %q", e.ID, last.ID)
			}
			last = e.Key
		}
		sizes = append(sizes, len(put))
	}
	expect(t, "pages", sizes, []int{200, 200, 50})
	w.fillThread(450, 100<<10)
	w.view(func(r *store.Read) error {
		put, more, err := r.Entities(changelog.ThreadScope(theThread), changelog.Key{}, store.PageBytes)
		one, _, err1 := r.Entities(changelog.ThreadScope(theThread), changelog.Key{}, 0)
		if len(put) != 2 || !more || len(one) != 1 || err1 != nil {
			t.Errorf("%d and %d entities, more %v, %v", len(put), len(one), more, err1)
		}
		return err
	})
}

func timeline(t *testing.T, w *world) {
	w.fillThread(10, 100)
	read := func(before uint64, n, maxBytes int) (positions []uint64, more bool) {
		w.view(func(r *store.Read) error {
			items, rest, err := r.Items(theThread, before, n, maxBytes)
			for _, it := range items {
				positions = append(positions, it.Position)
			}
			more = rest
			return err
		})
		return positions, more
	}
	tests := map[string]struct {
		before   uint64
		n, bytes int
		want     []uint64
		more     bool
	}{
		"from the end":     {0, 3, 1 << 20, []uint64{10, 9, 8}, true},
		"before":           {4, 5, 1 << 20, []uint64{3, 2, 1}, false},
		"exactly the rest": {4, 3, 1 << 20, []uint64{3, 2, 1}, false},
		"by bytes":         {0, 10, 300, []uint64{10, 9}, true},
		"at least one":     {0, 10, 0, []uint64{10}, true},
		"before the first": {1, 10, 1 << 20, nil, false},
	}
	for name, tc := range tests {
		got, more := read(tc.before, tc.n, tc.bytes)
		expect(t, name, got, tc.want)
		expect(t, name+": more", more, tc.more)
	}
}

func scopesApart(t *testing.T, w *world) {
	other := w.apart(t)
	put := func(id string) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			it := item(1, id)
			it.Thread = id
			return tx.PutItem(it)
		}
	}
	// The name of one thread is the start of the other's.
	w.update(put("thr_1"))
	w.update(put("thr_10"))
	other.update(put("thr_1"))
	for _, at := range []*world{w, other} {
		if n := len(at.all(changelog.ThreadScope("thr_1"))); n != 1 {
			t.Errorf("%d entities", n)
		}
	}
	other.view(func(r *store.Read) error {
		items, more, err := r.Items("thr_10", 0, 10, 1<<20)
		if len(items) != 0 || more {
			t.Errorf("another account's items: %v", items)
		}
		if _, err := r.Thread("thr_10"); err == nil {
			t.Error("another account's thread")
		}
		return err
	})
	w.view(func(r *store.Read) error {
		items, _, err := r.Items("thr_10", 0, 10, 1<<20)
		if len(items) != 1 || items[0].Thread != "thr_10" {
			t.Errorf("own items: %v", items)
		}
		return err
	})
}
