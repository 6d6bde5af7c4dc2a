package app_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

func (h *harness) unlockOffer(terminal device) app.UnlockOffer {
	h.t.Helper()
	o, err := h.app.RequestUnlock(h.t.Context(), terminal.Principal)
	check(h.t, err)
	return o
}

func TestUnlockTerminal(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	terminal := h.newDevice(h.account, store.PlatformTerminal)
	old := h.unlockOffer(terminal)
	o := h.unlockOffer(terminal)
	if got := o.ExpireTime.Sub(h.clock.Now()); got != 2*time.Minute {
		t.Errorf("digits live %v", got)
	}
	h.elevate(h.phone)
	if old.Digits.Reveal() != o.Digits.Reveal() {
		_, err := h.app.UnlockTerminal(t.Context(), h.phone.Principal, terminal.Installation, old.Digits)
		refused(t, "digits of before", err, app.ErrBadSecret)
	}
	until, err := h.app.UnlockTerminal(t.Context(), h.phone.Principal, terminal.Installation, o.Digits)
	check(t, err)
	if got := h.storedDevice(terminal).UnlockUntil; !got.Equal(until) || until.Sub(h.clock.Now()) != 15*time.Minute {
		t.Errorf("unlocked until %v, stored %v", until, got)
	}
	_, err = h.app.UnlockTerminal(t.Context(), h.phone.Principal, terminal.Installation, o.Digits)
	refused(t, "digits again", err, app.ErrBadSecret)
	if diff := cmp.Diff([]string{""}, h.audited(h.account, "terminal.unlocked")); diff != "" {
		t.Errorf("audit:\n%s", diff)
	}
}

// An unlock is what lets a terminal approve a change.
func TestUnlockOpensTheTerminal(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	terminal := h.newDevice(h.account, store.PlatformTerminal)
	_, held := h.startTask("one")
	d := h.ask(held, "write", decision.WriteReversible)
	if r := h.answer(terminal, d, "approve"); r.Outcome != decision.NeedsStepUp {
		t.Fatalf("locked: %v", r.Outcome)
	}
	o := h.unlockOffer(terminal)
	h.elevate(h.phone)
	_, err := h.app.UnlockTerminal(t.Context(), h.phone.Principal, terminal.Installation, o.Digits)
	check(t, err)
	if r := h.answer(terminal, d, "approve"); r.Outcome != decision.Applied {
		t.Errorf("unlocked: %v", r.Outcome)
	}
}

func TestUnlockRefusals(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	terminal := h.newDevice(h.account, store.PlatformTerminal)
	other := h.newDevice(h.account, store.PlatformTerminal)
	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	probation, _ := h.pair(h.phone, store.PlatformTerminal)
	unlock := func(p policy.Principal, id string, digits credential.Secret) error {
		_, err := h.app.UnlockTerminal(t.Context(), p, id, digits)
		return err
	}
	h.elevate(h.phone)
	refused(t, "nothing shown", unlock(h.phone.Principal, terminal.Installation, credential.NewSecret("1234")), app.ErrBadSecret)
	o := h.unlockOffer(terminal)
	_, err := h.app.RequestUnlock(t.Context(), h.phone.Principal)
	refused(t, "a phone asks", err, app.ErrWrongPrincipal)
	_, err = h.app.RequestUnlock(t.Context(), probation.Principal)
	refused(t, "a terminal on probation asks", err, app.ErrWrongPrincipal)
	refusedField(t, "no digits", unlock(h.phone.Principal, terminal.Installation, credential.NewSecret("12a4")), "digits")
	refusedStep(t, "by itself", unlock(terminal.Principal, terminal.Installation, o.Digits), decision.StepOtherDevice)
	h.update(h.account, func(tx *store.Tx) error { // a terminal in its claim window is verified, and still a terminal
		inst, err := tx.Installation(other.Installation)
		inst.FullUntil = tx.Now().Add(time.Hour)
		if err != nil {
			return err
		}
		return tx.PutInstallation(inst)
	})
	refused(t, "by another terminal", unlock(other.Principal, terminal.Installation, o.Digits), app.ErrWrongPrincipal)
	refused(t, "by another account", unlock(stranger.Principal, terminal.Installation, o.Digits), store.ErrNotFound)
	refused(t, "unknown", unlock(h.phone.Principal, "ins_", o.Digits), store.ErrNotFound)
	refused(t, "by an agent", unlock(h.agent, terminal.Installation, o.Digits), app.ErrWrongPrincipal)
	refused(t, "revoked", unlock(h.phone.Principal, h.gone().Installation, o.Digits), store.ErrNotFound)
	h.clock.Advance(2 * time.Minute)
	refused(t, "too late", unlock(h.phone.Principal, terminal.Installation, o.Digits), app.ErrBadSecret)
	h.clock.Advance(time.Hour)
	refusedStep(t, "nobody there", unlock(h.phone.Principal, terminal.Installation, o.Digits), decision.StepVerified)
}

func TestUnlockGuesses(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	terminal := h.newDevice(h.account, store.PlatformTerminal)
	h.elevate(h.phone)
	for _, test := range []struct {
		wrong int
		want  error
	}{{4, nil}, {5, app.ErrBadSecret}} {
		o := h.unlockOffer(terminal)
		for range test.wrong {
			_, err := h.app.UnlockTerminal(t.Context(), h.phone.Principal, terminal.Installation, wrongDigits(o.Digits))
			refused(t, "wrong digits", err, app.ErrBadSecret)
		}
		_, err := h.app.UnlockTerminal(t.Context(), h.phone.Principal, terminal.Installation, o.Digits)
		refused(t, "right digits", err, test.want)
	}
	if diff := cmp.Diff([]string{"wrong_digits"}, h.audited(h.account, "terminal.unlock_dead")); diff != "" {
		t.Errorf("audit:\n%s", diff)
	}
}
