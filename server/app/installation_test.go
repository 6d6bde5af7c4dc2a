package app_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

func TestPutInstallation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	adr := h.newAddress(h.phone, "aa")
	before := h.standing(h.account)
	label, locale := "My phone", "fr"
	inst, err := h.app.PutInstallation(t.Context(), h.phone.Principal, app.PutInstallation{Label: &label, Locale: &locale})
	check(t, err)
	if inst.Label != label || inst.Locale != locale {
		t.Errorf("answered %+v", inst)
	}
	if diff := cmp.Diff(inst, h.storedDevice(h.phone)); diff != "" {
		t.Errorf("stored:\n%s", diff)
	}
	if put, _ := h.seen(h.account, h.phone.Installation, before.Seq); !put {
		t.Error("the other devices do not see it")
	}
	h.view(h.account, func(tx *store.Read) error {
		got, err := tx.Address(adr.ID)
		if got.Locale != locale {
			t.Errorf("pushes still speak %q", got.Locale)
		}
		return err
	})
	again, err := h.app.PutInstallation(t.Context(), h.phone.Principal, app.PutInstallation{})
	check(t, err)
	if diff := cmp.Diff(inst, again); diff != "" {
		t.Errorf("nothing set, and yet:\n%s", diff)
	}
}

func TestListInstallations(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.clock.Advance(time.Second)
	second := h.newDevice(h.account, store.PlatformWeb)
	h.gone()
	h.newDevice(h.newAccount(), store.PlatformIOS)
	all, err := h.app.ListInstallations(t.Context(), second.Principal)
	check(t, err)
	var ids []string
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	if diff := cmp.Diff([]string{h.phone.Installation, second.Installation}, ids); diff != "" {
		t.Errorf("listed:\n%s", diff)
	}
}

func TestWhoMayRevokeWhom(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	full := h.newDevice(h.account, store.PlatformIOS)
	terminal := h.newDevice(h.account, store.PlatformTerminal)
	one, _ := h.pair(h.phone, store.PlatformIOS)
	two, _ := h.pair(h.phone, store.PlatformIOS)
	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	h.clock.Advance(5 * time.Minute) // the elevation of pairing is over
	revoke := func(by, target device) error {
		return h.app.RevokeInstallation(t.Context(), by.Principal, target.Installation)
	}
	refused(t, "probation revokes a full one", revoke(one, full), app.ErrWrongPrincipal)
	refused(t, "probation revokes another on probation", revoke(one, two), app.ErrWrongPrincipal)
	refusedStep(t, "full revokes full, nobody there", revoke(h.phone, full), decision.StepVerified)
	refusedStep(t, "a terminal revokes full", revoke(terminal, full), decision.StepOtherDevice)
	refused(t, "another account", revoke(stranger, full), store.ErrNotFound)
	refused(t, "an agent", revoke(device{Principal: h.agent}, device{Principal: policy.Principal{Installation: full.Installation}}), app.ErrWrongPrincipal)
	refused(t, "full revokes probation", revoke(h.phone, one), nil)
	refused(t, "probation revokes itself", revoke(two, two), nil)
	refused(t, "a terminal revokes itself", revoke(terminal, terminal), nil)
	h.elevate(h.phone)
	refused(t, "full revokes full", revoke(h.phone, full), nil)
	audited := len(h.audited(h.account, "installation.revoked"))
	refused(t, "again", revoke(h.phone, full), nil)
	if got := len(h.audited(h.account, "installation.revoked")); got != audited || got != 4 {
		t.Errorf("%d audit entries, %d before the repeat", got, audited)
	}
}

// With the commit everything of the device is over.
func TestRevocationEndsEverything(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, pair := h.pair(h.phone, store.PlatformIOS)
	adr := h.newAddress(d, "aa")
	kept := h.newAddress(h.phone, "bb")
	_, held := h.startTask("one")
	asked := h.ask(held, "write", decision.WriteReversible) // two pushes wait
	h.update(h.account, func(tx *store.Tx) error {          // past probation, with an offer and an unlock out
		inst, err := tx.Installation(d.Installation)
		if err != nil {
			return err
		}
		inst.State, inst.ElevatedUntil = store.InstallationActive, tx.Now().Add(time.Hour)
		return tx.PutInstallation(inst)
	})
	offer, err := h.app.OfferPairing(t.Context(), d.Principal)
	check(t, err)
	answer := h.signed(d, asked, "approve")
	before := h.standing(h.account)

	check(t, h.app.RevokeInstallation(t.Context(), d.Principal, d.Installation))

	_, err = h.app.CheckInstallation(t.Context(), d.Account, d.Installation, 0)
	refused(t, "access token", err, app.ErrRevoked)
	_, err = h.app.CheckInstallation(t.Context(), d.Account, d.Installation, 1)
	refused(t, "access token of the new epoch", err, app.ErrRevoked)
	_, err = h.app.RefreshToken(t.Context(), h.exchange(d, pair.Refresh, attemptA))
	refused(t, "refresh token", err, app.ErrRevoked)
	_, err = h.app.AnswerDecision(t.Context(), d.Principal, answer)
	refused(t, "a signed answer", err, app.ErrRevoked)
	_, err = h.app.RedeemPairing(t.Context(), byCode(offer, newNewcomer(t, store.PlatformIOS)))
	refused(t, "its offer", err, app.ErrBadSecret)
	if inst := h.storedDevice(d); inst.AuthEpoch != 1 || !inst.ElevatedUntil.IsZero() {
		t.Errorf("tokens of before still fit its row: %+v", inst)
	}
	if _, gone := h.seen(h.account, d.Installation, before.Seq); !gone {
		t.Error("the other devices are not told")
	}
	h.checkDropped(adr, kept)
}

// checkDropped: the address and what waited for it are gone, another's are not.
func (h *harness) checkDropped(gone, kept push.Address) {
	h.t.Helper()
	h.view(h.account, func(tx *store.Read) error {
		if _, err := tx.Address(gone.ID); err == nil {
			h.t.Error("the address is still there")
		}
		if owner, err := tx.Owner(gone); err != nil || owner.Address != "" {
			h.t.Errorf("the endpoint still belongs to %+v, %v", owner, err)
		}
		rows, err := tx.Deliveries()
		states := map[string]push.State{}
		for _, d := range rows {
			states[d.Address] = d.State
		}
		if diff := cmp.Diff(map[string]push.State{gone.ID: push.DeadAddress, kept.ID: push.Pending}, states); diff != "" {
			h.t.Errorf("deliveries:\n%s", diff)
		}
		return err
	})
	lane := ""
	h.view(h.account, func(tx *store.Read) error {
		rows, err := tx.Deliveries()
		lane = rows[0].Lane
		return err
	})
	claimed, err := h.store.ClaimDeliveries(h.t.Context(), lane, h.clock.Now().Add(time.Hour), 10,
		func(d push.Delivery) (push.Delivery, bool) { return d, true })
	check(h.t, err)
	for _, d := range claimed {
		if d.Address == gone.ID {
			h.t.Error("a worker still finds the push of the revoked device")
		}
	}
}

func TestCheckInstallation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stranger := h.newAccount()
	p, err := h.app.CheckInstallation(t.Context(), h.account, h.phone.Installation, 0)
	check(t, err)
	if diff := cmp.Diff(h.phone.Principal, p); diff != "" {
		t.Errorf("principal:\n%s", diff)
	}
	unknown, err := store.NewID(store.KindInstallation, h.account, h.clock.Now(), zeros{})
	check(t, err)
	for name, test := range map[string]struct {
		account, installation string
		epoch                 uint64
		want                  error
	}{
		"unknown":         {h.account, unknown, 0, app.ErrBadToken},
		"malformed":       {h.account, "ins_", 0, app.ErrBadToken},
		"another account": {stranger, h.phone.Installation, 0, app.ErrBadToken},
		"another epoch":   {h.account, h.phone.Installation, 1, app.ErrRevoked},
	} {
		p, err := h.app.CheckInstallation(t.Context(), test.account, test.installation, test.epoch)
		refused(t, name, err, test.want)
		if p != (policy.Principal{}) {
			t.Errorf("%s: a principal comes with the error", name)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	adr := h.newAddress(h.phone, "aa")
	level := func() (store.ContentLevel, push.Level) {
		got, err := h.app.GetAccount(t.Context(), h.phone.Principal)
		check(t, err)
		if got.ID != store.AccountID(h.account) || got.Installation != h.phone.Installation {
			t.Errorf("account %+v", got)
		}
		var stored push.Address
		h.view(h.account, func(tx *store.Read) (err error) {
			stored, err = tx.Address(adr.ID)
			return err
		})
		return got.Settings.Level, stored.Level
	}
	set := func(l store.ContentLevel) error {
		_, err := h.app.UpdateSettings(t.Context(), h.phone.Principal, app.UpdateSettings{Level: &l})
		return err
	}
	if got, _ := level(); got != store.LevelIDs {
		t.Errorf("the default is %d", got)
	}
	refusedStep(t, "raising", set(store.LevelTitle), decision.StepVerified)
	refusedField(t, "unknown", set(4), "content_level")
	refusedField(t, "unspecified", set(0), "content_level")
	refused(t, "the same", set(store.LevelIDs), nil)
	h.elevate(h.phone)
	check(t, set(store.LevelFull))
	if got, onAddress := level(); got != store.LevelFull || onAddress != push.LevelFull {
		t.Errorf("raised: %d, on the address %q", got, onAddress)
	}
	h.clock.Advance(5 * time.Minute)
	check(t, set(store.LevelTitle))
	if got, onAddress := level(); got != store.LevelTitle || onAddress != push.LevelTitle {
		t.Errorf("lowered: %d, on the address %q", got, onAddress)
	}
	probation, _ := h.pair(h.phone, store.PlatformIOS)
	ids := store.LevelIDs
	_, err := h.app.UpdateSettings(t.Context(), probation.Principal, app.UpdateSettings{Level: &ids})
	refused(t, "on probation", err, app.ErrWrongPrincipal)
	got, err := h.app.UpdateSettings(t.Context(), h.phone.Principal, app.UpdateSettings{})
	check(t, err)
	if got.Settings.Level != store.LevelTitle || len(got.AsOf) == 0 {
		t.Errorf("nothing set: %+v", got)
	}
	if diff := cmp.Diff([]string{"full", "title"}, h.audited(h.account, "settings.level")); diff != "" {
		t.Errorf("audit:\n%s", diff)
	}
}
