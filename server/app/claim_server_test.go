package app_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

func TestFirstRun(t *testing.T) {
	t.Parallel()
	h := newEmptyHarness(t)
	if h.app.Claimed(t.Context()) {
		t.Fatal("claimed before anybody came")
	}
	link, err := h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{})
	check(t, err)
	if h.app.Claimed(t.Context()) {
		t.Fatal("claimed by a link that nobody used")
	}
	if got := link.ExpireTime.Sub(h.clock.Now()); got != 30*time.Minute {
		t.Errorf("the link lives %v", got)
	}
	d, r := h.redeemLink(link)
	if !h.app.Claimed(t.Context()) {
		t.Error("not claimed after a claim")
	}
	if inst := h.storedDevice(d); inst.State != store.InstallationActive || inst.Label != "Newcomer" {
		t.Errorf("the first installation is %+v", inst)
	}
	if r.Account != link.Account {
		t.Errorf("account %s from a link to %s", r.Account, link.Account)
	}
	h.view(d.Account, func(tx *store.Read) error {
		entries, _, err := tx.AuditEntries(1, 1)
		if len(entries) != 1 || entries[0].Kind != "account.claimed" || entries[0].Actor != d.Installation {
			t.Errorf("audit entry 1 is %+v", entries)
		}
		return err
	})
	if want := fmt.Sprintf("access %s %s 0", d.Account, d.Installation); r.Tokens.Access.Reveal() != want {
		t.Errorf("access token for %q, want %q", r.Tokens.Access.Reveal(), want)
	}
	if _, err := h.app.RefreshToken(t.Context(), h.exchange(d, r.Tokens.Refresh, rand.Text())); err != nil {
		t.Errorf("the first refresh: %v", err)
	}
}

func TestClaimWindow(t *testing.T) {
	t.Parallel()
	h := newEmptyHarness(t)
	d, _ := h.claimServer()
	h.clock.Advance(30*time.Minute - time.Second)
	if _, err := h.app.OfferPairing(t.Context(), d.Principal); err != nil {
		t.Errorf("within the window: %v", err)
	}
	h.clock.Advance(time.Second)
	_, err := h.app.OfferPairing(t.Context(), d.Principal)
	refusedStep(t, "after the window", err, decision.StepVerified)
}

// Of many claims at the same moment one wins.
func TestClaimsAtOnce(t *testing.T) {
	t.Parallel()
	h := newEmptyHarness(t)
	link, err := h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{})
	check(t, err)
	const n = 200
	device := newNewcomer(t, store.PlatformIOS).NewDevice
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			_, errs[i] = h.app.ClaimServer(t.Context(), app.ClaimServer{Secret: link.Secret.Secret(), Device: device})
		})
	}
	wg.Wait()
	owners := 0
	for _, err := range errs {
		if err == nil {
			owners++
		} else if !errors.Is(err, app.ErrBadSecret) {
			t.Errorf("a losing claim: %v", err)
		}
	}
	key, _ := store.AccountKey(link.Account)
	h.view(key, func(tx *store.Read) error {
		all, err := tx.Installations()
		if owners != 1 || len(all) != 1 {
			t.Errorf("%d owners, %d installations", owners, len(all))
		}
		return err
	})
}

func TestClaimRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(h *harness, link app.ClaimLink)
		secret  func(good credential.Token) string
	}{
		"empty":        {secret: func(credential.Token) string { return "" }},
		"typo":         {secret: func(good credential.Token) string { return strings.Replace(good.Reveal(), "_", "-", 1) }},
		"unknown":      {secret: func(credential.Token) string { return newToken(t, credential.KindOwner).Reveal() }},
		"another kind": {secret: func(credential.Token) string { return newToken(t, credential.KindAgent).Reveal() }},
		"another secret": {secret: func(good credential.Token) string {
			guess, err := credential.NewWithID(rand.Reader, credential.KindOwner, good.ID())
			check(t, err)
			return guess.Reveal()
		}},
		"expired": {prepare: func(h *harness, _ app.ClaimLink) { h.clock.Advance(30 * time.Minute) }},
		"used":    {prepare: func(h *harness, link app.ClaimLink) { h.redeemLink(link) }},
		"replaced": {prepare: func(h *harness, _ app.ClaimLink) {
			_, err := h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{})
			check(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newEmptyHarness(t)
			link, err := h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{})
			check(t, err)
			if test.prepare != nil {
				test.prepare(h, link)
			}
			secret := link.Secret.Reveal()
			if test.secret != nil {
				secret = test.secret(link.Secret)
			}
			_, err = h.app.ClaimServer(t.Context(), app.ClaimServer{
				Secret: credential.NewSecret(secret), Device: newNewcomer(t, store.PlatformIOS).NewDevice,
			})
			refused(t, name, err, app.ErrBadSecret)
			if got := h.app.Claimed(t.Context()); got != (name == "used") {
				t.Errorf("claimed is %v", got)
			}
		})
	}
}

// A refused device spends nothing.
func TestClaimByABadDevice(t *testing.T) {
	t.Parallel()
	h := newEmptyHarness(t, func(c *app.Config) { c.Apps = []app.PushApp{{ID: "known"}} })
	link, err := h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{})
	check(t, err)
	for name, test := range map[string]struct {
		field  string
		change func(*app.NewDevice)
	}{
		"no platform":          {"installation.platform", func(d *app.NewDevice) { d.Platform = 0 }},
		"unknown platform":     {"installation.platform", func(d *app.NewDevice) { d.Platform = 6 }},
		"no key":               {"installation.public_key", func(d *app.NewDevice) { d.PublicKey = nil }},
		"off the curve":        {"installation.public_key", func(d *app.NewDevice) { d.PublicKey[64] ^= 1 }},
		"approval malformed":   {"installation.approval_key", func(d *app.NewDevice) { d.ApprovalKey[64] ^= 1 }},
		"one key for both":     {"installation.approval_key", func(d *app.NewDevice) { d.ApprovalKey = d.PublicKey }},
		"approval on terminal": {"installation.approval_key", func(d *app.NewDevice) { d.Platform = store.PlatformTerminal }},
		"unknown app":          {"installation.app_id", func(d *app.NewDevice) { d.App = "stranger" }},
	} {
		d := newNewcomer(t, store.PlatformIOS).NewDevice
		test.change(&d)
		_, err := h.app.ClaimServer(t.Context(), app.ClaimServer{Secret: link.Secret.Secret(), Device: d})
		refusedField(t, name, err, test.field)
	}
	h.redeemLink(link)
}

func TestClaimLinkIsTheOperators(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, kind := range policy.Kinds {
		if kind == policy.Operator {
			continue
		}
		p := h.phone.Principal
		p.Kind = kind
		_, err := h.app.CreateClaimLink(t.Context(), p, app.CreateClaimLink{Reset: true})
		refused(t, kind.String(), err, app.ErrWrongPrincipal)
		_, err = h.app.AddAccount(t.Context(), p)
		refused(t, kind.String(), err, app.ErrWrongPrincipal)
	}
}

func TestClaimLinkRefusals(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, err := h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{})
	refused(t, "claimed", err, app.ErrClaimed)
	_, err = h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{Account: "acc_x"})
	refused(t, "malformed", err, store.ErrNotFound)
	_, err = h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{Account: store.AccountID("0123456789abcdef")})
	refused(t, "unknown", err, store.ErrNotFound)
	h.newAccount()
	_, err = h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{Reset: true})
	refused(t, "several", err, app.ErrNoAccount)
}

// Two starts find no account, and one of them is first.
func TestFirstRunsAtOnce(t *testing.T) {
	t.Parallel()
	other := &meanwhile{}
	h := newEmptyHarness(t, func(c *app.Config) { c.Random = other })
	var links []app.ClaimLink
	run := func() {
		link, err := h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{})
		check(t, err)
		links = append(links, link)
	}
	other.run = run // comes in after the look at the accounts
	run()
	good := 0
	for _, link := range links {
		_, err := h.app.ClaimServer(t.Context(), app.ClaimServer{
			Secret: link.Secret.Secret(), Device: newNewcomer(t, store.PlatformIOS).NewDevice,
		})
		if err == nil {
			good++
		}
	}
	accounts, err := h.store.Accounts(t.Context(), 10)
	check(t, err)
	if len(links) != 2 || len(accounts) != 1 || good != 1 {
		t.Errorf("%d links, %d accounts, %d good links", len(links), len(accounts), good)
	}
}

// meanwhile is a random source in whose first read something else happens.
type meanwhile struct{ run func() }

func (m *meanwhile) Read(p []byte) (int, error) {
	if run := m.run; run != nil {
		m.run = nil
		run()
	}
	return rand.Read(p)
}

func TestOwnerReset(t *testing.T) {
	t.Parallel()
	h := newEmptyHarness(t)
	first, _ := h.claimServer()
	h.clock.Advance(time.Hour)
	before := h.standing(first.Account)
	link, err := h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{Reset: true})
	check(t, err)
	if diff := cmp.Diff([]string{""}, h.audited(first.Account, "account.reset")); diff != "" {
		t.Errorf("audit of the reset:\n%s", diff)
	}
	second, r := h.redeemLink(link)
	if second.Account != first.Account {
		t.Fatal("a reset made another account")
	}
	if put, _ := h.seen(first.Account, second.Installation, before.Seq); !put {
		t.Error("the other devices do not see who came in")
	}
	if _, err := h.app.OfferPairing(t.Context(), second.Principal); err != nil {
		t.Errorf("the window is not open again: %v", err)
	}
	_, err = h.app.OfferPairing(t.Context(), first.Principal)
	refusedStep(t, "the device of before", err, decision.StepVerified)
	if diff := cmp.Diff([]string{"first", "reset"}, h.audited(first.Account, "account.claimed")); diff != "" {
		t.Errorf("audit of the claims:\n%s", diff)
	}
	for _, text := range []string{fmt.Sprintf("%+v %#v", link, link), fmt.Sprintf("%+v %#v", r, r)} {
		if strings.Contains(text, link.Secret.Reveal()) || strings.Contains(text, r.Tokens.Refresh.Reveal()) ||
			strings.Contains(text, r.Tokens.Access.Reveal()) {
			t.Error("a secret prints")
		}
	}
}

// Where several people share a server, its operator may not be the owner.
func TestOwnerResetAmongSeveral(t *testing.T) {
	t.Parallel()
	h := newEmptyHarness(t)
	first, claim := h.claimServer()
	added, err := h.app.AddAccount(t.Context(), operator())
	check(t, err)
	second, _ := h.redeemLink(added)
	if second.Account == first.Account {
		t.Fatal("the added account is the first one")
	}
	link, err := h.app.CreateClaimLink(t.Context(), operator(), app.CreateClaimLink{Account: claim.Account, Reset: true})
	check(t, err)
	if got := link.StartTime.Sub(h.clock.Now()); got != 24*time.Hour {
		t.Errorf("the link waits %v", got)
	}
	h.clock.Advance(24*time.Hour - time.Second)
	_, err = h.app.ClaimServer(t.Context(), app.ClaimServer{
		Secret: link.Secret.Secret(), Device: newNewcomer(t, store.PlatformIOS).NewDevice,
	})
	refused(t, "too early", err, app.ErrBadSecret)
	h.clock.Advance(time.Second)
	h.redeemLink(link)
}

func newToken(t *testing.T, kind credential.Kind) credential.Token {
	t.Helper()
	token, err := credential.New(rand.Reader, kind)
	check(t, err)
	return token
}
