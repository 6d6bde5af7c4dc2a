package app_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

func operator() policy.Principal { return policy.Principal{Kind: policy.Operator} }

// newcomer is a device that has not joined yet.
type newcomer struct {
	app.NewDevice
	key, approval *ecdsa.PrivateKey
}

func newNewcomer(t *testing.T, platform store.Platform) newcomer {
	t.Helper()
	n := newcomer{key: newKey(t)}
	n.NewDevice = app.NewDevice{Platform: platform, Label: "Newcomer", PublicKey: publicKey(t, n.key), Locale: "de"}
	if platform != store.PlatformTerminal {
		n.approval = newKey(t)
		n.ApprovalKey = publicKey(t, n.approval)
	}
	return n
}

// joined is the newcomer as the installation it became.
func (n newcomer) joined(account, installation string) device {
	return device{
		Principal: policy.Principal{Kind: policy.Installation, Account: account, Installation: installation},
		key:       n.key, approval: n.approval,
	}
}

// claimServer is a first run: a link and its claim.
func (h *harness) claimServer() (device, app.ClaimServerResult) {
	h.t.Helper()
	link, err := h.app.CreateClaimLink(h.t.Context(), operator(), app.CreateClaimLink{})
	check(h.t, err)
	return h.redeemLink(link)
}

func (h *harness) redeemLink(link app.ClaimLink) (device, app.ClaimServerResult) {
	h.t.Helper()
	n := newNewcomer(h.t, store.PlatformIOS)
	r, err := h.app.ClaimServer(h.t.Context(), app.ClaimServer{Secret: link.Secret.Secret(), Device: n.NewDevice})
	check(h.t, err)
	account, _ := store.AccountKey(r.Account)
	return n.joined(account, r.Installation.ID), r
}

// elevate shows that the person is at a device.
func (h *harness) elevate(d device) {
	h.t.Helper()
	check(h.t, h.app.Elevate(h.t.Context(), d.Principal, h.elevation(d, rand.Text())))
}

func (h *harness) elevation(d device, nonce string) app.Elevate {
	h.t.Helper()
	signature, err := proof.SignElevate(d.approval, proof.ElevateTuple{
		ServerID: h.app.ServerID(), Account: store.AccountID(d.Account), Installation: d.Installation, Nonce: nonce,
	})
	check(h.t, err)
	return app.Elevate{Nonce: nonce, Proof: signature}
}

// offer makes an offer of a device whose person is there.
func (h *harness) offer(by device) app.PairingOffer {
	h.t.Helper()
	h.elevate(by)
	o, err := h.app.OfferPairing(h.t.Context(), by.Principal)
	check(h.t, err)
	return o
}

// byQR and byCode are the two ways to take up an offer.
func byQR(t *testing.T, h *harness, o app.PairingOffer, n newcomer) app.RedeemPairing {
	t.Helper()
	mac, err := proof.PairMAC([]byte(o.Secret.Reveal()), proof.PairTuple{
		ServerID: h.app.ServerID(), Offer: o.ID, PublicKey: n.PublicKey, Platform: "ios", Label: n.Label,
	})
	check(t, err)
	return app.RedeemPairing{Offer: o.ID, Secret: o.Secret, Device: n.NewDevice, KeyMAC: mac}
}

func byCode(o app.PairingOffer, n newcomer) app.RedeemPairing {
	return app.RedeemPairing{Code: credential.NewSecret(o.Code.Reveal()), Device: n.NewDevice}
}

func (h *harness) redeem(c app.RedeemPairing) app.RedeemedPairing {
	h.t.Helper()
	r, err := h.app.RedeemPairing(h.t.Context(), c)
	check(h.t, err)
	return r
}

// pair lets a newcomer in and returns it with its first tokens.
func (h *harness) pair(by device, platform store.Platform) (device, app.TokenPair) {
	h.t.Helper()
	n := newNewcomer(h.t, platform)
	o := h.offer(by)
	r := h.redeem(byCode(o, n))
	inst, err := h.app.ConfirmPairing(h.t.Context(), by.Principal, o.ID, r.Digits)
	check(h.t, err)
	d := n.joined(by.Account, inst.ID)
	return d, h.collect(r)
}

// collect asks for the tokens of a confirmed offer, as the new device does.
func (h *harness) collect(r app.RedeemedPairing) app.TokenPair {
	h.t.Helper()
	got, err := h.app.GetPairing(h.t.Context(), policy.Principal{}, app.GetPairing{Offer: r.Offer, Redeem: r.Redeem})
	check(h.t, err)
	if got.Tokens == nil {
		h.t.Fatalf("no tokens in state %d", got.State)
	}
	return *got.Tokens
}

// exchange signs a refresh as a device does.
func (h *harness) exchange(d device, token credential.Token, attempt string) app.RefreshToken {
	h.t.Helper()
	signature, err := proof.SignRefresh(d.key, proof.RefreshTuple{
		ServerID: h.app.ServerID(), Account: store.AccountID(d.Account), Installation: d.Installation,
		TokenHash: proof.Digest(token.Hash()), Attempt: attempt,
	})
	check(h.t, err)
	return app.RefreshToken{Token: token.Secret(), Attempt: attempt, Proof: signature}
}

func (h *harness) storedDevice(d device) store.Installation {
	h.t.Helper()
	var inst store.Installation
	h.view(d.Account, func(tx *store.Read) (err error) {
		inst, err = tx.Installation(d.Installation)
		return err
	})
	return inst
}

func (h *harness) storedOffer(account, id string) store.Offer {
	h.t.Helper()
	var o store.Offer
	h.view(account, func(tx *store.Read) (err error) {
		o, err = tx.Offer(id)
		return err
	})
	return o
}

// audited lists outcomes of the account's audit entries of one kind.
func (h *harness) audited(account, kind string) []string {
	h.t.Helper()
	var out []string
	h.view(account, func(tx *store.Read) error {
		entries, _, err := tx.AuditEntries(0, 1<<20)
		for _, e := range entries {
			if e.Kind == kind {
				out = append(out, e.Outcome)
			}
		}
		return err
	})
	return out
}

// standing is where an account is: it moves with every write that anybody can
// see or that the audit knows.
type standing struct {
	Audit uint64
	Seq   changelog.Seq
}

func (h *harness) standing(account string) standing {
	h.t.Helper()
	var s standing
	h.view(account, func(tx *store.Read) error {
		s.Audit, _ = tx.AuditHead()
		pos, err := tx.AsOf(changelog.AccountScope)
		s.Seq = pos.Seq
		return err
	})
	return s
}

// seen reports whether the other devices of an account see an installation, and
// whether they were told that it is gone.
func (h *harness) seen(account, installation string, since changelog.Seq) (put, gone bool) {
	h.t.Helper()
	h.view(account, func(tx *store.Read) error {
		page, err := tx.Changes(changelog.AccountScope, since, 1<<20)
		key := changelog.Key{Kind: changelog.Installation, ID: installation}
		for _, e := range page.Put {
			put = put || e.Key == key
		}
		for _, e := range page.Del {
			gone = gone || e.Key == key
		}
		return err
	})
	return put, gone
}

// refused fails the test unless an error is the wanted one.
func refused(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func refusedField(t *testing.T, what string, got error, field string) {
	t.Helper()
	if e, ok := errors.AsType[*app.FieldError](got); !ok || e.Field != field || e.Reason == "" {
		t.Errorf("%s: got %v, want field %s", what, got, field)
	}
}

func refusedQuota(t *testing.T, what string, got error, quota string, limit int) {
	t.Helper()
	if e, ok := errors.AsType[*app.QuotaError](got); !ok || e.What != quota || e.Max != int64(limit) {
		t.Errorf("%s: got %v, want quota %s of %d", what, got, quota, limit)
	}
}

func refusedStep(t *testing.T, what string, got error, step decision.Step) {
	t.Helper()
	if e, ok := errors.AsType[*app.StepUpError](got); !ok || e.Needed != step {
		t.Errorf("%s: got %v, want step %d", what, got, step)
	}
}
