package apns_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	emulator "github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

// deaf is an app that does nothing with what it is handed.
type deaf struct{}

func (deaf) Receive(context.Context, device.Notification)           {}
func (deaf) Open(context.Context, device.Notification) error        { return nil }
func (deaf) Act(context.Context, device.Notification, string) error { return nil }

// phone adds a device whose app was ended by its person, so that only what the
// system does by itself can change the screen.
func (b *bundle) phone(t *testing.T, to push.Address) *device.Device {
	t.Helper()
	d := device.New(device.Config{Name: "phone"})
	t.Cleanup(d.Close)
	if err := d.Install(to.Topic, deaf{}); err != nil {
		t.Fatal(err)
	}
	d.ForceQuit(to.Topic)
	err := b.emulator.AddDevice(emulator.Registration{Token: to.Token, Topic: to.Topic, Env: emulator.Sandbox, Phone: d})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// alertFor is the alert of a decision on the phone, with the badge at its time.
func alertFor(dec string, badge uint32) push.Message {
	m := decision()
	m.Address.Token = strings.Repeat("b2", 32)
	m.ProviderID, m.CollapseID = push.ProviderID("dlv "+dec), push.CollapseID(dec)
	m.Payload.Decision, m.Payload.Badge.Count = dec, badge
	m.ExpiresAt = time.Now().Add(time.Hour)
	return m
}

// back is what takes it back.
func back(m push.Message, title string, badge uint32) push.Message {
	m.ProviderID = push.ProviderID("back " + m.ProviderID)
	m.Text = push.Text{Title: title}
	m.Payload.Kind, m.Payload.Actions, m.Payload.Asked = push.Withdraw, nil, ""
	m.Payload.Badge.Count = badge
	return m
}

func titles(d *device.Device, app string) (all []string) {
	for _, s := range d.Shown(app) {
		all = append(all, s.Title)
	}
	return all
}

// B4: clearing must not need the app. The alert of a phone whose app was ended
// is replaced by the system, and nothing rings.
func TestWithdraw_B4_ReplacesWithoutTheApp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alert := alertFor("dec_1", 1)
	d := b.phone(t, alert.Address)
	wantOK(t, b.send(t, alert))
	wantOK(t, b.send(t, back(alert, "Handled on another device", 0)))
	if diff := cmp.Diff([]string{"Handled on another device"}, titles(d, alert.Address.Topic)); diff != "" {
		t.Errorf("on the screen (-want +got):\n%s", diff)
	}
	shown := d.Shown(alert.Address.Topic)[0]
	if shown.Level != device.Passive || shown.Sound != "" || shown.Category != "" || !shown.Mutable {
		t.Errorf("replaced by %+v", shown.Notification)
	}
	if n := d.Rings(alert.Address.Topic); n != 1 {
		t.Errorf("rang %d times", n)
	}
}

// B6: a badge of 0 erases everything of the app. Two are shown and one is
// handled: the other one remains, and the number is 1. When nothing is left to
// count, the number is left to the app.
func TestWithdraw_B6_TheOtherAlertRemains(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := alertFor("dec_1", 1), alertFor("dec_2", 2)
	d := b.phone(t, first.Address)
	wantOK(t, b.send(t, first))
	wantOK(t, b.send(t, second))
	wantOK(t, b.send(t, back(first, "Handled on another device", 1)))
	topic := first.Address.Topic
	if diff := cmp.Diff([]string{second.Text.Title, "Handled on another device"}, titles(d, topic)); diff != "" {
		t.Errorf("on the screen (-want +got):\n%s", diff)
	}
	if n := d.Badge(topic); n != 1 {
		t.Errorf("badge %d", n)
	}
	wantOK(t, b.send(t, back(second, "Expired: nothing was run", 0)))
	if n := len(d.Shown(topic)); n != 2 {
		t.Errorf("%d alerts are left: a push must not clear the screen", n)
	}
}
