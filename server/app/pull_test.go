package app_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/thread"
)

// copyOf is what a client holds of one scope.
type copyOf map[changelog.Key]string

func (c copyOf) put(es []changelog.Entity) {
	for _, e := range es {
		c[e.Key] = string(e.Body)
	}
}

func (c copyOf) fold(ds []app.Delta) {
	for _, d := range ds {
		c.put(d.Page.Put)
		for _, t := range d.Page.Del {
			delete(c, t.Key)
		}
	}
}

// fresh reads a scope at rest.
func (h *harness) fresh(s changelog.Scope) copyOf {
	h.t.Helper()
	c := copyOf{}
	var page []byte
	for {
		r, err := h.app.Bootstrap(h.t.Context(), h.phone.Principal, app.Bootstrap{Scope: s, Page: page})
		check(h.t, err)
		c.put(r.Put)
		if page = r.Page; r.Complete {
			return c
		}
	}
}

// Pages with writes between them, then the changes since the first page,
// equal a fresh read: nothing missing, nothing twice, nothing dead.
func TestBootstrap_WritesBetweenPages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	for i := range 30 {
		h.append(held, thread.RoleAgent, thread.Message, i%3 == 0, fmt.Sprint(i))
		h.createTask(fmt.Sprint("task ", i))
	}
	for _, scope := range []changelog.Scope{changelog.AccountScope, changelog.ThreadScope(s.Thread)} {
		got := copyOf{}
		var page []byte
		var at app.At
		pages := 0
		for ; ; pages++ {
			r, err := h.app.Bootstrap(t.Context(), h.phone.Principal, app.Bootstrap{Scope: scope, Page: page, MaxBytes: 1024})
			check(t, err)
			got.put(r.Put)
			if pages > 0 && string(r.Cursor) != string(at.Cursor) {
				t.Fatal("the cursor moved between pages")
			}
			at = app.At{Scope: scope, Cursor: r.Cursor, Horizon: r.AsOf}
			// Between the pages: new, changed and gone entities.
			h.append(held, thread.RoleAgent, thread.Message, true, fmt.Sprint("between ", scope, pages))
			d := h.ask(held, fmt.Sprint(scope, pages), decision.WriteReversible)
			h.answer(h.phone, d, "approve")
			gone := h.newDevice(h.account, store.PlatformIOS)
			h.alterDevice(gone, func(i *store.Installation) { i.State = store.InstallationRevoked })
			if page = r.Page; r.Complete {
				break
			}
			if pages > 500 {
				t.Fatal("it never ends")
			}
		}
		if pages < 3 {
			t.Fatalf("only %d pages", pages)
		}
		at, deltas := h.drain(at)
		got.fold(deltas)
		if diff := cmp.Diff(h.fresh(scope), got); diff != "" {
			t.Errorf("%v (-fresh +folded):\n%s", scope, diff)
		}
		if _, again := h.drain(at); len(again) != 1 || !again[0].Page.Empty() {
			t.Error("a second pull found something new")
		}
	}
}

// Small pages make progress and end, however large the entities.
func TestPull_SmallPages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	at := h.cursor(changelog.AccountScope)
	s, held := h.startTask("one")
	items := app.At{Scope: changelog.ThreadScope(s.Thread)}
	items = h.cursor(items.Scope)
	for i := range 10 {
		h.append(held, thread.RoleAgent, thread.Message, true, fmt.Sprint(i))
		h.createTask(fmt.Sprint(i))
	}
	got := map[changelog.Scope]copyOf{at.Scope: {}, items.Scope: {}}
	both := []app.At{at, items}
	for range 1000 {
		deltas, err := h.app.Pull(t.Context(), h.phone.Principal, app.Pull{At: both, MaxBytes: 1})
		check(t, err)
		more := false
		for i, d := range deltas {
			if len(d.Page.Put) > 1 {
				t.Fatalf("a page of 1 byte has %d entities", len(d.Page.Put))
			}
			got[d.Scope].fold([]app.Delta{d})
			more = more || d.Page.More
			both[i] = app.At{Scope: d.Scope, Cursor: d.Next, Horizon: d.AsOf}
		}
		if !more {
			break
		}
	}
	if diff := cmp.Diff(h.fresh(items.Scope), got[items.Scope]); diff != "" {
		t.Errorf("(-fresh +folded):\n%s", diff)
	}
	if n := len(got[at.Scope]); n != 10*2+2+1 {
		t.Errorf("%d entities: %v", n, slices.Collect(maps.Keys(got[at.Scope])))
	}
}

func TestPull_Resets(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, _ := h.startTask("one")
	other := h.createTask("two")
	stranger := h.newAccount()
	loner, _ := h.newAgent(stranger, "Loner")
	foreign := h.foreignTask(stranger, loner)
	theirs := h.newDevice(stranger, store.PlatformIOS)
	account, items := h.cursor(changelog.AccountScope), h.cursor(changelog.ThreadScope(s.Thread))
	h.createTask("three")
	later := h.cursor(changelog.AccountScope)
	codec := changelog.NewCodec(h.keys.Stamp.Reveal())
	at := func(e changelog.Epoch, seq changelog.Seq) app.At {
		pos := changelog.Position{Epoch: e, Seq: seq}
		return app.At{Cursor: codec.Cursor(h.account, changelog.AccountScope, pos), Horizon: codec.Stamp(h.account, changelog.AccountScope, pos)}
	}
	forged := slices.Clone(account.Cursor)
	forged[30] ^= 1
	for name, c := range map[string]struct {
		as policy.Principal
		at app.At
		is changelog.Reset
	}{
		"good":                     {h.phone.Principal, account, changelog.NoReset},
		"nothing":                  {h.phone.Principal, app.At{}, changelog.Malformed},
		"no horizon":               {h.phone.Principal, app.At{Cursor: account.Cursor}, changelog.Malformed},
		"horizon below the cursor": {h.phone.Principal, app.At{Cursor: later.Cursor, Horizon: account.Horizon}, changelog.Malformed},
		"garbage":                  {h.phone.Principal, app.At{Cursor: []byte("garbage"), Horizon: account.Horizon}, changelog.Malformed},
		"forged":                   {h.phone.Principal, app.At{Cursor: forged, Horizon: account.Horizon}, changelog.Malformed},
		"cursor as horizon":        {h.phone.Principal, app.At{Cursor: account.Cursor, Horizon: account.Cursor}, changelog.Malformed},
		"cursor of another scope":  {h.phone.Principal, app.At{Cursor: items.Cursor, Horizon: account.Horizon}, changelog.Forbidden},
		"horizon of another scope": {h.phone.Principal, app.At{Cursor: account.Cursor, Horizon: items.Horizon}, changelog.Forbidden},
		"cursor of another thread": {h.phone.Principal, app.At{Scope: changelog.ThreadScope(other.Thread), Cursor: items.Cursor, Horizon: items.Horizon}, changelog.Forbidden},
		"another person's cursor":  {theirs.Principal, account, changelog.Forbidden},
		"foreign thread":           {h.phone.Principal, app.At{Scope: changelog.ThreadScope(foreign.Thread), Cursor: items.Cursor, Horizon: items.Horizon}, changelog.Forbidden},
		"thread that never was":    {h.phone.Principal, app.At{Scope: changelog.ThreadScope(s.Thread[:len(s.Thread)-26] + "00000000000000000000000000"), Cursor: items.Cursor, Horizon: items.Horizon}, changelog.Forbidden},
		"of another history":       {h.phone.Principal, at(changelog.Epoch{1}, 1), changelog.UnknownEpoch},
	} {
		t.Run(name, func(t *testing.T) {
			deltas, err := h.app.Pull(t.Context(), c.as, app.Pull{At: []app.At{c.at}, Wait: time.Minute})
			check(t, err)
			d := deltas[0]
			if d.Reset != c.is {
				t.Errorf("reset %v, want %v", d.Reset, c.is)
			}
			if c.is != changelog.NoReset && (!d.Page.Empty() || d.Next != nil || d.AsOf != nil) {
				t.Errorf("a reset carries %+v", d)
			}
		})
	}
	// One bad scope does not spoil the good ones beside it.
	deltas, err := h.app.Pull(t.Context(), h.phone.Principal, app.Pull{At: []app.At{{}, account}})
	if err != nil || deltas[0].Reset != changelog.Malformed || deltas[1].Page.Empty() {
		t.Errorf("%+v, %v", deltas, err)
	}
}

func TestBootstrap_BadPage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s := h.createTask("one")
	first, err := h.app.Bootstrap(t.Context(), h.phone.Principal, app.Bootstrap{Scope: changelog.AccountScope, MaxBytes: 1})
	check(t, err)
	theirs := h.newDevice(h.newAccount(), store.PlatformIOS)
	for name, c := range map[string]struct {
		as   policy.Principal
		call app.Bootstrap
	}{
		"garbage":         {h.phone.Principal, app.Bootstrap{Page: []byte("garbage")}},
		"a cursor":        {h.phone.Principal, app.Bootstrap{Page: first.Cursor}},
		"another scope":   {h.phone.Principal, app.Bootstrap{Scope: changelog.ThreadScope(s.Thread), Page: first.Page}},
		"another account": {theirs.Principal, app.Bootstrap{Page: first.Page}},
	} {
		_, err := h.app.Bootstrap(t.Context(), c.as, c.call)
		sameNamed(t, name, err, app.ErrPage)
	}
}

// codex PR#12560, cloudflare/agents PR#922: who joins late has the open question exactly once.
func TestBootstrap_OpenQuestionIsThereOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held)
	for _, scope := range []changelog.Scope{changelog.AccountScope, changelog.ThreadScope(s.Thread)} {
		n := 0
		for key := range h.fresh(scope) {
			if key.ID == d.ID {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%v has it %d times", scope, n)
		}
	}
}

type pulled struct {
	deltas []app.Delta
	err    error
	after  time.Duration
}

func (h *harness) longPull(ctx context.Context, wait time.Duration, at ...app.At) <-chan pulled {
	out := make(chan pulled, 1)
	began := time.Now()
	go func() {
		d, err := h.app.Pull(ctx, h.phone.Principal, app.Pull{At: at, Wait: wait})
		out <- pulled{d, err, time.Since(began)}
	}()
	return out
}

func TestPull_Waits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		s, held := h.startTask("one")
		account, items := h.cursor(changelog.AccountScope), h.cursor(changelog.ThreadScope(s.Thread))
		if r := <-h.longPull(t.Context(), time.Hour, account, items); r.err != nil || r.after != 25*time.Second || !r.deltas[0].Page.Empty() {
			t.Errorf("nothing came after %v: %v", r.after, r.err)
		}
		got := h.longPull(t.Context(), time.Minute, account, items)
		synctest.Wait()
		h.append(held, thread.RoleTool, thread.Output, false, "line")
		if r := <-got; r.err != nil || r.after != 0 || len(r.deltas[1].Page.Put) != 1 {
			t.Errorf("after %v: %+v, %v", r.after, r.deltas, r.err)
		}
		// What happens in another account wakes nobody here.
		stranger := h.newAccount()
		loner, _ := h.newAgent(stranger, "Loner")
		account, items = h.cursor(changelog.AccountScope), h.cursor(changelog.ThreadScope(s.Thread))
		got = h.longPull(t.Context(), time.Second, account, items)
		synctest.Wait()
		before := h.commits.views.Load()
		h.foreignTask(stranger, loner)
		synctest.Wait()
		if n := h.commits.views.Load() - before; n != 0 {
			t.Errorf("a neighbour's task cost %d reads", n)
		}
		if r := <-got; r.after != time.Second {
			t.Errorf("woken after %v", r.after)
		}
	})
}

// A device that is revoked hears nothing more, not even through a read that
// was waiting already.
func TestPull_EndsWithTheDevice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		at := h.cursor(changelog.AccountScope)
		got := h.longPull(t.Context(), 20*time.Second, at)
		synctest.Wait()
		h.alterDevice(h.phone, func(i *store.Installation) { i.State = store.InstallationRevoked })
		h.createTask("secret")
		if r := <-got; len(r.deltas) != 0 {
			t.Errorf("a revoked device was told %+v", r.deltas)
		} else {
			sameError(t, r.err, app.ErrRevoked)
		}
		_, err := h.app.Bootstrap(t.Context(), h.phone.Principal, app.Bootstrap{})
		sameError(t, err, app.ErrRevoked)
	})
}
