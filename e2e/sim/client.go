package sim

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/replica"
)

// client is one program that keeps replicas: the account's, and those of the
// threads it has opened.
type client struct {
	scopes []changelog.Scope
	views  map[changelog.Scope]*replica.View
}

func newClient() *client {
	c := &client{views: map[changelog.Scope]*replica.View{}}
	c.open(changelog.AccountScope)
	return c
}

func (c *client) open(s changelog.Scope) {
	if c.views[s] == nil {
		c.scopes, c.views[s] = append(c.scopes, s), replica.New()
	}
}

// syncSome reads a few pages, small and large; pages get lost, and a client
// that was killed goes on from what it had stored.
func (w *world) syncSome() {
	c := pick(w, w.clients)
	if len(w.model.threads) > 0 && w.chance(4) {
		c.open(changelog.ThreadScope(pick(w, w.model.threads).id))
	}
	scope := pick(w, c.scopes)
	for range 1 + w.rand.IntN(3) {
		lost := w.chance(6)
		w.page(c.views[scope], scope, 1+w.rand.IntN(3000), lost)
	}
	if w.chance(10) {
		c.views[scope] = replica.Open(c.views[scope].Snapshot())
	}
	w.note("client syncs "+scope.String(), "")
}

// page reads one page of a scope and reports whether there is more.
func (w *world) page(v *replica.View, scope changelog.Scope, maxBytes int, lost bool) (more bool) {
	p := w.devices[0].Principal
	if token, running := v.Bootstrap(); running {
		got, err := w.app.Bootstrap(w.ctx, p, app.Bootstrap{Scope: scope, Page: token, MaxBytes: maxBytes})
		w.must(err)
		if !lost && !v.ApplyBootstrap(token, replica.BootstrapPage{
			Put: got.Put, Page: got.Page, Cursor: got.Cursor, Complete: got.Complete, AsOf: got.AsOf, Epoch: got.Epoch[:],
		}) {
			w.failf("R24", "a page of a bootstrap did not fit")
		}
		return true
	}
	cursor, horizon := v.At()
	deltas, err := w.app.Pull(w.ctx, p, app.Pull{At: []app.At{{Scope: scope, Cursor: cursor, Horizon: horizon}}, MaxBytes: maxBytes})
	w.must(err)
	d := deltas[0]
	if d.Reset != changelog.NoReset {
		w.failf("R25", "cursor of %s was reset: %d", scope, d.Reset)
	}
	if d.Page.More && bytes.Equal(d.Next, cursor) {
		w.failf("R24", "there is more and the cursor of %s stands still", scope)
	}
	if !lost && !v.ApplyChanges(cursor, horizon, replica.ChangesPage{
		Put: d.Page.Put, Del: d.Page.Del, Next: d.Next, More: d.Page.More, AsOf: d.AsOf, Epoch: d.Page.Next.Epoch[:],
	}) {
		w.failf("R24", "a page of changes did not fit")
	}
	return d.Page.More
}

// compareReplicas: R24. Whatever pages came in whatever order, a replica that
// has caught up holds what a fresh one does.
func (w *world) compareReplicas() {
	for _, c := range w.clients {
		for _, scope := range c.scopes {
			v := c.views[scope]
			for w.page(v, scope, 1+w.rand.IntN(3000), false) {
			}
			fresh := replica.New()
			for w.page(fresh, scope, 0, false) {
			}
			got, want := rows(v), rows(fresh)
			if !slices.Equal(got, want) {
				w.failf("R24", "a replica of %s holds\n%v\nwant\n%v", scope, got, want)
			}
		}
	}
	w.note("replicas equal a fresh read", "")
}

func rows(v *replica.View) []string {
	var out []string
	for e := range v.All() {
		out = append(out, fmt.Sprintf("%d/%s@%d %x", e.Kind, e.ID, e.Version, e.Body))
	}
	return out
}
