package app_test

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// effects is all that an act left behind, in words.
type effects struct {
	// Commits is how many transactions it took.
	Commits int64
	// Account and Thread are the kinds of entities that a client is told of, in
	// the order of their changes.
	Account, Thread []string
	// Audit is "kind actor outcome", Outbox the kinds of new deliveries.
	Audit, Outbox []string
	// Badge is the attention set after it.
	Badge store.Counters
}

// watcher tells what happens in the harness's account from one look to the
// next, seen from outside: by pulling, reading the audit chain and the outbox.
type watcher struct {
	h          *harness
	at         []app.At
	commits    int64
	audit      uint64
	deliveries map[string]bool
	names      map[string]string
}

// watch begins to look at the account and, where one is named, at a thread.
func (h *harness) watch(thread string) *watcher {
	h.t.Helper()
	w := &watcher{h: h, deliveries: map[string]bool{}, names: map[string]string{
		h.agent.Agent: "agent", h.phone.Installation: "phone", "server": "server",
	}}
	scopes := []changelog.Scope{changelog.AccountScope}
	if thread != "" {
		scopes = append(scopes, changelog.ThreadScope(thread))
	}
	for _, s := range scopes {
		w.at = append(w.at, h.cursor(s))
	}
	w.look()
	return w
}

// cursor reads a scope to its end and returns where that is.
func (h *harness) cursor(s changelog.Scope) app.At {
	h.t.Helper()
	at, _ := h.drain(h.bootstrap(s, 0))
	return at
}

// badge is the attention set as it stands.
func (w *watcher) badge() (c store.Counters) {
	w.h.view(w.h.account, func(tx *store.Read) error {
		c = tx.Counters()
		return nil
	})
	return c
}

// expect compares what happened since the last look.
func (w *watcher) expect(what string, want effects) {
	w.h.t.Helper()
	if diff := cmp.Diff(want, w.look()); diff != "" {
		w.h.t.Errorf("%s left behind (-want +got):\n%s", what, diff)
	}
}

// look returns what happened since the last look.
func (w *watcher) look() effects {
	h := w.h
	h.t.Helper()
	e := effects{Commits: h.commits.n.Load() - w.commits}
	w.commits = h.commits.n.Load()
	for i := range w.at {
		var kinds []string
		var seen []app.Delta
		w.at[i], seen = h.drain(w.at[i])
		for _, d := range seen {
			kinds = append(kinds, changesOf(d.Page)...)
		}
		if i == 0 {
			e.Account = kinds
		} else {
			e.Thread = kinds
		}
	}
	h.view(h.account, func(tx *store.Read) error {
		e.Badge = tx.Counters()
		count, err := tx.Attention()
		if err != nil {
			return err
		}
		if diff := cmp.Diff(count, e.Badge); diff != "" {
			h.t.Errorf("counters differ from what they count (-rows +counters):\n%s", diff)
		}
		entries, _, err := tx.AuditEntries(w.audit+1, 1<<20)
		if err != nil {
			return err
		}
		for _, a := range entries {
			actor := a.Actor
			if name, ok := w.names[actor]; ok {
				actor = name
			}
			word := a.Kind + " by " + actor
			if a.Outcome != "" {
				word += ": " + a.Outcome
			}
			e.Audit, w.audit = append(e.Audit, word), a.Seq
		}
		rows, err := tx.Deliveries()
		for _, d := range rows {
			if !w.deliveries[d.ID] {
				w.deliveries[d.ID] = true
				e.Outbox = append(e.Outbox, string(d.Kind))
			}
		}
		return err
	})
	return e
}

// changesOf names the changes of a page in their order.
func changesOf(p changelog.Page) []string {
	type change struct {
		at   changelog.Seq
		word string
	}
	var all []change
	for _, e := range p.Put {
		all = append(all, change{e.Version, kindWord(e.Kind)})
	}
	for _, d := range p.Del {
		all = append(all, change{d.Version, "-" + kindWord(d.Kind)})
	}
	slices.SortFunc(all, func(a, b change) int { return int(a.at) - int(b.at) })
	var words []string
	for _, c := range all {
		words = append(words, c.word)
	}
	return words
}

func kindWord(k changelog.Kind) string {
	words := map[changelog.Kind]string{
		changelog.ThreadHeader: "thread", changelog.TaskHeader: "task", changelog.DecisionHeader: "decision",
		changelog.Counters: "counters", changelog.Installation: "installation", changelog.Settings: "settings",
		changelog.Item: "item", changelog.Decision: "decision", changelog.AgentLink: "link",
		changelog.Draft: "draft", changelog.ViewState: "view",
	}
	if w, ok := words[k]; ok {
		return w
	}
	return fmt.Sprintf("kind %d", k)
}

// bootstrap reads a scope page by page and returns the cursor to go on from.
func (h *harness) bootstrap(s changelog.Scope, maxBytes int) app.At {
	h.t.Helper()
	var page []byte
	for {
		r, err := h.app.Bootstrap(h.t.Context(), h.phone.Principal, app.Bootstrap{Scope: s, Page: page, MaxBytes: maxBytes})
		check(h.t, err)
		if r.Complete {
			return app.At{Scope: s, Cursor: r.Cursor, Horizon: r.AsOf}
		}
		page = r.Page
	}
}

// drain pulls one scope until there is no more.
func (h *harness) drain(at app.At) (app.At, []app.Delta) {
	h.t.Helper()
	var all []app.Delta
	for {
		deltas, err := h.app.Pull(h.t.Context(), h.phone.Principal, app.Pull{At: []app.At{at}})
		check(h.t, err)
		d := deltas[0]
		if d.Reset != changelog.NoReset {
			h.t.Fatalf("a good cursor was reset: %v", d.Reset)
		}
		all = append(all, d)
		at.Cursor, at.Horizon = d.Next, d.AsOf
		if !d.Page.More {
			return at, all
		}
	}
}
