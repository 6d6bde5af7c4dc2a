package phone

import "time"

// Kind names what the app did.
type Kind string

// The kinds of Event.
const (
	Offered    Kind = "offered"    // redeemed a code; waits for the digits to be typed elsewhere
	Paired     Kind = "paired"     // became an installation of an account
	Unpaired   Kind = "unpaired"   // the server ended the installation
	Registered Kind = "registered" // told the server its device token
	Arrived    Kind = "arrived"    // a push for this account is on the screen
	Dropped    Kind = "dropped"    // a push was thrown away: another account's, or not to be shown
	Withdrawn  Kind = "withdrawn"  // a push took alerts back
	Counted    Kind = "counted"    // a push carried the number and nothing else
	Tapped     Kind = "tapped"     // redeemed a button of the lock screen
	Opened     Kind = "opened"     // opened an alert and read what it is about
	Answered   Kind = "answered"   // answered a decision inside the app
	Synced     Kind = "synced"     // read the account and tidied the screen
	Failed     Kind = "failed"     // could not do something; see Error

	Present     Kind = "present"     // told the server that a person has a thread in front of them
	Left        Kind = "left"        // the thread is no longer in front of them; see Why
	Installed   Kind = "installed"   // is on the phone again, empty
	Uninstalled Kind = "uninstalled" // went from the phone with all it had
)

// Event is one line of the app's own history. It holds no token and no key.
type Event struct {
	Time  time.Time `json:"time"`
	Phone string    `json:"phone"`
	Kind  Kind      `json:"kind"`

	// Delivery is the vendor's id of the push (apns-id, FCM message name).
	Delivery string `json:"delivery,omitempty"`
	Thread   string `json:"thread,omitempty"`
	Task     string `json:"task,omitempty"`
	Decision string `json:"decision,omitempty"`
	Revision uint32 `json:"revision,omitempty"`
	// Push is the kind of push: decision, result, withdraw, sweep, badge or test.
	Push string `json:"push,omitempty"`
	// Action is the button tapped, or the option chosen in the app.
	Action string `json:"action,omitempty"`
	// Auto: the phone tapped by itself.
	Auto   bool    `json:"auto,omitempty"`
	Result *Result `json:"result,omitempty"`
	// Removed counts alerts taken off the screen by a sync or a withdrawal, Badge is the number
	// on the icon after it.
	Removed int  `json:"removed,omitempty"`
	Badge   *int `json:"badge,omitempty"`
	// Fault is the misbehaviour that was switched on.
	Fault Fault  `json:"fault,omitempty"`
	Error string `json:"error,omitempty"`
	// Why says in words how it came to that where nothing failed.
	Why string `json:"why,omitempty"`
}

// Result is what the server said to an answer, in the app or by a tap.
type Result struct {
	// Outcome is a word of AnswerOutcome without its prefix; empty when the
	// answer was refused before it was judged, which Reason then explains.
	Outcome string `json:"outcome,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Status is the HTTP status of a tap.
	Status int `json:"status,omitempty"`
	// AnswerKey is the name the answer was given.
	AnswerKey string `json:"answer_key,omitempty"`
	// Winner is whose answer counts, where one does.
	Winner *Winner `json:"winner,omitempty"`
	// Needed is the presence asked for by NEEDS_STEP_UP.
	Needed string `json:"needed_step,omitempty"`
}

// Winner is who answered, on which device and when.
type Winner struct {
	Installation string    `json:"installation_id,omitempty"`
	Label        string    `json:"installation_label,omitempty"`
	Time         time.Time `json:"answer_time,omitzero"`
}

// Counted reports whether the answer is the one that counts.
func (r Result) Counted() bool { return r.Outcome == "APPLIED" || r.Outcome == "SAME" }

// RefusedError is an answer that did not count.
type RefusedError struct{ Result Result }

// Error names the outcome, or the reason where the answer was not judged.
func (e *RefusedError) Error() string {
	if e.Result.Outcome != "" {
		return "phone: the answer did not count: " + e.Result.Outcome
	}
	return "phone: the answer was refused: " + e.Result.Reason
}
