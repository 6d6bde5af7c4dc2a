package app_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// kept is a journal in memory, by the last word on each right.
type kept struct {
	mu   sync.Mutex
	last map[store.Revocation]store.Revocation
	// broken makes it fail.
	broken error
}

func (k *kept) Record(entries []store.Revocation) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == nil {
		k.last = map[store.Revocation]store.Revocation{}
	}
	for _, e := range entries {
		k.last[store.Revocation{Account: e.Account, Kind: e.Kind, ID: e.ID}] = e
	}
	return k.broken
}

func (k *kept) Revoked(account string) (out []store.Revocation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.last {
		if e.Account == account && !e.Undone {
			out = append(out, e)
		}
	}
	return out
}

func withJournal(k *kept) harnessOption { return func(c *app.Config) { c.Journal = k } }

// backupAll copies the whole store.
func (h *harness) backupAll() *memstore.Engine {
	h.t.Helper()
	return h.commits.Engine.(*memstore.Engine).Copy()
}

// takeBack puts a copy in place of the store and starts a new process on it,
// which knows nothing of what it is.
func (h *harness) takeBack(copied *memstore.Engine) {
	h.t.Helper()
	h.commits.Engine = copied.Copy()
	st, err := store.Open(h.t.Context(), h.commits, store.Config{Clock: h.clock.Now})
	check(h.t, err)
	h.store, h.config.Store = st, st
	h.restart()
}

// restoreAll is a restore that was told.
func (h *harness) restoreAll(copied *memstore.Engine) {
	h.t.Helper()
	h.restoreAbove(copied, h.store.EpochNumber())
}

// restoreAbove is one that a journal has kept the highest number for.
func (h *harness) restoreAbove(copied *memstore.Engine, above uint64) {
	h.t.Helper()
	h.takeBack(copied)
	began, err := h.store.BeginEpoch(h.t.Context(), store.NewEpoch{From: h.store.Epoch(), Above: above})
	check(h.t, err)
	if !began {
		h.t.Fatal("no epoch began")
	}
	_, err = h.app.SettleRestore(h.t.Context())
	check(h.t, err)
}

// afterCard is the one open question after a restore.
func (h *harness) afterCard() decision.State {
	h.t.Helper()
	var found []decision.State
	h.view(h.account, func(tx *store.Read) error {
		found = nil
		open, err := tx.AllOpenDecisions()
		for _, d := range open {
			if d.Kind == decision.AfterRestore {
				found = append(found, d)
			}
		}
		return err
	})
	if len(found) != 1 {
		h.t.Fatalf("%d questions after the restore", len(found))
	}
	return found[0]
}

// openOfServer are the open questions of the server.
func (h *harness) openOfServer() (out []decision.State) {
	h.t.Helper()
	h.view(h.account, func(tx *store.Read) error {
		open, err := tx.AllOpenDecisions()
		out = out[:0]
		for _, d := range open {
			if d.Kind.OfServer() {
				out = append(out, d)
			}
		}
		return err
	})
	return out
}

// holds tells phase and hold of tasks, in words.
func (h *harness) holds(ids ...string) (out []string) {
	h.t.Helper()
	for _, id := range ids {
		s := h.task(id)
		out = append(out, s.Phase.String()+"+"+s.Hold.Kind.String())
	}
	return out
}

// everyHold makes a task in each place where one can be alive.
func (h *harness) everyHold() (ids []string, held app.Held) {
	h.t.Helper()
	ready := h.createTask("ready")
	running, held := h.startTask("running")
	asking, asks := h.startTask("asking")
	d := h.request(asks, func(c *app.RequestDecision) { c.Name = "ask" })
	check(h.t, workVerbs["YieldTask"](h.app, h.agent, asks))
	paused := h.createTask("paused")
	h.pause(paused.ID)
	stopping, _ := h.startTask("stopping")
	_, err := h.app.StopTask(h.t.Context(), h.phone.Principal, app.StopTask{Key: "s", Task: stopping.ID})
	check(h.t, err)
	wrapped, err := h.app.CreateTask(h.t.Context(), h.agent, app.CreateTask{Key: "w", Title: "w", MaxAttempts: 1, Claim: &app.ClaimOptions{ID: "w"}})
	check(h.t, err)
	_ = d
	return []string{ready.ID, running.ID, asking.ID, paused.ID, stopping.ID, wrapped.Task.ID}, held
}

// R28: what was alive in the backup is held, and one question asks for all of
// it; leases of the lost time are gone without counting. The person's word lets
// each task go on where it stood, a pause included.
func TestAfterRestore_R28_HoldsWhatWasAlive(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	ids, held := h.everyHold()
	copied := h.backupAll()
	h.clock.Advance(time.Minute)
	h.createTask("lost")
	h.restoreAll(copied)
	want := []string{"READY+REVIEW", "READY+REVIEW", h.task(ids[2]).Phase.String() + "+REVIEW", "READY+REVIEW", "CANCELED+STOP", "READY+REVIEW"}
	if diff := cmp.Diff(want, h.holds(ids...)); diff != "" {
		t.Fatalf("after the restore (-want +got):\n%s", diff)
	}
	if s := h.task(ids[1]); s.Attempts != 0 {
		t.Errorf("the restore cost %d attempts", s.Attempts)
	}
	if _, err := h.app.Heartbeat(t.Context(), h.agent, app.Heartbeat{Held: held}); !errors.Is(err, task.ErrLeaseLost) {
		t.Errorf("the lease of before the restore: %v", err)
	}
	if got := h.audited(h.account, "epoch.begun"); len(got) != 1 {
		t.Errorf("audited: %v", got)
	}
	card := h.afterCard()
	if n := h.task(ids[0]); n.RestoreCard != card.ID || !n.Restored {
		t.Errorf("held by %q, asked %q", n.RestoreCard, card.ID)
	}
	if r := h.answer(h.phone, card, decision.ExitGoOn); r.Outcome != decision.Applied {
		t.Fatalf("go on met %v", r.Outcome)
	}
	want[0], want[1], want[2], want[3], want[5] = "READY+NONE", "READY+NONE", h.task(ids[2]).Phase.String()+"+NONE", "READY+PAUSE", "FAILED+REVIEW"
	if diff := cmp.Diff(want, h.holds(ids...)); diff != "" {
		t.Errorf("told to go on (-want +got):\n%s", diff)
	}
}

// Stop ends all that is held, and nothing else.
func TestAfterRestore_R28_StopEndsWhatIsHeld(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	old := h.createTask("old")
	copied := h.backupAll()
	h.restoreAll(copied)
	fresh := h.createTask("fresh")
	if r := h.answer(h.phone, h.afterCard(), decision.ExitStop); r.Outcome != decision.Applied {
		t.Fatalf("stop met %v", r.Outcome)
	}
	if diff := cmp.Diff([]string{"CANCELED+REVIEW", "READY+NONE"}, h.holds(old.ID, fresh.ID)); diff != "" {
		t.Error(diff)
	}
}

// R28, R15: nothing is done twice. What was begun is uncertain under a
// generation that nobody was given; an approval that was not used is void; and a
// name never begun, as far as the backup knows, is uncertain too, unless the
// outside can tell.
func TestAfterRestore_R28_NoEffectIsRepeated(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	begun := h.begun(held, "begun")
	_, unused := h.approved(held, "unused", decision.WriteReversible)
	copied := h.backupAll()
	// In the lost time the first fails and is tried again, the second is used.
	h.confirm(begun, 1, false, held.Lease)
	if r, err := h.begin(held, "unused", unused); err != nil || !r.Go {
		t.Fatalf("in the lost time: %+v, %v", r, err)
	}
	h.restoreAll(copied)
	e := h.effect(begun.ID)
	if e.Status != effect.Uncertain || e.Generation <= 2 || e.Card == "" {
		t.Fatalf("begun before the backup: %s, generation %d, card %q", e.Status, e.Generation, e.Card)
	}
	// What is said of generations of the lost time, and of the one before, is
	// kept and settles nothing.
	for _, generation := range []uint32{1, 2} {
		if got := h.confirm(e, generation, false, ""); got.Status != effect.Uncertain {
			t.Errorf("generation %d settled it as %s", generation, got.Status)
		}
	}
	if g := h.grant(unused); g.State != decision.Void {
		t.Errorf("the approval is %v", g.State)
	}
	h.resolve(h.decision(e.Card), decision.ExitHappened)
	if r := h.answer(h.phone, h.afterCard(), decision.ExitGoOn); r.Outcome != decision.Applied {
		t.Fatal(r.Outcome)
	}
	claimed, _, err := h.app.ClaimTask(t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: "again"}})
	check(t, err)
	held = app.Held{Task: s.ID, Lease: claimed.Task.Lease.ID}
	if _, err := h.begin(held, "unused", unused); !errors.Is(err, decision.ErrGrantVoid) {
		t.Errorf("by the approval of before: %v", err)
	}
	_, keyed := h.approved(held, "keyed", decision.WriteReversible)
	r, err := h.app.BeginEffect(t.Context(), h.agent, app.BeginEffect{Held: held, Name: "keyed", Grant: keyed, Attempt: "a keyed one here", ProviderKey: "idem"})
	if err != nil || !r.Go {
		t.Errorf("with a key of the provider: %+v, %v", r, err)
	}
	_, again := h.approved(held, "again", decision.WriteReversible)
	r, err = h.begin(held, "again", again)
	if err != nil || r.Go || r.Effect.Status != effect.Uncertain {
		t.Fatalf("never begun, as far as the backup knows: %+v, %v", r, err)
	}
	h.resolve(h.decision(r.Effect.Card), decision.ExitDoIt)
	if r, err = h.begin(held, "again", again); !errors.Is(err, app.ErrHeld) && (err != nil || !r.Go) {
		t.Errorf("the person said do it: %+v, %v", r, err)
	}
}

// While something is uncertain, the word that the work may go on does not lift
// the review; and while that word is missing, a settled effect does not.
func TestAfterRestore_R28_BothHaveToBeSaid(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"go on", "happened"} {
		h := newHarness(t)
		s, held := h.startTask("one")
		e := h.begun(held, "send")
		h.restoreAll(h.backupAll())
		words := map[string]func(){
			"go on":    func() { h.answer(h.phone, h.afterCard(), decision.ExitGoOn) },
			"happened": func() { h.resolve(h.decision(h.effect(e.ID).Card), decision.ExitHappened) },
		}
		words[first]()
		if got := h.holds(s.ID); got[0] != "READY+REVIEW" {
			t.Errorf("after %q alone: %v", first, got)
		}
		delete(words, first)
		for _, other := range words {
			other()
		}
		if got := h.holds(s.ID); got[0] != "READY+NONE" {
			t.Errorf("after both, %q first: %v", first, got)
		}
	}
}

// R28: no old call is made again. What waited, was in a worker's hands, or came
// due in the lost time is summed up in one call.
func TestAfterRestore_R28_OldCallsAreNotMade(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	h.ask(held, "in hand", decision.WriteReversible)
	h.take(1)
	h.ask(held, "waits", decision.WriteReversible)
	h.request(held, func(c *app.RequestDecision) { c.Name, c.Timeout = "reminded", 2*time.Hour })
	copied := h.backupAll()
	h.clock.Advance(90 * time.Minute)
	h.restoreAll(copied)
	h.due()
	var rings []string
	h.view(h.account, func(tx *store.Read) error {
		rings = nil
		rows, err := tx.Deliveries()
		for _, d := range rows {
			if !d.State.Final() && d.Kind == push.DecisionRequired {
				rings = append(rings, d.Subject.Decision)
			} else if d.State == push.Superseded && d.Reason != outbox.ReasonRestored {
				t.Errorf("ended as %s", d.Reason)
			}
		}
		return err
	})
	if want := []string{h.afterCard().ID}; cmp.Diff(want, rings) != "" {
		t.Errorf("it would ring for %v, want %v", rings, want)
	}
}

// R28: what was taken away stays away, though the backup still has it; what was
// given again after that does not.
func TestAfterRestore_R28_NothingComesBack(t *testing.T) {
	t.Parallel()
	journal := &kept{}
	h := newHarness(t, withJournal(journal))
	second := h.newDevice(h.account, store.PlatformAndroid)
	other, _ := h.newAgent(h.account, "Other")
	back, _ := h.newAgent(h.account, "Back")
	copied := h.backupAll()
	check(t, h.app.RevokeInstallation(t.Context(), second.Principal, second.Installation))
	for _, agent := range []string{other.Agent, back.Agent} {
		_, err := h.app.UnlinkAgent(t.Context(), h.phone.Principal, agent)
		check(t, err)
	}
	check(t, h.app.RevokeKey(t.Context(), h.phone.Principal, h.agentToken.ID()))
	_, err := h.app.SetKillSwitch(t.Context(), h.phone.Principal, app.SetKillSwitch{Key: "k", On: true})
	check(t, err)
	check(t, journal.Record([]store.Revocation{{Account: h.account, Kind: store.RevokedLink, ID: back.Agent, Undone: true}}))
	h.restoreAll(copied)
	h.view(h.account, func(tx *store.Read) error {
		inst, err := tx.Installation(second.Installation)
		check(t, err)
		link, err := tx.Link(other.Agent)
		check(t, err)
		again, err := tx.Link(back.Agent)
		check(t, err)
		keys, err := tx.Keys(h.agent.Agent)
		check(t, err)
		settings, err := tx.Settings()
		if inst.State != store.InstallationRevoked || !link.Revoked || len(keys) != 0 || !settings.KillSwitch.On() {
			t.Errorf("came back: device %v, link revoked %v, keys %d, switch %v", inst.State, link.Revoked, len(keys), settings.KillSwitch.On())
		}
		if again.Revoked {
			t.Error("what was linked again is gone")
		}
		return err
	})
}

// A journal that does not last is told, and what the store knows gets into it at
// the next start.
func TestJournal_CatchesUp(t *testing.T) {
	t.Parallel()
	journal := &kept{}
	h := newHarness(t, withJournal(journal))
	second := h.newDevice(h.account, store.PlatformAndroid)
	broken := errors.New("no room")
	journal.broken = broken
	if err := h.app.RevokeInstallation(t.Context(), second.Principal, second.Installation); !errors.Is(err, broken) {
		t.Errorf("revoked: %v", err)
	}
	fresh := &kept{}
	h.config.Journal = fresh
	h.restart()
	check(t, h.app.CatchUpJournal(t.Context()))
	got := fresh.Revoked(h.account)
	if len(got) != 1 || got[0].Kind != store.RevokedInstallation || got[0].ID != second.Installation {
		t.Errorf("journalled: %+v", got)
	}
}

// A device whose token is younger than the backup goes on, once.
func TestAfterRestore_R28_AYoungerTokenGoesOn(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, tokens := h.pair(h.phone, store.PlatformIOS)
	copied := h.backupAll()
	next := tokens
	for i := range 3 {
		h.clock.Advance(time.Minute)
		var err error
		next, err = h.app.RefreshToken(t.Context(), h.exchange(d, next.Refresh, fmt.Sprintf("attempt number %d", i)))
		check(t, err)
	}
	h.restoreAll(copied)
	young, err := h.app.RefreshToken(t.Context(), h.exchange(d, next.Refresh, "after the restore"))
	check(t, err)
	if _, err := h.app.RefreshToken(t.Context(), h.exchange(d, young.Refresh, "and once more here")); err != nil {
		t.Errorf("the token of the new history: %v", err)
	}
	if _, err := h.app.RefreshToken(t.Context(), h.exchange(d, tokens.Refresh, "an old one, spent")); !errors.Is(err, app.ErrReused) {
		t.Errorf("a spent token once the device has gone on: %v", err)
	}
}

// Whatever verb comes first, the account is settled before it; a second look
// finds nothing left to do.
func TestAfterRestore_R28_NoVerbComesBefore(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	copied := h.backupAll()
	h.takeBack(copied)
	_, err := h.store.BeginEpoch(t.Context(), store.NewEpoch{From: h.store.Epoch()})
	check(t, err)
	if _, err := h.app.Heartbeat(t.Context(), h.agent, app.Heartbeat{Held: held}); !errors.Is(err, task.ErrLeaseLost) {
		t.Errorf("heartbeat before anything else: %v", err)
	}
	if _, err := h.app.PauseTask(t.Context(), h.phone.Principal, app.PauseTask{Key: "p", Task: s.ID}); err != nil {
		t.Fatal(err)
	}
	if got := h.holds(s.ID); got[0] != "READY+REVIEW" {
		t.Errorf("then: %v", got)
	}
	for range 2 {
		if n, err := h.app.SettleRestore(t.Context()); n != 0 || err != nil {
			t.Errorf("settled %d more, %v", n, err)
		}
	}
	h.afterCard()
}

// Restored twice from the same backup, there is one open question, and no
// generation of the first restore is one of the second.
func TestAfterRestore_R28_Twice(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	e := h.begun(held, "send")
	copied := h.backupAll()
	h.restoreAll(copied)
	first := h.effect(e.ID).Generation
	h.restoreAll(copied)
	if second := h.effect(e.ID).Generation; second <= first+1 {
		t.Errorf("generation %d, then %d", first, second)
	}
	was := h.afterCard()
	h.restoreAll(h.backupAll())
	if now := h.afterCard(); now.ID == was.ID || h.decision(was.ID).Status != decision.Superseded {
		t.Errorf("asked %s, then %s, which is %s", was.ID, now.ID, h.decision(was.ID).Status)
	}
}
