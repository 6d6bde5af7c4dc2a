package app_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
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
			for _, c := range changesOf(d.Page) {
				kinds = append(kinds, c)
			}
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

// newAddress registers a push endpoint of a device.
func (h *harness) newAddress(d device, token string) push.Address {
	h.t.Helper()
	var a push.Address
	h.update(d.Account, func(tx *store.Tx) error {
		var err error
		a, err = tx.PutAddress(push.Address{
			ID: "adr_" + d.Installation, Account: d.Account, Installation: d.Installation, App: "app",
			Kind: push.KindAPNs, Env: push.EnvProduction, Token: token, Topic: "dev.beckon", AccountTag: "tag " + d.Account,
			RegisteredAt: tx.Now(), State: push.AddressOK, Locale: "en",
		})
		return err
	})
	return a
}

// task reads a task as it is stored.
func (h *harness) task(id string) task.State {
	h.t.Helper()
	var s task.State
	h.view(h.account, func(tx *store.Read) error {
		var err error
		s, err = tx.Task(id)
		return err
	})
	return s
}

// decision reads a decision as it is stored.
func (h *harness) decision(id string) decision.State {
	h.t.Helper()
	var d decision.State
	h.view(h.account, func(tx *store.Read) error {
		var err error
		d, err = tx.Decision(id)
		return err
	})
	return d
}

// signals reads what a task has not acknowledged.
func (h *harness) signals(id string) []task.Signal {
	h.t.Helper()
	var out []task.Signal
	h.view(h.account, func(tx *store.Read) error {
		var err error
		out, _, err = tx.Signals(id, 0, 1<<20)
		return err
	})
	return out
}

// claim takes work for the harness's agent at once.
func (h *harness) claim(id string) app.Claim {
	h.t.Helper()
	c, found, err := h.app.ClaimTask(h.t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: id}})
	check(h.t, err)
	if !found {
		h.t.Fatalf("claim %q found nothing", id)
	}
	return c
}

func heldBy(c app.Claim) app.Held { return app.Held{Task: c.Task.ID, Lease: c.Task.Lease.ID} }

// link changes what lets the harness's agent work.
func (h *harness) link(change func(*store.AgentLink)) {
	h.t.Helper()
	h.update(h.account, func(tx *store.Tx) error {
		l, err := tx.Link(h.agent.Agent)
		if err != nil {
			return err
		}
		change(&l)
		return tx.PutLink(l)
	})
}

// reply is an answer to every item of a decision with one option, as an
// unlocked phone gives it in its app; it is not signed.
func reply(t *testing.T, d decision.State, option string) app.AnswerDecision {
	t.Helper()
	c := app.AnswerDecision{
		Decision: d.ID, Revision: d.Revision, Asked: d.Asked, Key: "answer " + option,
		Surface: decision.SurfaceApp, Interactive: true, Unlocked: true,
	}
	for _, it := range d.Items {
		c.Items = append(c.Items, decision.AnswerItem{Item: it.ID, Options: []string{option}})
	}
	view, err := proof.ViewDigest(d.ID, uint64(d.Revision), nil)
	check(t, err)
	c.View = decision.Digest(view)
	return c
}

// tupleOf is what a device signs for an answer.
func (h *harness) tupleOf(d device, c app.AnswerDecision) proof.AnswerTuple {
	h.t.Helper()
	var items []proof.AnswerItem
	for _, it := range c.Items {
		items = append(items, proof.AnswerItem{ItemID: it.Item, OptionIDs: it.Options, Text: it.Text})
	}
	digest, err := proof.AnswerDigest(items)
	check(h.t, err)
	return proof.AnswerTuple{
		ServerID: h.app.ServerID(), Account: store.AccountID(d.Account), Installation: d.Installation,
		Decision: c.Decision, Revision: uint64(c.Revision), Asked: proof.Digest(c.Asked), View: proof.Digest(c.View),
		Answer: digest, AnswerKey: c.Key,
	}
}

// signed is an answer with a device's proof.
func (h *harness) signed(d device, asked decision.State, option string) app.AnswerDecision {
	h.t.Helper()
	c := reply(h.t, asked, option)
	var err error
	c.Proof, err = proof.SignAnswer(d.key, h.tupleOf(d, c))
	check(h.t, err)
	return c
}

// give hands an answer in.
func (h *harness) give(d device, c app.AnswerDecision) app.AnswerResult {
	h.t.Helper()
	r, err := h.app.AnswerDecision(context.Background(), d.Principal, c)
	check(h.t, err)
	return r
}

// giveSigned signs an answer with the phone's key and hands it in.
func (h *harness) giveSigned(d decision.State, c app.AnswerDecision) app.AnswerResult {
	h.t.Helper()
	var err error
	c.Proof, err = proof.SignAnswer(h.phone.key, h.tupleOf(h.phone, c))
	check(h.t, err)
	r := h.give(h.phone, c)
	if r.Outcome != decision.Applied {
		h.t.Fatalf("the answer to %s met %v", d.ID, r.Outcome)
	}
	return r
}

// say sends a message of the person.
func (h *harness) say(thread, text string) app.SendMessageResult {
	h.t.Helper()
	r, err := h.app.SendMessage(context.Background(), h.phone.Principal, app.SendMessage{Key: "say " + text, Thread: thread, Text: text})
	check(h.t, err)
	return r
}

// sleep yields a held task.
func (h *harness) sleep(held app.Held, w task.Wait, acks ...uint64) task.Phase {
	h.t.Helper()
	p, err := h.app.YieldTask(context.Background(), h.agent, app.YieldTask{Held: held, Wait: w, Ack: acks})
	check(h.t, err)
	return p
}

// due does what time alone brings about.
func (h *harness) due() time.Time {
	h.t.Helper()
	next, err := h.app.ProcessDue(context.Background())
	check(h.t, err)
	return next
}
