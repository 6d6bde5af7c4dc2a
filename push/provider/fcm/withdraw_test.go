package fcm_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/emulator/device"
	emulator "github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/push/provider/fcm"
)

// drawing is an app that draws what has a title and cancels what has none.
type drawing struct {
	d *device.Device
	// took has one entry for each message that the app was handed.
	took chan string
}

func (a *drawing) Receive(_ context.Context, n device.Notification) {
	if title := n.Data[fcm.KeyTitle]; title != "" {
		a.d.Notify(device.Notification{ID: n.ID, App: n.App, Tag: n.Data[fcm.KeyTag], Title: title})
	} else {
		a.d.Remove(n.App, n.Data[fcm.KeyTag])
	}
	a.took <- n.ID
}
func (*drawing) Open(context.Context, device.Notification) error        { return nil }
func (*drawing) Act(context.Context, device.Notification, string) error { return nil }

// B5, B36: withdrawals and badges have normal priority and no notification, so
// that neither the rate of a device nor the trust in the app's high priority is
// spent on them: after 300 of each within an hour the next decision comes at
// once, to a phone that dozes too.
func TestWithdraw_B5_DecisionAfterManyAtGoogle(t *testing.T) {
	t.Parallel()
	const many = 300
	for name, doze := range map[string]bool{"awake": false, "dozing": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := before(t)
			var mu sync.Mutex
			now := time.Now()
			d := device.New(device.Config{Name: "pixel", System: device.Android, Now: func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return now
			}})
			t.Cleanup(d.Close)
			m := decision()
			m.Address.Token = m.Address.Token[:40] + "withdraw" + m.Address.Token[48:]
			m.ExpiresAt = now.Add(24 * time.Hour)
			app := &drawing{d: d, took: make(chan string, 3*many)}
			if err := d.Install(m.Address.Topic, app); err != nil {
				t.Fatal(err)
			}
			if err := s.google.AddDevice(emulator.Registration{App: m.Address.Topic, Token: m.Address.Token, Phone: d}); err != nil {
				t.Fatal(err)
			}
			d.SetDoze(doze)
			for i := range many {
				m.CollapseID = push.CollapseID(fmt.Sprint(i))
				want(t, s.push(t, m), push.OK, "")
				<-app.took
				quiet := m
				quiet.Text, quiet.Payload.Actions = push.Text{}, nil
				for _, kind := range []push.Kind{push.Withdraw, push.BadgeOnly} {
					if quiet.Payload.Kind = kind; kind == push.BadgeOnly {
						quiet.CollapseID = ""
					}
					want(t, s.push(t, quiet), push.OK, "")
					if !doze {
						<-app.took
					}
				}
				mu.Lock()
				now = now.Add(12 * time.Second)
				mu.Unlock()
			}
			m.CollapseID = push.CollapseID("last")
			want(t, s.push(t, m), push.OK, "")
			<-app.took
			if n := d.Rings(m.Address.Topic); n != many+1 {
				t.Errorf("rang %d times", n)
			}
			for _, e := range d.History().All() {
				if e.Kind == device.Demoted {
					t.Fatal("the app has lost its high priority")
				}
			}
			if n := len(d.Shown(m.Address.Topic)); !doze && n != 1 {
				t.Errorf("%d shown", n)
			}
		})
	}
}
