package device

import "time"

// Kind names what happened on the phone.
type Kind string

// The kinds of Event.
const (
	Rang      Kind = "rang"      // a new alert interrupted the person
	Appeared  Kind = "appeared"  // a new alert, quiet
	Replaced  Kind = "replaced"  // an alert took the place of one with its tag
	Removed   Kind = "removed"   // taken off the screen, see Event.Reason
	Badged    Kind = "badged"    // the app's badge was set
	Received  Kind = "received"  // a push was handed to the app
	Opened    Kind = "opened"    // the person tapped an alert
	Acted     Kind = "acted"     // the person tapped an action button
	Dismissed Kind = "dismissed" // the person swiped an alert away
	Ignored   Kind = "ignored"   // the app is not installed

	Stored  Kind = "stored"  // the vendor keeps a push for later
	Lost    Kind = "lost"    // a push the sender believes delivered is gone, see Event.Reason
	Demoted Kind = "demoted" // FCM took a message's high priority away
	Deleted Kind = "deleted" // the app was told that FCM deleted messages

	WentOffline Kind = "went-offline" // no network
	WentOnline  Kind = "went-online"
	Dozed       Kind = "dozed" // Android's Doze
	Woke        Kind = "woke"
	SwitchedOff Kind = "switched-off" // the person forbade the app's notifications
	SwitchedOn  Kind = "switched-on"
	Quit        Kind = "quit" // the person ended the app: force-quit, force-stop
	Launched    Kind = "launched"
)

// Reasons of a Removed event.
const (
	ByApp       = "app"       // the app took its own alert away
	ByBadge     = "badge"     // the badge went to 0
	ByUninstall = "uninstall" // the app is gone
)

// Reasons of a Lost event; BySwitch and ByForceQuit also of Removed ones.
const (
	ByOffline   = "offline"    // not storable, and the phone was not reachable
	ByExpiry    = "expiry"     // stored for too long
	ByNewer     = "newer"      // APNs stores one push for an app
	ByCollapse  = "collapse"   // a later push of the same collapse identity
	ByKeys      = "keys"       // FCM stores four collapse keys for an app
	ByLimit     = "limit"      // FCM stores a hundred messages for an app
	ByBudget    = "budget"     // iOS runs few background pushes an hour
	ByForceQuit = "force-quit" // the person ended the app
	BySwitch    = "switch"     // the person switched the app's notifications off
)

// Event is one line of a phone's history.
type Event struct {
	Seq    int       `json:"seq"`
	Time   time.Time `json:"time"`
	Device string    `json:"device"`
	App    string    `json:"app"`
	Kind   Kind      `json:"kind"`
	Key    string    `json:"key,omitempty"`
	ID     string    `json:"id,omitempty"`
	Tag    string    `json:"tag,omitempty"`
	Title  string    `json:"title,omitempty"`
	Body   string    `json:"body,omitempty"`
	LocKey string    `json:"loc_key,omitempty"`
	Level  Level     `json:"level,omitempty"`
	Badge  *int      `json:"badge,omitempty"`
	Action string    `json:"action,omitempty"`
	Reason string    `json:"reason,omitempty"`
	// Resend marks a replacement by a repeated delivery: same vendor ID.
	Resend bool `json:"resend,omitempty"`
	// Failed carries the error of the app's callback of Opened and Acted.
	Failed string `json:"failed,omitempty"`
}
