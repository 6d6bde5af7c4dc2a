package app_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

const (
	attemptA = "attempt A, sixteen"
	attemptB = "attempt B, sixteen"
)

func (h *harness) family(d device) credential.Family {
	h.t.Helper()
	var f credential.Family
	h.view(d.Account, func(tx *store.Read) (err error) {
		f, err = tx.Family(d.Installation)
		return err
	})
	return f
}

func TestRefreshChain(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, pair := h.pair(h.phone, store.PlatformIOS)
	for _, attempt := range []string{attemptA, attemptB, attemptA} {
		h.clock.Advance(time.Hour)
		next, err := h.app.RefreshToken(t.Context(), h.exchange(d, pair.Refresh, attempt))
		check(t, err)
		if next.Refresh.Reveal() == pair.Refresh.Reveal() {
			t.Fatal("the token did not change")
		}
		if !next.AccessExpireTime.Equal(h.clock.Now().Add(10 * time.Minute)) {
			t.Errorf("access until %v", next.AccessExpireTime)
		}
		pair = next
	}
}

// An answer that got lost is asked for again, by many at once if it has to
// be: one successor.
func TestRefreshRepeated(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, pair := h.pair(h.phone, store.PlatformIOS)
	call := h.exchange(d, pair.Refresh, attemptA)
	const n = 100
	got := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			next, err := h.app.RefreshToken(t.Context(), call)
			if err != nil {
				t.Error(err)
				return
			}
			got[i] = next.Refresh.Reveal()
		})
	}
	wg.Wait()
	for _, text := range got {
		if text != got[0] || text == "" {
			t.Fatal("two successors of one attempt")
		}
	}
	next, err := credential.Parse(got[0])
	check(t, err)
	if _, err := h.app.RefreshToken(t.Context(), h.exchange(d, next, attemptB)); err != nil {
		t.Errorf("the successor: %v", err)
	}
}

// Two hold one chain, so it ends, with everything its installation can do.
func TestRefreshReused(t *testing.T) {
	t.Parallel()
	for name, spend := range map[string]func(h *harness, d device, first credential.Token){
		"retired": func(h *harness, d device, first credential.Token) {
			next, err := h.app.RefreshToken(h.t.Context(), h.exchange(d, first, attemptA))
			check(h.t, err)
			_, err = h.app.RefreshToken(h.t.Context(), h.exchange(d, next.Refresh, attemptB))
			check(h.t, err)
		},
		"another attempt": func(h *harness, d device, first credential.Token) {
			_, err := h.app.RefreshToken(h.t.Context(), h.exchange(d, first, attemptB))
			check(h.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			d, pair := h.pair(h.phone, store.PlatformIOS)
			h.newAddress(d, "aa")
			spend(h, d, pair.Refresh)
			before := h.standing(h.account)
			_, err := h.app.RefreshToken(t.Context(), h.exchange(d, pair.Refresh, attemptA))
			refused(t, "reuse", err, app.ErrReused)
			_, err = h.app.RefreshToken(t.Context(), h.exchange(d, pair.Refresh, attemptA))
			refused(t, "afterwards", err, app.ErrRevoked)
			_, err = h.app.CheckInstallation(t.Context(), d.Account, d.Installation, 0)
			refused(t, "access token of before", err, app.ErrRevoked)
			if _, gone := h.seen(h.account, d.Installation, before.Seq); !gone {
				t.Error("the other devices are not told")
			}
			if diff := cmp.Diff([]string{"refresh_reused"}, h.audited(h.account, "installation.revoked")); diff != "" {
				t.Errorf("audit:\n%s", diff)
			}
		})
	}
}

// Who holds only the string can neither refresh nor log the owner out.
func TestRefreshWithoutProof(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, pair := h.pair(h.phone, store.PlatformIOS)
	good := h.exchange(d, pair.Refresh, attemptA)
	first, err := h.app.RefreshToken(t.Context(), good)
	check(t, err)
	family, before := h.family(d), h.standing(h.account)
	thief := d
	thief.key = newKey(t)
	for name, call := range map[string]app.RefreshToken{
		"no proof":        {Token: pair.Refresh.Secret(), Attempt: attemptB},
		"another key":     h.exchange(thief, pair.Refresh, attemptB),
		"another attempt": {Token: pair.Refresh.Secret(), Attempt: attemptB, Proof: good.Proof},
		"another token":   {Token: first.Refresh.Secret(), Attempt: attemptA, Proof: good.Proof},
		"approval key":    h.exchange(device{Principal: d.Principal, key: d.approval}, pair.Refresh, attemptB),
		"another device":  h.exchange(device{Principal: h.phone.Principal, key: d.key}, pair.Refresh, attemptB),
	} {
		_, err := h.app.RefreshToken(t.Context(), call)
		refused(t, name, err, app.ErrProof)
	}
	if diff := cmp.Diff(family, h.family(d)); diff != "" {
		t.Errorf("the family moved:\n%s", diff)
	}
	if got := h.standing(h.account); got != before {
		t.Errorf("the account moved from %+v to %+v", before, got)
	}
	if _, err := h.app.RefreshToken(t.Context(), h.exchange(d, first.Refresh, attemptB)); err != nil {
		t.Errorf("the owner: %v", err)
	}
}

// A chain ends with its time, and with its device.
func TestRefreshEnds(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	idle, pair := h.pair(h.phone, store.PlatformIOS)
	h.clock.Advance(60 * 24 * time.Hour)
	_, err := h.app.RefreshToken(t.Context(), h.exchange(idle, pair.Refresh, attemptA))
	refused(t, "idle", err, app.ErrExpired)

	busy, pair := h.pair(h.phone, store.PlatformIOS)
	for range 7 { // 50 days each
		h.clock.Advance(50 * 24 * time.Hour)
		if pair, err = h.app.RefreshToken(t.Context(), h.exchange(busy, pair.Refresh, attemptA)); err != nil {
			t.Fatal(err)
		}
	}
	h.clock.Advance(50 * 24 * time.Hour)
	_, err = h.app.RefreshToken(t.Context(), h.exchange(busy, pair.Refresh, attemptA))
	refused(t, "after its whole life", err, app.ErrExpired)
}

func TestRefreshRefusals(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, pair := h.pair(h.phone, store.PlatformIOS)
	foreign, err := credential.NewWithID(zeros{}, credential.KindRefresh, h.agentToken.ID())
	check(t, err)
	for name, text := range map[string]string{
		"empty":           "",
		"cut":             pair.Refresh.Reveal()[:40],
		"another kind":    h.agentToken.Reveal(),
		"unknown":         newToken(t, credential.KindRefresh).Reveal(),
		"id of a key row": foreign.Reveal(),
	} {
		_, err := h.app.RefreshToken(t.Context(), app.RefreshToken{Token: credential.NewSecret(text), Attempt: attemptA})
		refused(t, name, err, app.ErrBadToken)
	}
	for _, attempt := range []string{"", "fifteen chars..", string(make([]byte, 65))} {
		_, err := h.app.RefreshToken(t.Context(), app.RefreshToken{Token: pair.Refresh.Secret(), Attempt: attempt})
		refusedField(t, "attempt", err, "attempt")
	}
	if h.family(d).Revoked {
		t.Error("a refusal ended the family")
	}
}

func TestElevate(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	call := h.elevation(h.phone, "a nonce of sixteen")
	_, err := h.app.OfferPairing(t.Context(), h.phone.Principal)
	refusedStep(t, "before", err, decision.StepVerified)
	check(t, h.app.Elevate(t.Context(), h.phone.Principal, call))
	h.clock.Advance(5*time.Minute - time.Second)
	_, err = h.app.OfferPairing(t.Context(), h.phone.Principal)
	check(t, err)
	h.clock.Advance(time.Second)
	_, err = h.app.OfferPairing(t.Context(), h.phone.Principal)
	refusedStep(t, "after 5 minutes", err, decision.StepVerified)
	refused(t, "the nonce again", h.app.Elevate(t.Context(), h.phone.Principal, call), app.ErrProof)
	h.clock.Advance(399 * 24 * time.Hour)
	refused(t, "the nonce a year later", h.app.Elevate(t.Context(), h.phone.Principal, call), app.ErrProof)
	_, err = h.app.OfferPairing(t.Context(), h.phone.Principal)
	refusedStep(t, "in the end", err, decision.StepVerified)
}

func TestElevateRefusals(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	second := h.newDevice(h.account, store.PlatformIOS)
	terminal := h.newDevice(h.account, store.PlatformTerminal)
	terminal.approval = terminal.key
	const nonce = "a nonce of sixteen"
	good := h.elevation(h.phone, nonce)
	for name, test := range map[string]struct {
		by   device
		call app.Elevate
		want error
	}{
		"no proof":         {h.phone, app.Elevate{Nonce: nonce}, app.ErrProof},
		"install key":      {h.phone, h.elevation(device{Principal: h.phone.Principal, approval: h.phone.key}, nonce), app.ErrProof},
		"another nonce":    {h.phone, app.Elevate{Nonce: nonce + "!", Proof: good.Proof}, app.ErrProof},
		"another device":   {second, good, app.ErrProof},
		"no approval key":  {terminal, h.elevation(terminal, nonce), app.ErrWrongPrincipal},
		"not a device":     {device{Principal: h.agent}, good, app.ErrWrongPrincipal},
		"revoked meantime": {h.gone(), good, app.ErrRevoked},
	} {
		refused(t, name, h.app.Elevate(t.Context(), test.by.Principal, test.call), test.want)
	}
	for _, bad := range []string{"", "fifteen chars..", string(make([]byte, 65))} {
		refusedField(t, "nonce", h.app.Elevate(t.Context(), h.phone.Principal, app.Elevate{Nonce: bad, Proof: good.Proof}), "nonce")
	}
	check(t, h.app.Elevate(t.Context(), h.phone.Principal, good)) // no refusal spent it
}

// gone is a device that was revoked.
func (h *harness) gone() device {
	h.t.Helper()
	d := h.newDevice(h.account, store.PlatformIOS)
	check(h.t, h.app.RevokeInstallation(h.t.Context(), d.Principal, d.Installation))
	return d
}
