package oracle

import (
	"fmt"
	"strings"
	"time"
)

// Kind says what a Fact tells of, and with it which fields count.
type Kind string

// What people, agents and the world did.
const (
	LoggedIn   Kind = "logged-in"  // Phone belongs to Account as Installation and is registered
	Registered Kind = "registered" // Phone has told the server its token again
	Killed     Kind = "killed"     // the vendor calls Phone's token dead from now on
	Refused    Kind = "refused"    // the vendor was told to refuse pushes to Phone for good
	Troubled   Kind = "troubled"   // the vendor was told to fail for Phone, for a while
	Offline    Kind = "offline"    // Phone has no network
	Online     Kind = "online"
	Dozed      Kind = "dozed" // Phone sleeps
	Woke       Kind = "woke"
	Muted      Kind = "muted" // Phone's person switched notifications off
	Unmuted    Kind = "unmuted"
	Quit       Kind = "quit" // Phone's person ended the app
	Launched   Kind = "launched"
	Present    Kind = "present"   // Phone proves to show Thread until Until, maybe with the card of Subject
	Absent     Kind = "absent"    // Phone says that it shows nothing
	Restarted  Kind = "restarted" // the server was started again
	Asked      Kind = "asked"     // Subject is a question in Task, until Until; it may replace Other
	Answered   Kind = "answered"  // Subject was answered on Phone, or elsewhere
	TakenBack  Kind = "taken-back"
	Ended      Kind = "ended"  // Task ended: Failed, or with a Result to read, or neither
	Noted      Kind = "noted"  // something worth reading in Thread that is no result
	Chatted    Kind = "chat"   // progress in Thread
	Read       Kind = "read"   // all of Thread was read, on Phone or elsewhere
	Passed     Kind = "passed" // it is Time now
)

// What was seen.
const (
	Sent     Kind = "sent"     // a push about Subject went out to Phone; judged worth it at Since
	Unsure   Kind = "unsure"   // a sender does not know whether that push arrived
	Rang     Kind = "rang"     // Phone interrupted its person for Subject
	Appeared Kind = "appeared" // Phone shows Subject anew, in silence
	Replaced Kind = "replaced" // Phone shows Subject in the place of what it showed of it
	Gone     Kind = "gone"     // Phone does not show Subject any more, for Reason
	Lost     Kind = "lost"     // vendor or phone dropped an accepted push, for Reason
	Screen   Kind = "screen"   // all that Phone shows, at rest
	Settled  Kind = "settled"  // as Screen, and the server has nothing left to send
	Synced   Kind = "synced"   // as Screen, right after the app has read everything
)

// Fact is one line of a story. Facts are in order; their index is their time as
// far as before and after go.
type Fact struct {
	Kind Kind
	Time time.Time

	Phone, Account, Installation string
	Thread, Task, Subject, Other string
	// Android tells the kind of Phone.
	Android bool
	// Until is a deadline or the end of a presence; zero for none.
	Until time.Time
	// Failed and Result tell how a task ended.
	Failed, Result bool
	// Quiet: a push is about no subject: it counts, or wakes the app to tidy up.
	Quiet bool
	// Stale: a push went to a token that the phone's app has given up.
	Stale bool
	// Withdraw tells that a push takes Subject back.
	Withdraw bool
	// Since is the index of the first fact that the sender of a push could not
	// know of.
	Since int
	// Reason is the phone's word for why an alert went away or a push was lost.
	Reason string
	// Badge is the number on the icon, or in a push; Count is the server's.
	Badge, Count int
	// Shown is what a screen shows.
	Shown []Shown
}

// Shown is one alert on a screen.
type Shown struct {
	Subject  string
	Withdraw bool
}

// Row is what the server says about one delivery.
type Row struct {
	// Installation is empty once the device is not known any more.
	Installation, Subject string
	Withdraw              bool
	Quiet                 bool
	State, Reason         string
	// Waited: it says that it waited because the phone was in hand.
	Waited bool
}

// Finding is one thing that should not have happened.
type Finding struct {
	// Rule is the rule that was broken.
	Rule string
	// At is the index of the fact that shows it; -1 for the end.
	At   int
	Text string
}

// String gives a line for people.
func (f Finding) String() string { return fmt.Sprintf("%s at #%d: %s", f.Rule, f.At, f.Text) }

// String gives a line for people; ids are shortened to their ends.
func (f Fact) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", f.Time.Format("02T15:04:05.000"), f.Kind)
	for _, part := range []struct{ name, value string }{
		{"phone", f.Phone}, {"account", f.Account}, {"thread", short(f.Thread)}, {"task", short(f.Task)},
		{"subject", short(f.Subject)}, {"other", short(f.Other)}, {"reason", f.Reason},
	} {
		if part.value != "" {
			fmt.Fprintf(&b, " %s=%s", part.name, part.value)
		}
	}
	if !f.Until.IsZero() {
		fmt.Fprintf(&b, " until=%s", f.Until.Format("02T15:04:05.000"))
	}
	for _, part := range []struct {
		name string
		on   bool
	}{{"failed", f.Failed}, {"result", f.Result}, {"withdraw", f.Withdraw}, {"stale", f.Stale}, {"quiet", f.Quiet}} {
		if part.on {
			b.WriteString(" " + part.name)
		}
	}
	switch f.Kind {
	case Sent:
		fmt.Fprintf(&b, " badge=%d since=#%d", f.Badge, f.Since)
	case Screen, Settled, Synced:
		fmt.Fprintf(&b, " badge=%d count=%d", f.Badge, f.Count)
		for _, s := range f.Shown {
			fmt.Fprintf(&b, " [%s withdraw=%v]", short(s.Subject), s.Withdraw)
		}
	default:
	}
	return b.String()
}

// short is enough of an id to tell it from the others of a story.
func short(id string) string {
	i := strings.IndexByte(id, '_')
	if i < 0 || len(id) < i+9 {
		return id
	}
	return id[:i+1] + id[len(id)-6:]
}
