package app_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

// forms are the two ways to take up an offer; whatever holds, holds for both.
func forms(t *testing.T, run func(t *testing.T, h *harness, take func(app.PairingOffer, newcomer) app.RedeemPairing)) {
	t.Run("scanned", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		run(t, h, func(o app.PairingOffer, n newcomer) app.RedeemPairing { return byQR(t, h, o, n) })
	})
	t.Run("typed", func(t *testing.T) {
		t.Parallel()
		run(t, newHarness(t), byCode)
	})
}

func (h *harness) pairing(p policy.Principal, o string, redeem credential.Secret) app.Pairing {
	h.t.Helper()
	got, err := h.app.GetPairing(h.t.Context(), p, app.GetPairing{Offer: o, Redeem: redeem})
	check(h.t, err)
	return got
}

func TestPairing(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, h *harness, take func(app.PairingOffer, newcomer) app.RedeemPairing) {
		before := h.standing(h.account)
		o, n := h.offer(h.phone), newNewcomer(t, store.PlatformAndroid)
		if got := h.pairing(h.phone.Principal, o.ID, credential.Secret{}); got.State != store.OfferOpen {
			t.Errorf("state of a new offer: %d", got.State)
		}
		call := take(o, n)
		r := h.redeem(call)
		got := h.pairing(h.phone.Principal, o.ID, credential.Secret{})
		if got.State != store.OfferRedeemed || got.Installation.Label != n.Label || got.Installation.ID != "" {
			t.Errorf("the offering side sees %+v", got)
		}
		if diff := cmp.Diff(n.PublicKey, got.Installation.PublicKey); diff != "" {
			t.Errorf("key of the new device:\n%s", diff)
		}
		if diff := cmp.Diff(call.KeyMAC, got.KeyMAC); diff != "" {
			t.Errorf("MAC of the new key:\n%s", diff)
		}
		if got := h.pairing(policy.Principal{}, o.ID, r.Redeem); got.State != store.OfferRedeemed || got.Tokens != nil || got.Account != "" {
			t.Errorf("before it is confirmed the new device gets %+v", got)
		}
		inst, err := h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, r.Digits)
		check(t, err)
		if inst.State != store.InstallationProbation || inst.ProbationEnd.Sub(h.clock.Now()) != 24*time.Hour {
			t.Errorf("the new installation is %+v", inst)
		}
		if put, _ := h.seen(h.account, inst.ID, before.Seq); !put {
			t.Error("the other devices are not told")
		}
		h.checkTokensUntilUsed(n.joined(h.account, inst.ID), r)
	})
}

// checkTokensUntilUsed: the new device gets the same refresh token as often as
// it asks, until it has used it.
func (h *harness) checkTokensUntilUsed(d device, r app.RedeemedPairing) {
	h.t.Helper()
	first, again := h.collect(r), h.collect(r)
	if first.Refresh.Reveal() != again.Refresh.Reveal() {
		h.t.Error("asked again, another refresh token comes")
	}
	if _, err := h.app.RefreshToken(h.t.Context(), h.exchange(d, again.Refresh, "attempt number one")); err != nil {
		h.t.Fatalf("first refresh: %v", err)
	}
	got := h.pairing(policy.Principal{}, r.Offer, r.Redeem)
	if got.State != store.OfferConfirmed || got.Tokens != nil || got.Account != store.AccountID(d.Account) {
		h.t.Errorf("after the first refresh: %+v", got)
	}
}

func TestPairingBySettingUp(t *testing.T) {
	t.Parallel()
	h := newEmptyHarness(t)
	first, _ := h.claimServer()
	d, _ := h.pair(first, store.PlatformAndroid)
	if inst := h.storedDevice(d); inst.State != store.InstallationActive {
		t.Errorf("paired within the window of the claim: state %d", inst.State)
	}
	h.clock.Advance(30 * time.Minute)
	late, _ := h.pair(first, store.PlatformAndroid)
	if inst := h.storedDevice(late); inst.State != store.InstallationProbation {
		t.Errorf("paired after the window: state %d", inst.State)
	}
}

func TestProbationEndsByItself(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, _ := h.pair(h.phone, store.PlatformIOS)
	kind := func() policy.Kind {
		p, err := h.app.CheckInstallation(t.Context(), d.Account, d.Installation, 0)
		check(t, err)
		return p.Kind
	}
	h.clock.Advance(24*time.Hour - time.Second)
	if got := kind(); got != policy.Probation {
		t.Errorf("before the end: %v", got)
	}
	_, err := h.app.OfferPairing(t.Context(), d.Principal)
	refused(t, "offer on probation", err, app.ErrWrongPrincipal)
	refused(t, "elevate on probation", h.app.Elevate(t.Context(), d.Principal, h.elevation(d, "nonce of sixteen")), app.ErrWrongPrincipal)
	h.clock.Advance(time.Second)
	if got := kind(); got != policy.Installation {
		t.Errorf("after the end: %v", got)
	}
	h.offer(d)
}

// What is wrong with a secret is not told, and some of it ends the offer.
func TestRedeemRefusals(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, h *harness, take func(app.PairingOffer, newcomer) app.RedeemPairing) {
		n := newNewcomer(t, store.PlatformIOS)
		late := h.offer(h.phone)
		h.clock.Advance(2 * time.Minute)
		_, err := h.app.RedeemPairing(t.Context(), take(late, n))
		refused(t, "expired", err, app.ErrBadSecret)
		if got := h.pairing(h.phone.Principal, late.ID, credential.Secret{}); got.State != store.OfferDead {
			t.Errorf("expired: state %d", got.State)
		}
		done := h.offer(h.phone)
		r := h.redeem(take(done, n))
		_, err = h.app.ConfirmPairing(t.Context(), h.phone.Principal, done.ID, r.Digits)
		check(t, err)
		_, err = h.app.RedeemPairing(t.Context(), take(done, n))
		refused(t, "confirmed", err, app.ErrBadSecret)
		if diff := cmp.Diff([]string{"expired"}, h.audited(h.account, "pairing.dead")); diff != "" {
			t.Errorf("audit:\n%s", diff)
		}
	})
}

func TestRedeemNeedsOneForm(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	o, n := h.offer(h.phone), newNewcomer(t, store.PlatformIOS)
	for name, test := range map[string]struct {
		field  string
		call   app.RedeemPairing
		change func(*app.RedeemPairing)
	}{
		"no MAC":         {"key_mac", byQR(t, h, o, n), func(c *app.RedeemPairing) { c.KeyMAC = nil }},
		"short MAC":      {"key_mac", byQR(t, h, o, n), func(c *app.RedeemPairing) { c.KeyMAC = c.KeyMAC[:31] }},
		"code and offer": {"code", byCode(o, n), func(c *app.RedeemPairing) { c.Offer = o.ID }},
		"code, secret":   {"code", byCode(o, n), func(c *app.RedeemPairing) { c.Secret = o.Secret }},
		"code and MAC":   {"code", byCode(o, n), func(c *app.RedeemPairing) { c.KeyMAC = make([]byte, 32) }},
		"bad device":     {"installation.public_key", byCode(o, n), func(c *app.RedeemPairing) { c.Device.PublicKey = nil }},
	} {
		test.change(&test.call)
		_, err := h.app.RedeemPairing(t.Context(), test.call)
		refusedField(t, name, err, test.field)
	}
	unknown, err := store.NewID(store.KindOffer, h.account, h.clock.Now(), zeros{})
	check(t, err)
	for name, change := range map[string]func(*app.RedeemPairing){
		"no offer":        func(c *app.RedeemPairing) { c.Offer = "" },
		"malformed offer": func(c *app.RedeemPairing) { c.Offer = "off_" },
		"unknown offer":   func(c *app.RedeemPairing) { c.Offer = unknown },
		"no secret":       func(c *app.RedeemPairing) { c.Secret = credential.Secret{} },
		"malformed code":  func(c *app.RedeemPairing) { *c = byCode(o, n); c.Code = credential.NewSecret("7K4M-Q2") },
		"unknown code":    func(c *app.RedeemPairing) { *c = byCode(o, n); c.Code = credential.NewSecret("0000-0000") },
	} {
		c := byQR(t, h, o, n)
		change(&c)
		_, err := h.app.RedeemPairing(t.Context(), c)
		refused(t, name, err, app.ErrBadSecret)
	}
	h.redeem(byCode(o, n)) // nothing of this spent it
}

// zeros is a random source for ids that nobody drew.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestWrongSecretsEndAnOffer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := newNewcomer(t, store.PlatformIOS)
	guess := func(o app.PairingOffer) {
		c := byQR(t, h, o, n)
		c.Secret = credential.NewSecret("a wrong secret of some length")
		_, err := h.app.RedeemPairing(t.Context(), c)
		refused(t, "a guess", err, app.ErrBadSecret)
	}
	lucky := h.offer(h.phone)
	for range 4 {
		guess(lucky)
	}
	h.redeem(byQR(t, h, lucky, n))
	guess(lucky)
	if o := h.storedOffer(h.account, lucky.ID); o.State != store.OfferDead {
		t.Errorf("after 5 guesses, one of them late: state %d", o.State)
	}
	guessed := h.offer(h.phone)
	for range 5 {
		guess(guessed)
	}
	_, err := h.app.RedeemPairing(t.Context(), byQR(t, h, guessed, n))
	refused(t, "the right secret, too late", err, app.ErrBadSecret)
	_, err = h.app.RedeemPairing(t.Context(), byCode(guessed, n))
	refused(t, "the right code, too late", err, app.ErrBadSecret)
	if diff := cmp.Diff([]string{"wrong_secrets", "wrong_secrets"}, h.audited(h.account, "pairing.dead")); diff != "" {
		t.Errorf("audit:\n%s", diff)
	}
}

// The thief is first. The real device shows no digits, and the digits of
// the thief let nobody in.
func TestThiefRedeemsFirst(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, h *harness, take func(app.PairingOffer, newcomer) app.RedeemPairing) {
		o := h.offer(h.phone)
		thief := h.redeem(take(o, newNewcomer(t, store.PlatformIOS)))
		_, err := h.app.RedeemPairing(t.Context(), take(o, newNewcomer(t, store.PlatformIOS)))
		refused(t, "the real device", err, app.ErrBadSecret)
		_, err = h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, thief.Digits)
		refused(t, "confirm", err, app.ErrBadSecret)
		for _, side := range []app.Pairing{
			h.pairing(h.phone.Principal, o.ID, credential.Secret{}), h.pairing(policy.Principal{}, o.ID, thief.Redeem),
		} {
			if side.State != store.OfferDead || side.Tokens != nil {
				t.Errorf("the offer is %+v", side)
			}
		}
		if diff := cmp.Diff([]string{"redeemed_twice"}, h.audited(h.account, "pairing.dead")); diff != "" {
			t.Errorf("audit:\n%s", diff)
		}
		h.checkDevices(1)
	})
}

// checkDevices counts the installations of the account.
func (h *harness) checkDevices(want int) {
	h.t.Helper()
	h.view(h.account, func(tx *store.Read) error {
		all, err := tx.Installations()
		if len(all) != want {
			h.t.Errorf("%d installations, want %d", len(all), want)
		}
		return err
	})
}

func wrongDigits(right credential.Secret) credential.Secret {
	if right.Reveal() == "0000" {
		return credential.NewSecret("0001")
	}
	return credential.NewSecret("0000")
}

func TestWrongDigitsEndAnOffer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	o := h.offer(h.phone)
	_, err := h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, credential.NewSecret("1234"))
	refused(t, "before anybody redeemed", err, app.ErrBadSecret)
	r := h.redeem(byCode(o, newNewcomer(t, store.PlatformIOS)))
	_, err = h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, credential.NewSecret("12345"))
	refusedField(t, "no digits", err, "digits")
	_, err = h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, wrongDigits(r.Digits))
	refused(t, "first try", err, app.ErrBadSecret)
	inst, err := h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, r.Digits)
	if err != nil {
		t.Fatalf("second try: %v", err)
	}
	again, err := h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, r.Digits)
	if err != nil || again.ID != inst.ID {
		t.Errorf("repeated: %v, %v", again.ID, err)
	}
	_, err = h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, wrongDigits(r.Digits))
	refused(t, "wrong digits of a confirmed one", err, app.ErrBadSecret)
	h.checkDevices(2)

	o = h.offer(h.phone)
	r = h.redeem(byCode(o, newNewcomer(t, store.PlatformIOS)))
	for range 2 {
		_, err = h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, wrongDigits(r.Digits))
		refused(t, "wrong digits", err, app.ErrBadSecret)
	}
	_, err = h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, r.Digits)
	refused(t, "right digits, too late", err, app.ErrBadSecret)
	if diff := cmp.Diff([]string{"wrong_digits"}, h.audited(h.account, "pairing.dead")); diff != "" {
		t.Errorf("audit:\n%s", diff)
	}
	h.checkDevices(2)
}

func TestConfirmTooLate(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	o := h.offer(h.phone)
	r := h.redeem(byCode(o, newNewcomer(t, store.PlatformIOS)))
	h.clock.Advance(2 * time.Minute)
	_, err := h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, r.Digits)
	refused(t, "expired", err, app.ErrBadSecret)
	if diff := cmp.Diff([]string{"expired"}, h.audited(h.account, "pairing.dead")); diff != "" {
		t.Errorf("audit:\n%s", diff)
	}
	h.checkDevices(1)
}

// Nobody but the device that offered confirms.
func TestConfirmByOthers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	second := h.newDevice(h.account, store.PlatformIOS)
	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	probation, _ := h.pair(h.phone, store.PlatformIOS)
	o := h.offer(h.phone)
	r := h.redeem(byCode(o, newNewcomer(t, store.PlatformIOS)))
	confirm := func(p policy.Principal) error {
		_, err := h.app.ConfirmPairing(t.Context(), p, o.ID, r.Digits)
		return err
	}
	refusedStep(t, "another device, nobody there", confirm(second.Principal), decision.StepVerified)
	h.elevate(second)
	h.elevate(stranger)
	refused(t, "another device", confirm(second.Principal), store.ErrNotFound)
	refused(t, "another account", confirm(stranger.Principal), store.ErrNotFound)
	refused(t, "probation", confirm(probation.Principal), app.ErrWrongPrincipal)
	refused(t, "agent", confirm(h.agent), app.ErrWrongPrincipal)
	refused(t, "nobody", confirm(policy.Principal{}), app.ErrWrongPrincipal)
	h.clock.Advance(time.Minute)
	if err := confirm(h.phone.Principal); err != nil {
		t.Errorf("the offering device: %v", err)
	}
}

func TestPairingQuotas(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(func(l *policy.Limits) { l.Installations = 2 }))
	h.gone() // takes no place
	var offers []app.PairingOffer
	for range 3 {
		offers = append(offers, h.offer(h.phone))
	}
	_, err := h.app.OfferPairing(t.Context(), h.phone.Principal)
	refusedQuota(t, "offers", err, "pairing_offers", 3)
	var redeemed []app.RedeemedPairing
	for _, o := range offers[:2] {
		redeemed = append(redeemed, h.redeem(byCode(o, newNewcomer(t, store.PlatformIOS))))
	}
	_, err = h.app.ConfirmPairing(t.Context(), h.phone.Principal, offers[0].ID, redeemed[0].Digits)
	check(t, err)
	_, err = h.app.ConfirmPairing(t.Context(), h.phone.Principal, offers[1].ID, redeemed[1].Digits)
	refusedQuota(t, "confirm", err, "installations", 2)
	_, err = h.app.OfferPairing(t.Context(), h.phone.Principal)
	refusedQuota(t, "offer", err, "installations", 2)
	h.checkDevices(3)
}

// Offers that are over take no place, and some day no room.
func TestOffersAreForgotten(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for range 3 {
		h.offer(h.phone)
	}
	h.clock.Advance(2 * time.Minute)
	h.offer(h.phone)
	if diff := cmp.Diff([]string{"expired", "expired", "expired"}, h.audited(h.account, "pairing.dead")); diff != "" {
		t.Errorf("audit:\n%s", diff)
	}
	h.clock.Advance(25 * time.Hour)
	last := h.offer(h.phone)
	h.view(h.account, func(tx *store.Read) error {
		offers, err := tx.Offers()
		if len(offers) != 1 || offers[0].ID != last.ID {
			t.Errorf("%d offers are kept", len(offers))
		}
		return err
	})
}

func TestGetPairingRefusals(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	second := h.newDevice(h.account, store.PlatformIOS)
	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	o := h.offer(h.phone)
	get := func(p policy.Principal, c app.GetPairing) error {
		_, err := h.app.GetPairing(t.Context(), p, c)
		return err
	}
	unknown, err := store.NewID(store.KindOffer, h.account, h.clock.Now(), zeros{})
	check(t, err)
	guess := credential.NewSecret("a guess at the secret")
	refused(t, "a guess before it is redeemed", get(policy.Principal{}, app.GetPairing{Offer: o.ID, Redeem: guess}), app.ErrBadSecret)
	r := h.redeem(byCode(o, newNewcomer(t, store.PlatformIOS)))
	refused(t, "a guess", get(policy.Principal{}, app.GetPairing{Offer: o.ID, Redeem: guess}), app.ErrBadSecret)
	refused(t, "unknown", get(policy.Principal{}, app.GetPairing{Offer: unknown, Redeem: r.Redeem}), app.ErrBadSecret)
	refused(t, "malformed", get(policy.Principal{}, app.GetPairing{Offer: "off_", Redeem: r.Redeem}), app.ErrBadSecret)
	refused(t, "nobody", get(policy.Principal{}, app.GetPairing{Offer: o.ID}), app.ErrWrongPrincipal)
	refused(t, "agent", get(h.agent, app.GetPairing{Offer: o.ID}), app.ErrWrongPrincipal)
	refused(t, "another device", get(second.Principal, app.GetPairing{Offer: o.ID}), store.ErrNotFound)
	refused(t, "another account", get(stranger.Principal, app.GetPairing{Offer: o.ID}), store.ErrNotFound)
	refused(t, "unknown to a device", get(h.phone.Principal, app.GetPairing{Offer: unknown}), store.ErrNotFound)

	inst, err := h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, r.Digits)
	check(t, err)
	check(t, h.app.RevokeInstallation(t.Context(), h.phone.Principal, inst.ID))
	refused(t, "a device that is out again", get(policy.Principal{}, app.GetPairing{Offer: o.ID, Redeem: r.Redeem}), app.ErrRevoked)
}

func TestGetPairingWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		o := h.offer(h.phone)
		wait := func(known store.PairingState) <-chan app.Pairing {
			c := make(chan app.Pairing, 1)
			go func() {
				got, err := h.app.GetPairing(t.Context(), h.phone.Principal, app.GetPairing{Offer: o.ID, Known: known, Wait: 25 * time.Second})
				if err != nil {
					t.Error(err)
				}
				c <- got
			}()
			synctest.Wait()
			return c
		}
		start := time.Now()
		opened := wait(store.OfferOpen)
		r := h.redeem(byCode(o, newNewcomer(t, store.PlatformIOS)))
		if got := <-opened; got.State != store.OfferRedeemed {
			t.Errorf("woken in state %d", got.State)
		}
		confirmed := wait(store.OfferRedeemed)
		_, err := h.app.ConfirmPairing(t.Context(), h.phone.Principal, o.ID, r.Digits)
		check(t, err)
		if got := <-confirmed; got.State != store.OfferConfirmed || got.Installation.ID == "" {
			t.Errorf("woken with %+v", got)
		}
		if spent := time.Since(start); spent != 0 {
			t.Errorf("waited %v", spent)
		}
	})
}

// An offer that ends by time wakes nobody, so the wait ends with it.
func TestGetPairingWaitsNoLongerThanTheOffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		o := h.offer(h.phone)
		h.clock.Advance(2*time.Minute - 10*time.Second)
		start := time.Now()
		got, err := h.app.GetPairing(t.Context(), h.phone.Principal, app.GetPairing{Offer: o.ID, Known: store.OfferOpen, Wait: 25 * time.Second})
		check(t, err)
		if spent := time.Since(start); spent != 10*time.Second || got.State != store.OfferOpen {
			t.Errorf("waited %v, state %d", spent, got.State)
		}
		h.clock.Advance(10 * time.Second)
		got, err = h.app.GetPairing(t.Context(), h.phone.Principal, app.GetPairing{Offer: o.ID, Known: store.OfferOpen, Wait: 25 * time.Second})
		check(t, err)
		if got.State != store.OfferDead || time.Since(start) != 10*time.Second {
			t.Errorf("over: state %d", got.State)
		}
	})
}

// What is stored of an offer opens nothing.
func TestOfferAtRest(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	o := h.offer(h.phone)
	r := h.redeem(byQR(t, h, o, newNewcomer(t, store.PlatformIOS)))
	stored := h.storedOffer(h.account, o.ID)
	digits := credential.HashOf(r.Digits.Reveal())
	if cmp.Equal(stored.DigitsHash, digits[:]) {
		t.Error("the digits are under a plain hash: ten thousand tries open it")
	}
	pub, err := proof.ParsePublicKey(stored.Device.PublicKey)
	if err != nil || pub == nil {
		t.Errorf("stored key: %v", err)
	}
}
