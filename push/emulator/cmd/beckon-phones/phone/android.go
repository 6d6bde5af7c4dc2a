package phone

import (
	"context"
	"encoding/json"
	"errors"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

// Vendor is whose push service calls the phone, and with it what kind of phone it
// is. The zero value is APNs.
type Vendor string

// The vendors: Apple's iPhones and Google's Android phones.
const (
	APNs Vendor = "apns"
	FCM  Vendor = "fcm"
)

// ErrHidden answers a push that nobody can see, because the person has switched
// the app's notifications off.
var ErrHidden = errors.New("phone: notifications are switched off")

// ownButtons is the category of what the app itself drew on Android: there is no
// set of buttons that was registered before, it draws one for each action.
const ownButtons = "actions"

// quietChannel is where results go; every other channel may interrupt more. The
// app made both channels with the importance it wants.
const quietChannel = "beckon_result_1"

// notify draws what a data message says, in the place of what has its tag; see
// PROTOCOL.md §7. It gives back what is on the screen then, and ErrHidden.
func (a *App) notify(n device.Notification, p *v1.PushPayload) (device.Notification, error) {
	n.Tag, n.Title, n.Body = n.Data["tag"], n.Data["title"], n.Data["body"]
	n.Thread, n.Category, n.Level = p.GetThread(), ownButtons, device.TimeSensitive
	if n.Data["channel"] == quietChannel {
		n.Level = device.Active
	}
	n.Wake = false
	if n.Tag == "" || n.Title == "" {
		return n, ErrMalformed
	}
	if !a.cfg.Device.Notify(n) {
		return n, ErrHidden
	}
	return n, nil
}

// body is where the payload lies in a push: a member of Apple's, a value of
// Google's data.
func body(n device.Notification) []byte {
	if n.Data != nil {
		return []byte(n.Data["beckon"])
	}
	var whole struct {
		Beckon json.RawMessage `json:"beckon"`
	}
	if json.Unmarshal(n.Payload, &whole) != nil {
		return nil
	}
	return whole.Beckon
}

// MessagesDeleted is called by the system when FCM gave up messages that it had
// stored: only the server knows what they said.
func (a *App) MessagesDeleted(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, a.cfg.Window)
	defer cancel()
	if err := a.Sync(limited); ctx.Err() == nil {
		a.fail(Event{}, err)
	}
}

var _ device.Resyncing = (*App)(nil)
