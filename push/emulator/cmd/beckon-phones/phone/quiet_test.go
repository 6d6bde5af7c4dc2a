package phone_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

// background hands the phone a push that shows nothing.
func (b *bench) background(id string, p *v1.PushPayload) {
	b.t.Helper()
	raw, err := protojson.Marshal(p)
	b.check(err)
	body, err := json.Marshal(map[string]json.RawMessage{"beckon": raw})
	b.check(err)
	b.device.AcceptAPNs(device.Notification{ID: id, App: topic, Background: true, Wake: true, NowOrNever: true, Payload: body})
}

// A sweep takes away what it names, unless the person has ended the app: then
// iOS does not run it.
func TestSweep_TakesAwayWhatItNames(t *testing.T) {
	t.Parallel()
	for name, quit := range map[string]bool{"running": false, "force-quit": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := paired(t)
			b.push(b.ask())
			arrived := false
			_, err := b.app.History().Find(t.Context(), func(e phone.Event) bool {
				arrived = arrived || e.Kind == phone.Arrived
				return arrived && e.Kind == phone.Synced // a read on its way would tidy the screen itself
			})
			b.check(err)
			if quit {
				b.device.ForceQuit(topic)
			}
			p := b.payloadOf(v1.PushKind_PUSH_KIND_SWEEP, nil)
			p.Tags = []string{"dec/0", "dec/1"}
			b.background("push-2", p)
			if quit {
				if got := b.app.Screen(); len(got) != 1 {
					t.Errorf("shows %v", got)
				}
				return
			}
			if e := b.wait(phone.Withdrawn); e.Removed != 1 || e.Push != "sweep" || e.Decision != "" {
				t.Errorf("took away as %+v", e)
			}
			if got := b.app.Screen(); len(got) != 0 {
				t.Errorf("shows %v", got)
			}
		})
	}
}

// A number alone shows nothing on Android, and an older one changes nothing.
func TestAndroid_CountsWithoutAnAlert(t *testing.T) {
	t.Parallel()
	b := paired(t, android)
	p := b.payloadOf(v1.PushKind_PUSH_KIND_BADGE, nil)
	p.Badge.Count, p.Badge.Version = 4, 10
	b.data("message-1", p, map[string]string{"tag": ""})
	if e := b.wait(phone.Counted); e.Badge == nil || *e.Badge != 4 || e.Push != "badge" {
		t.Errorf("counted as %+v", e)
	}
	late := b.payloadOf(v1.PushKind_PUSH_KIND_BADGE, nil)
	late.Badge.Count, late.Badge.Version = 9, 9
	b.data("message-2", late, map[string]string{"tag": ""})
	_, err := b.app.History().Find(t.Context(), func(e phone.Event) bool { return e.Delivery == "message-2" })
	b.check(err)
	if b.device.Badge(topic) != 4 || len(b.app.Screen()) != 0 || b.device.Rings(topic) != 0 {
		t.Errorf("badge %d, shows %v", b.device.Badge(topic), b.app.Screen())
	}
}
