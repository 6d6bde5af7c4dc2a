package app_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
)

func TestTestPush_RingsOnlyTheCaller(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	none, err := h.app.TestPush(t.Context(), h.phone.Principal, "")
	check(t, err)
	if len(none) != 0 {
		t.Errorf("without an endpoint: %v", none)
	}
	h.newAddress(h.phone, "aa")
	h.newAddress(h.newDevice(h.account, store.PlatformIOS), "bb")
	h.update(h.account, func(tx *store.Tx) error { return tx.PutSettings(store.Settings{Level: store.LevelFull}) })
	planned, err := h.app.TestPush(t.Context(), h.phone.Principal, "")
	check(t, err)
	if len(planned) != 1 || planned[0].Device.ID != h.phone.Installation || planned[0].Sentence != "waiting to be sent" {
		t.Fatalf("planned %+v", planned)
	}
	first := h.deliver()
	if diff := cmp.Diff([]string{"test: Beckon can reach this device"}, said(first[h.phone.Installation])); diff != "" || len(first) != 1 {
		t.Fatalf("sent %v (-want +got):\n%s", first, diff)
	}
	lines, _ := h.told(app.ListDeliveries{})
	if want := "test " + h.phone.Installation + " accepted: accepted by Apple 0 s after it was asked"; len(lines) != 1 || lines[0] != want {
		t.Errorf("told %q", lines)
	}
	_, err = h.app.TestPush(t.Context(), h.phone.Principal, "")
	check(t, err)
	second := h.deliver()[h.phone.Installation]
	if len(second) != 1 || second[0].CollapseID == first[h.phone.Installation][0].CollapseID {
		t.Error("a second test would not ring again")
	}
}

// A test says why it does not ring, also where an alert would not be planned.
func TestTestPush_SaysWhyNot(t *testing.T) {
	t.Parallel()
	for state, want := range map[push.AddressState]string{
		push.AddressDead:   "not sent: the address was dead already; the app has to register again",
		push.AddressDenied: "not sent: notifications are switched off on this device",
	} {
		h := newHarness(t)
		a := h.newAddress(h.phone, "aa")
		a.State = state
		h.update(h.account, func(tx *store.Tx) error { return tx.UpdateAddress(a) })
		_, err := h.app.TestPush(t.Context(), h.phone.Principal, "")
		check(t, err)
		if sent := h.deliver(); len(sent) > 0 {
			t.Errorf("%s: sent %v", state, sent)
		}
		page, err := h.app.ListDeliveries(t.Context(), h.phone.Principal, app.ListDeliveries{})
		check(t, err)
		if len(page.Rows) != 1 || page.Rows[0].Sentence != want {
			t.Errorf("%s: %+v", state, page.Rows)
		}
	}
}

// Another device of the account can be tried out too, and nobody else's.
func TestTestPush_RingsTheNamedDevice(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	desk := h.newDevice(h.account, store.PlatformDesktop)
	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	h.newAddress(h.phone, "aa")
	h.newAddress(desk, "bb")
	_, err := h.app.TestPush(t.Context(), desk.Principal, h.phone.Installation)
	check(t, err)
	if sent := h.deliver(); len(sent) != 1 || len(sent[h.phone.Installation]) != 1 {
		t.Errorf("sent %v", sent)
	}
	_, err = h.app.TestPush(t.Context(), stranger.Principal, h.phone.Installation)
	sameError(t, err, store.ErrNotFound)
	h.alterDevice(h.phone, func(i *store.Installation) { i.State = store.InstallationRevoked })
	_, err = h.app.TestPush(t.Context(), desk.Principal, h.phone.Installation)
	sameError(t, err, store.ErrNotFound)
}
