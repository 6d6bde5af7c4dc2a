package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// endpoint is an APNs registration whose token starts with a byte.
func endpoint(first byte) app.PutAddress {
	return app.PutAddress{
		Kind: push.KindAPNs, Token: strings.Repeat(fmt.Sprintf("%02x", first), 32), Env: push.EnvProduction, Topic: "dev.beckon.app",
	}
}

func (h *harness) putAddress(d device, c app.PutAddress) push.Address {
	h.t.Helper()
	adr, err := h.app.PutAddress(h.t.Context(), d.Principal, c)
	check(h.t, err)
	return adr
}

func (h *harness) addresses(account string) []push.Address {
	h.t.Helper()
	var out []push.Address
	h.view(account, func(tx *store.Read) (err error) {
		out, err = tx.Addresses()
		return err
	})
	return out
}

// owned reports whether pushes to an address may go out at all.
func (h *harness) owned(adr push.Address) bool {
	h.t.Helper()
	owned := false
	h.view(adr.Account, func(tx *store.Read) error {
		owner, err := tx.Owner(adr)
		owned = owner.Account == adr.Account && owner.Address == adr.ID && owner.Generation == adr.Generation
		return err
	})
	return owned
}

func TestPutAddress(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	before := h.standing(h.account)
	c := endpoint(0xab)
	c.Token = strings.ToUpper(c.Token)
	adr := h.putAddress(h.phone, c)
	want := push.Address{
		ID: adr.ID, Account: h.account, Installation: h.phone.Installation, Kind: push.KindAPNs, Env: push.EnvProduction,
		Token: strings.ToLower(c.Token), Topic: c.Topic, AccountTag: adr.AccountTag, Generation: 1,
		RegisteredAt: h.clock.Now(), State: push.AddressOK, Locale: "en", Level: push.LevelIDs,
	}
	if diff := cmp.Diff([]push.Address{want}, h.addresses(h.account)); diff != "" {
		t.Errorf("stored:\n%s", diff)
	}
	if !h.owned(adr) {
		t.Error("the registry does not name it")
	}
	if inst := h.storedDevice(h.phone); inst.Health != store.PushOK {
		t.Errorf("health %d", inst.Health)
	}
	if put, _ := h.seen(h.account, h.phone.Installation, before.Seq); !put {
		t.Error("the device does not see that it is registered")
	}
	if strings.Contains(adr.AccountTag, h.account) || len(adr.AccountTag) < 40 {
		t.Errorf("account tag %q", adr.AccountTag)
	}
	other := h.newDevice(h.newAccount(), store.PlatformIOS)
	if tag := h.putAddress(other, endpoint(1)).AccountTag; tag == adr.AccountTag {
		t.Error("two accounts have one tag")
	}
	if tag := h.putAddress(h.newDevice(h.account, store.PlatformIOS), endpoint(2)).AccountTag; tag != adr.AccountTag {
		t.Error("one account has two tags")
	}
}

func TestPutAddressAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	first := h.putAddress(h.phone, endpoint(1))
	h.update(h.account, func(tx *store.Tx) error { // the vendor thought it dead
		sick := first
		sick.State = push.AddressDead
		inst, err := tx.Installation(h.phone.Installation)
		if err != nil {
			return err
		}
		inst.Health = store.PushDead
		if err := tx.PutInstallation(inst); err != nil {
			return err
		}
		return tx.UpdateAddress(sick)
	})
	h.clock.Advance(time.Hour)
	again := h.putAddress(h.phone, endpoint(1))
	want := first
	want.RegisteredAt = h.clock.Now()
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("the same endpoint again:\n%s", diff)
	}
	if inst := h.storedDevice(h.phone); inst.Health != store.PushOK {
		t.Errorf("health %d", inst.Health)
	}
	before := h.standing(h.account)
	h.putAddress(h.phone, endpoint(1))
	if got := h.standing(h.account); got != before {
		t.Error("a registration that changes nothing is news to others")
	}
}

// A rotated token takes the place of the one before: same row, new generation,
// and what waits goes to it.
func TestPutAddressRotated(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	old := h.putAddress(h.phone, endpoint(1))
	_, held := h.startTask("one")
	h.ask(held, "write", decision.WriteReversible)
	rotated := h.putAddress(h.phone, endpoint(2))
	if diff := cmp.Diff(old, rotated, cmpopts.IgnoreFields(push.Address{}, "Token", "Generation")); diff != "" {
		t.Errorf("rotation changes more than the token:\n%s", diff)
	}
	if rotated.Generation <= old.Generation {
		t.Errorf("generation %d after %d: a verdict on the old token would hit the new one", rotated.Generation, old.Generation)
	}
	if h.owned(old) || !h.owned(rotated) {
		t.Error("the registry names the old token")
	}
	if got := h.addresses(h.account); len(got) != 1 {
		t.Errorf("%d addresses", len(got))
	}
	h.view(h.account, func(tx *store.Read) error {
		rows, err := tx.Deliveries()
		if len(rows) != 1 || rows[0].State != push.Pending || rows[0].Address != rotated.ID {
			t.Errorf("what waited: %+v", rows)
		}
		return err
	})
	back := h.putAddress(h.phone, endpoint(1))
	if back.Generation <= rotated.Generation {
		t.Errorf("generation %d when the token came back", back.Generation)
	}
}

func TestEndpointMovesBetweenDevices(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	first := h.putAddress(h.phone, endpoint(1))
	_, held := h.startTask("one")
	h.ask(held, "write", decision.WriteReversible)
	second := h.newDevice(h.account, store.PlatformIOS)
	moved := h.putAddress(second, endpoint(1))
	if moved.Generation <= first.Generation || h.owned(first) || !h.owned(moved) {
		t.Errorf("moved from %+v to %+v", first, moved)
	}
	if got := h.addresses(h.account); len(got) != 1 || got[0].Installation != second.Installation {
		t.Errorf("addresses %+v", got)
	}
	if inst := h.storedDevice(h.phone); inst.Health != store.PushNone {
		t.Errorf("the device that lost it is told health %d", inst.Health)
	}
	h.view(h.account, func(tx *store.Read) error {
		rows, err := tx.Deliveries()
		if len(rows) != 1 || rows[0].State != push.DeadAddress {
			t.Errorf("what waited: %+v", rows)
		}
		return err
	})

	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	gone := h.putAddress(stranger, endpoint(1))
	if h.owned(moved) || !h.owned(gone) || gone.Generation <= moved.Generation {
		t.Error("another account logged in on the phone, and the first still rings it")
	}
	if gone.AccountTag == moved.AccountTag {
		t.Error("the phone cannot tell the accounts apart")
	}
}

func TestPutAddressRefusals(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *app.Config) {
		c.Apps = []app.PushApp{{ID: "mail", Topics: []string{"dev.mail", "dev.mail.beta"}}, {ID: "open"}}
	})
	mail := h.newDevice(h.account, store.PlatformIOS)
	h.update(h.account, func(tx *store.Tx) error {
		inst, err := tx.Installation(mail.Installation)
		inst.App = "mail"
		if err != nil {
			return err
		}
		return tx.PutInstallation(inst)
	})
	for name, test := range map[string]struct {
		field  string
		change func(*app.PutAddress)
	}{
		"no kind":       {"kind", func(c *app.PutAddress) { c.Kind = "" }},
		"unknown kind":  {"kind", func(c *app.PutAddress) { c.Kind = "pigeon" }},
		"no token":      {"token", func(c *app.PutAddress) { c.Token = "" }},
		"short":         {"token", func(c *app.PutAddress) { c.Token = strings.Repeat("a", 30) }},
		"long":          {"token", func(c *app.PutAddress) { c.Token = strings.Repeat("a", 202) }},
		"odd":           {"token", func(c *app.PutAddress) { c.Token = strings.Repeat("a", 33) }},
		"not hex":       {"token", func(c *app.PutAddress) { c.Token = strings.Repeat("g", 64) }},
		"no env":        {"environment", func(c *app.PutAddress) { c.Env = "" }},
		"unknown env":   {"environment", func(c *app.PutAddress) { c.Env = "test" }},
		"no topic":      {"topic", func(c *app.PutAddress) { c.Topic = "" }},
		"another topic": {"topic", func(c *app.PutAddress) { c.Topic = "dev.other" }},
	} {
		c := endpoint(1)
		c.Topic = "dev.mail"
		test.change(&c)
		_, err := h.app.PutAddress(t.Context(), mail.Principal, c)
		refusedField(t, name, err, test.field)
	}
	for _, size := range []int{32, 200} {
		c := endpoint(1)
		c.Topic, c.Token = "dev.mail.beta", strings.Repeat("a", size)
		h.putAddress(mail, c)
	}
	h.putAddress(h.phone, endpoint(1)) // an app without topics takes any
}

// android is a registration of an Android phone whose token holds a letter.
func android(letter string) app.PutAddress {
	return app.PutAddress{
		Kind: push.KindFCMToken, Token: "cdefghijklmnopqrstuvwx:APA91b" + strings.Repeat(letter, 134), Topic: "dev.beckon.app",
	}
}

func installation(letter string) app.PutAddress {
	return app.PutAddress{Kind: push.KindFCMFID, Token: "d" + strings.Repeat(letter, 21), Topic: "dev.beckon.app"}
}

func TestPutAddressOfAndroid(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	adr := h.putAddress(h.phone, android("B"))
	want := push.Address{
		ID: adr.ID, Account: h.account, Installation: h.phone.Installation, Kind: push.KindFCMToken,
		Token: android("B").Token, Topic: "dev.beckon.app", AccountTag: adr.AccountTag, Generation: 1,
		RegisteredAt: h.clock.Now(), State: push.AddressOK, Locale: "en", Level: push.LevelIDs,
	}
	if diff := cmp.Diff([]push.Address{want}, h.addresses(h.account)); diff != "" {
		t.Errorf("stored:\n%s", diff)
	}
	if !h.owned(adr) {
		t.Error("the registry does not name it")
	}
}

// Google moves apps from registration tokens to installation ids: a phone that
// registers both in turn is one endpoint, or it would ring twice.
func TestPutAddressFromTokenToInstallationID(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	old := h.putAddress(h.phone, android("B"))
	for _, c := range []app.PutAddress{android("C"), installation("E"), installation("F"), android("B")} {
		adr := h.putAddress(h.phone, c)
		all := h.addresses(h.account)
		if len(all) != 1 || all[0].ID != old.ID || all[0].Kind != c.Kind || all[0].Token != c.Token || !h.owned(adr) {
			t.Errorf("after %s: %+v", c.Kind, all)
		}
	}
	if h.putAddress(h.phone, endpoint(1)).ID == old.ID || len(h.addresses(h.account)) != 2 {
		t.Error("another vendor's endpoint took the place of this one")
	}
}

func TestPutAddressOfAndroidRefusals(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for name, test := range map[string]struct {
		field  string
		change func(*app.PutAddress)
	}{
		"short token":   {"token", func(c *app.PutAddress) { c.Token = strings.Repeat("a", 31) }},
		"long token":    {"token", func(c *app.PutAddress) { c.Token = strings.Repeat("a", 513) }},
		"space":         {"token", func(c *app.PutAddress) { c.Token += " " }},
		"line":          {"token", func(c *app.PutAddress) { c.Token += "\n" }},
		"not ASCII":     {"token", func(c *app.PutAddress) { c.Token += "é" }},
		"token as id":   {"token", func(c *app.PutAddress) { c.Kind = push.KindFCMFID }},
		"short id":      {"token", func(c *app.PutAddress) { *c = installation("a"); c.Token = c.Token[1:] }},
		"first letter":  {"token", func(c *app.PutAddress) { *c = installation("a"); c.Token = "a" + c.Token[1:] }},
		"id of a token": {"token", func(c *app.PutAddress) { c.Token = installation("a").Token }},
		"environment":   {"environment", func(c *app.PutAddress) { c.Env = push.EnvProduction }},
		"no package":    {"topic", func(c *app.PutAddress) { c.Topic = "" }},
	} {
		c := android("B")
		test.change(&c)
		_, err := h.app.PutAddress(t.Context(), h.phone.Principal, c)
		refusedField(t, name, err, test.field)
	}
}

func TestAddressQuota(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(func(l *policy.Limits) { l.AddressesPerDevice = 2 }))
	for i, topic := range []string{"one", "two"} {
		c := endpoint(byte(i))
		c.Topic = topic
		h.putAddress(h.phone, c)
	}
	c := endpoint(9)
	c.Topic = "three"
	_, err := h.app.PutAddress(t.Context(), h.phone.Principal, c)
	refusedQuota(t, "a third", err, "addresses", 2)
	c.Topic = "two"
	h.putAddress(h.phone, c)
	h.putAddress(h.newDevice(h.account, store.PlatformIOS), endpoint(7))
}
