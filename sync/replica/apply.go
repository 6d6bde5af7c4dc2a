package replica

import (
	"bytes"

	"github.com/beckon-dev/beckon/sync/changelog"
)

// ApplyBootstrap applies a page of a bootstrap. asked is the token the page was
// asked for with. It reports false, and has changed nothing, if the page does
// not answer what the view asks now or was read in another epoch than the
// cursor's; the caller then asks again, from Bootstrap.
func (v *View) ApplyBootstrap(asked []byte, p BootstrapPage) bool {
	first := len(v.cursor) == 0
	if !v.bootstrapping || !bytes.Equal(asked, v.page) || !first && !bytes.Equal(p.Epoch, v.epoch) {
		return false
	}
	if first {
		v.cursor = p.Cursor
	}
	v.see(p.AsOf, p.Epoch)
	for _, e := range p.Put {
		v.put(e)
	}
	v.page = p.Page
	if p.Complete {
		v.complete()
	}
	return true
}

// complete ends a bootstrap: what was held before it and named by nothing since
// is gone.
func (v *View) complete() {
	for k, e := range v.entities {
		if e.Version == 0 {
			delete(v.entities, k)
		}
	}
	v.bootstrapping, v.page = false, nil
	clear(v.deleted)
}

// ApplyChanges applies a page of changes and moves the cursor. since and
// horizon are what the page was asked for with, as At gave them. It reports
// false, and has changed nothing, if the view has moved on since: the page was
// a duplicate, or answers a superseded reader, or leads into another epoch
// while the view has learnt more of its own than the server judged.
func (v *View) ApplyChanges(since, horizon []byte, p ChangesPage) bool {
	if len(v.cursor) == 0 || !bytes.Equal(since, v.cursor) {
		return false
	}
	// The server found the cursor good for a view that had seen as far as
	// horizon. What has been applied since may be of a future that was lost.
	if !bytes.Equal(p.Epoch, v.epoch) && !bytes.Equal(horizon, v.horizon) {
		return false
	}
	v.see(p.AsOf, p.Epoch)
	for _, e := range p.Put {
		v.put(e)
	}
	for _, d := range p.Del {
		v.remove(d)
	}
	v.cursor = p.Next
	return true
}

// ApplyPoint applies what was read outside the order of changes. The cursor
// stays. It reports false, and has changed nothing, if the read is of another
// epoch or older than what has been applied: an entity that it names may have
// been deleted since, and nothing remembers that.
func (v *View) ApplyPoint(p Point) bool {
	if len(v.cursor) == 0 || !bytes.Equal(p.Epoch, v.epoch) || bytes.Compare(p.AsOf, v.horizon) < 0 {
		return false
	}
	v.see(p.AsOf, p.Epoch)
	for _, e := range p.Put {
		v.put(e)
	}
	return true
}

// ApplyReset starts again from nothing, and goes on showing what is held.
// refused is the cursor or page token that the server did not accept. It
// reports false, and has changed nothing, if the view does not stand there any
// more, so that late answers to one bad cursor cause one bootstrap. What the
// person typed, queued answers and drafts, is not in a view and stays.
func (v *View) ApplyReset(refused []byte) bool {
	if !bytes.Equal(refused, v.cursor) && !(v.bootstrapping && bytes.Equal(refused, v.page)) {
		return false
	}
	for k, e := range v.entities {
		e.Version = 0
		v.entities[k] = e
	}
	*v = View{entities: v.entities, bootstrapping: true, deleted: map[changelog.Key]changelog.Seq{}}
	return true
}
