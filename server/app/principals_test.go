package app_test

import (
	"testing"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// personVerbs are the verbs that only a person's device may call, each with
// things of the harness's own account.
func personVerbs(t *testing.T, h *harness) map[string]func(p policy.Principal) error {
	digits := credential.NewSecret("1234")
	terminal := h.newDevice(h.account, store.PlatformTerminal)
	offer := h.offer(h.phone)
	level := store.LevelIDs
	return map[string]func(p policy.Principal) error{
		"OfferPairing": func(p policy.Principal) error { _, err := h.app.OfferPairing(t.Context(), p); return err },
		"ConfirmPairing": func(p policy.Principal) error {
			_, err := h.app.ConfirmPairing(t.Context(), p, offer.ID, digits)
			return err
		},
		"GetPairing": func(p policy.Principal) error {
			_, err := h.app.GetPairing(t.Context(), p, app.GetPairing{Offer: offer.ID})
			return err
		},
		"RequestUnlock": func(p policy.Principal) error { _, err := h.app.RequestUnlock(t.Context(), p); return err },
		"UnlockTerminal": func(p policy.Principal) error {
			_, err := h.app.UnlockTerminal(t.Context(), p, terminal.Installation, digits)
			return err
		},
		"Elevate": func(p policy.Principal) error {
			return h.app.Elevate(t.Context(), p, h.elevation(h.phone, "a nonce of sixteen"))
		},
		"PutInstallation": func(p policy.Principal) error {
			_, err := h.app.PutInstallation(t.Context(), p, app.PutInstallation{})
			return err
		},
		"ListInstallations":  func(p policy.Principal) error { _, err := h.app.ListInstallations(t.Context(), p); return err },
		"RevokeInstallation": func(p policy.Principal) error { return h.app.RevokeInstallation(t.Context(), p, terminal.Installation) },
		"GetAccount":         func(p policy.Principal) error { _, err := h.app.GetAccount(t.Context(), p); return err },
		"UpdateSettings": func(p policy.Principal) error {
			_, err := h.app.UpdateSettings(t.Context(), p, app.UpdateSettings{Level: &level})
			return err
		},
		"SetKillSwitch": func(p policy.Principal) error {
			_, err := h.app.SetKillSwitch(t.Context(), p, app.SetKillSwitch{Key: "k", On: true})
			return err
		},
		"CreateAgent": func(p policy.Principal) error {
			_, err := h.app.CreateAgent(t.Context(), p, app.CreateAgent{Key: "k", Name: "N"})
			return err
		},
		"LinkAgent": func(p policy.Principal) error {
			_, err := h.app.LinkAgent(t.Context(), p, app.LinkAgent{Agent: h.agent.Agent})
			return err
		},
		"UnlinkAgent": func(p policy.Principal) error { _, err := h.app.UnlinkAgent(t.Context(), p, h.agent.Agent); return err },
		"ListAgents":  func(p policy.Principal) error { _, err := h.app.ListAgents(t.Context(), p); return err },
		"IssueKey":    func(p policy.Principal) error { _, err := h.app.IssueKey(t.Context(), p, h.agent.Agent, 0); return err },
		"RevokeKey":   func(p policy.Principal) error { return h.app.RevokeKey(t.Context(), p, h.agent.Key) },
		"PutAddress": func(p policy.Principal) error {
			_, err := h.app.PutAddress(t.Context(), p, endpoint(1))
			return err
		},
	}
}

func TestProgramsAreNoPersons(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	verbs := personVerbs(t, h)
	before := h.standing(h.account)
	child := policy.Principal{Kind: policy.TaskToken, Agent: h.agent.Agent, Key: h.agent.Key}
	for name, verb := range verbs {
		for _, p := range []policy.Principal{{}, h.agent, child, operator()} {
			refused(t, name+" by "+p.Kind.String(), verb(p), app.ErrWrongPrincipal)
		}
	}
	if got := h.standing(h.account); got != before {
		t.Errorf("the account moved from %+v to %+v", before, got)
	}
}

// The row is read in the transaction of the verb, so a device that was revoked
// after its credential was checked gets nothing any more.
func TestRevokedDevicesAreOut(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	verbs := personVerbs(t, h)
	gone := h.gone()
	before := h.standing(h.account)
	for name, verb := range verbs {
		refused(t, name, verb(gone.Principal), app.ErrRevoked)
	}
	if got := h.standing(h.account); got != before {
		t.Errorf("the account moved from %+v to %+v", before, got)
	}
}

// A device on probation administers nothing.
func TestProbationAdministersNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	verbs := personVerbs(t, h)
	probation, _ := h.pair(h.phone, store.PlatformTerminal)
	before := h.standing(h.account)
	for _, name := range []string{
		"OfferPairing", "ConfirmPairing", "RequestUnlock", "UnlockTerminal", "RevokeInstallation", "UpdateSettings",
		"CreateAgent", "LinkAgent", "UnlinkAgent", "IssueKey", "RevokeKey",
	} {
		refused(t, name, verbs[name](probation.Principal), app.ErrWrongPrincipal)
	}
	if got := h.standing(h.account); got != before {
		t.Errorf("the account moved from %+v to %+v", before, got)
	}
	for _, name := range []string{"PutInstallation", "ListInstallations", "GetAccount", "ListAgents", "PutAddress"} {
		refused(t, name, verbs[name](probation.Principal), nil)
	}
}

// A foreign id is like an unknown and like a malformed one, and nothing happens
// in the account it is of.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	victim := h.newAccount()
	theirs := h.newDevice(victim, store.PlatformTerminal)
	phone := h.newDevice(victim, store.PlatformIOS)
	agent, _ := h.newAgent(victim, "Theirs")
	h.putAddress(phone, endpoint(9))
	offer := h.offer(phone)
	h.elevate(h.phone)
	before := h.standing(victim)
	digits := credential.NewSecret("1234")
	for _, test := range []struct {
		verb, foreign, kind string
		call                func(id string) error
	}{
		{"ConfirmPairing", offer.ID, store.KindOffer, func(id string) error {
			_, err := h.app.ConfirmPairing(t.Context(), h.phone.Principal, id, digits)
			return err
		}},
		{"GetPairing", offer.ID, store.KindOffer, func(id string) error {
			_, err := h.app.GetPairing(t.Context(), h.phone.Principal, app.GetPairing{Offer: id})
			return err
		}},
		{"UnlockTerminal", theirs.Installation, store.KindInstallation, func(id string) error {
			_, err := h.app.UnlockTerminal(t.Context(), h.phone.Principal, id, digits)
			return err
		}},
		{"RevokeInstallation", theirs.Installation, store.KindInstallation, func(id string) error {
			return h.app.RevokeInstallation(t.Context(), h.phone.Principal, id)
		}},
		{"UnlinkAgent", agent.Agent, store.KindAgent, func(id string) error {
			_, err := h.app.UnlinkAgent(t.Context(), h.phone.Principal, id)
			return err
		}},
		{"IssueKey", agent.Agent, store.KindAgent, func(id string) error {
			_, err := h.app.IssueKey(t.Context(), h.phone.Principal, id, 0)
			return err
		}},
		{"RevokeKey", agent.Key, "", func(id string) error {
			return h.app.RevokeKey(t.Context(), h.phone.Principal, id)
		}},
	} {
		unknown, err := store.NewID(test.kind, h.account, h.clock.Now(), zeros{})
		check(t, err)
		nobodys, err := store.NewID(test.kind, "0123456789abcdef", h.clock.Now(), zeros{})
		check(t, err)
		for _, id := range []string{test.foreign, unknown, nobodys, "", "x", test.foreign + "x", test.foreign + "\x00x"} {
			refused(t, test.verb+" of "+id, test.call(id), store.ErrNotFound)
		}
	}
	for _, id := range []string{"", "agt_", h.phone.Installation} {
		_, err := h.app.LinkAgent(t.Context(), h.phone.Principal, app.LinkAgent{Agent: id})
		refused(t, "LinkAgent of "+id, err, store.ErrNotFound)
	}
	if got := h.standing(victim); got != before {
		t.Errorf("the other account moved from %+v to %+v", before, got)
	}
	if got := h.addresses(victim); len(got) != 1 || got[0].State != push.AddressOK {
		t.Errorf("addresses of the other account: %+v", got)
	}
}
