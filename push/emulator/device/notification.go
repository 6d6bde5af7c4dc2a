package device

import (
	"encoding/json"
	"time"
)

// Level says how much an alert may interrupt, in the words of iOS, which has the
// finest scale (Apple: "UNNotificationInterruptionLevel").
type Level string

// The levels, from the quietest up. An alert without one is Active.
const (
	Passive       Level = "passive"
	Active        Level = "active"
	TimeSensitive Level = "time-sensitive"
	Critical      Level = "critical"
)

// Notification is one accepted push as a vendor hands it to a phone.
type Notification struct {
	// ID is the vendor's name of this delivery (apns-id, FCM message name). A
	// sender that repeats a send may use it twice.
	ID string
	// App is the installed program it is for: bundle id or package name.
	App string
	// Tag is the replacement identity (apns-collapse-id, Android tag); empty for
	// none.
	Tag string
	// Alert tells that something appears on the screen. Without it only badge
	// and background effects happen.
	Alert bool

	Title, Subtitle, Body string
	// LocKey and LocArgs are the text the app translates by itself.
	LocKey   string
	LocArgs  []string
	Sound    string
	Category string // names the set of action buttons
	Thread   string // groups alerts on the screen
	Level    Level

	// Badge is the absolute number for the app's icon; nil leaves it alone.
	Badge *int
	// Wake asks the system to hand the push to the app in the background.
	Wake bool
	// Mutable asks the system to run the app's extension on it.
	Mutable bool
	// Background marks a push that the system may put off or drop to save power
	// (apns-push-type background).
	Background bool
	// Expires is when the vendor stops storing it; zero for not stated.
	Expires time.Time
	// NowOrNever tells the vendor not to store it at all (apns-expiration 0, FCM
	// TTL "0s").
	NowOrNever bool
	// Data has the fields of an FCM message.
	Data map[string]string
	// Payload is the whole message as sent, for the app to read its own fields.
	Payload json.RawMessage
}

// Shown is one alert on the screen.
type Shown struct {
	// Key names it among what the app has on screen: the tag where it has one,
	// else an identity made from the delivery's ID.
	Key string
	Notification
	// At is when it appeared or was last replaced.
	At time.Time
}
