package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/push/emulator/journal"
)

// entry is one line of the log.
type entry struct {
	Time time.Time `json:"time"`
	// Source is apns or fcm (a request to that vendor), phone (the system and its
	// screen) or app.
	Source string `json:"source"`
	// Phone is whose line it is, also for a request to its address; Vendor calls
	// it.
	Phone  string       `json:"phone,omitempty"`
	Vendor phone.Vendor `json:"vendor,omitempty"`
	// What happened, in a word, and why, in a sentence where there is a reason.
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	// Record is all that the source knows.
	Record json.RawMessage `json:"record"`
}

// lines files what one part of the program writes down in the log.
type lines struct {
	log  *journal.Journal[entry]
	head entry
	// read gives a line its time, what and why, and its phone where head has none.
	read func(raw []byte, e *entry) error
}

// Write takes one line: journals write entry by entry.
func (l lines) Write(line []byte) (int, error) {
	e := l.head
	e.Record = json.RawMessage(bytes.TrimSpace(bytes.Clone(line)))
	if err := l.read(e.Record, &e); err != nil {
		return 0, err
	}
	l.log.Append(e)
	return len(line), nil
}

// whose names the phone that has, or had, an address.
func (h *host) whose(address string, e *entry) {
	if u, ok := h.addresses.Load(address); ok {
		e.Phone, e.Vendor = u.(*unit).app.Name(), u.(*unit).vendor //nolint:forcetypeassert // nothing else is stored
	}
}

func (h *host) readAPNs(raw []byte, e *entry) error {
	var r apns.Record
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	h.whose(strings.ToLower(r.Token), e)
	h.verdict(e, verdict{
		at: r.Time, status: r.Status, word: string(r.Reason), ends: string(r.Answer), stored: r.Stored,
		scripted: r.Scripted, fault: r.Fault, strict: r.Strict,
	})
	return nil
}

func (h *host) readFCM(raw []byte, e *entry) error {
	var r fcm.Record
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	h.whose(r.Token, e)
	h.verdict(e, verdict{
		at: r.Time, status: r.Status, word: string(r.Code), ends: string(r.Answer), stored: r.Stored,
		scripted: r.Scripted, fault: r.Fault, strict: r.Strict,
	})
	if r.Endpoint == fcm.TokenEndpoint {
		e.What = "access token " + e.What
	}
	return nil
}

// verdict is what a vendor did about a request.
type verdict struct {
	at               time.Time
	status           int
	word, ends       string
	stored, scripted bool
	fault            string
	strict           []string
}

func (h *host) verdict(e *entry, v verdict) {
	e.Time = v.at
	var why []string
	if v.scripted {
		why = append(why, h.orders.given(v.fault))
	}
	switch {
	case v.ends != string(apns.Replied):
		e.What = "unanswered"
		why = append(why, "ends: "+v.ends)
	case v.status != 200:
		e.What = "refused"
		why = append(why, strings.TrimSpace(fmt.Sprintf("%d %s", v.status, v.word)))
	default:
		e.What = "accepted"
	}
	if e.What != "accepted" && v.stored {
		why = append(why, "the phone gets it all the same")
	}
	e.Why = strings.Join(append(why, v.strict...), "; ")
}

// reasonsOfPhone says why the system did something.
var reasonsOfPhone = map[string]string{
	device.ByApp: "the app took it away", device.ByBadge: "the badge went to 0", device.ByUninstall: "the app was uninstalled",
	device.ByOffline: "no network, and the push may not be stored", device.ByExpiry: "stored until it ran out",
	device.ByNewer: "Apple stores one push for an app, and a newer one came", device.ByCollapse: "a later push of the same collapse identity came",
	device.ByKeys: "Google stores four collapse keys for an app", device.ByLimit: "Google stores a hundred messages for an app",
	device.ByBudget: "iOS runs few background pushes an hour", device.ByForceQuit: "the person ended the app",
	device.BySwitch: "the person switched the app's notifications off",
}

func readPhone(raw []byte, e *entry) error {
	var r device.Event
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	e.Time, e.What, e.Why = r.Time, string(r.Kind), cmp.Or(reasonsOfPhone[r.Reason], r.Reason)
	switch {
	case r.Resend:
		e.Why = "the same delivery again"
	case r.Kind == device.Replaced:
		e.Why = "a push with the same tag came"
	case r.Kind == device.Ignored:
		e.Why = "the app is not installed"
	case r.Kind == device.Stored:
		e.Why = "the vendor keeps it until the phone can have it"
	case r.Kind == device.Demoted:
		e.Why = "too many messages of high priority showed nothing"
	case r.Failed != "":
		e.Why = because(r.Failed)
	}
	return nil
}

// readApp says why the app did something.
func readApp(r phone.Event, e *entry) {
	e.Time, e.What = r.Time, string(r.Kind)
	switch {
	case r.Result != nil:
		e.Why = r.Action + " → " + outcome(r)
	case r.Error != "":
		e.Why = because(r.Error)
	case r.Why != "":
		e.Why = r.Why
	case r.Kind == phone.Withdrawn:
		e.Why = "settled elsewhere"
	case r.Kind == phone.Synced && r.Removed > 0:
		e.Why = "what was on the screen is settled"
	}
}

// because is an error as a reason.
func because(text string) string { return strings.TrimPrefix(text, "phone: ") }
