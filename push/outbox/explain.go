package outbox

import (
	"strconv"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push"
)

// Explain says in one sentence for people why a device did, or did not, ring.
// Every state with every reason of ours has words of its own; a vendor's word
// is quoted. paused says that the row's lane sends nothing for now, which a row
// that nobody has looked at since cannot know.
func Explain(d push.Delivery, paused bool) string {
	if paused && !d.State.Final() && d.Reason == "" {
		d.Reason = ReasonPaused
	}
	switch d.State {
	case push.Pending, push.Retry:
		return explainWaiting(d)
	case push.Leased:
		return "being sent to " + vendor(d.Lane)
	case push.Accepted:
		s := "accepted by " + vendor(d.Lane) + " " + after(d.AcceptedAt.Sub(d.CreatedAt)) + "it was asked"
		if !d.HeldUntil.IsZero() {
			s += ", having waited " + span(d.HeldUntil.Sub(d.CreatedAt)) + " for you because " + inHand
		}
		return s
	case push.Rejected:
		return "not delivered: " + vendor(d.Lane) + " refused it (" + word(d.Reason) + ")"
	case push.Doubted:
		return "not delivered: " + vendor(d.Lane) + " refused the address (" + word(d.Reason) + "); it is kept, because the mistake may be ours"
	case push.DeadAddress:
		return explainDead(d)
	case push.Expired:
		return explainExpired(d)
	case push.Superseded:
		return explainSuperseded(d)
	case push.Suppressed:
		return explainSuppressed(d)
	default:
		return "in a state this version does not know"
	}
}

// inHand is what a report of presence proves.
const inHand = "this phone was the one in your hand"

func explainWaiting(d push.Delivery) string {
	again := "waiting to be sent"
	if d.State == push.Retry {
		again += " again"
	}
	switch d.Reason {
	case "":
		return again
	case ReasonPresence:
		return "waiting " + span(d.HeldUntil.Sub(d.CreatedAt)) + " because " + inHand
	case ReasonCardOpen:
		return "waiting " + span(d.HeldUntil.Sub(d.CreatedAt)) + " because the question is open on this phone"
	case ReasonStopping:
		return again + ": the server was stopping"
	case ReasonPaused:
		return again + ": sending to " + vendor(d.Lane) + " is paused"
	case ReasonManyRefused:
		return again + ": " + vendor(d.Lane) + " refuses many devices, so our configuration must be wrong; no address is dropped"
	case ReasonReadFailed:
		return again + ": what it is about could not be read"
	case ReasonLeaseShort:
		return again + ": there was no time left to send it"
	case ReasonRenewed:
		return again + ": the app has registered a new address"
	case ReasonRate:
		return again + ": the device has had its share of this hour"
	case ReasonAlertOpen:
		return "waiting for the alert that it takes back to be settled"
	}
	if d.State == push.Retry {
		return again + ": " + said(d) + attempts(d.Attempt)
	}
	return again + ": " + vendor(d.Lane) + " refused our credentials (" + d.Reason + ")"
}

func explainDead(d push.Delivery) string {
	switch d.Reason {
	case ReasonMoved:
		return "not sent: the address belongs to another device or account now"
	case ReasonAddressGone:
		return "not sent: the device or its address was removed"
	case ReasonAddressDead:
		return "not sent: the address was dead already; the app has to register again"
	default:
		return "not delivered: " + vendor(d.Lane) + " says the address is dead (" + word(d.Reason) + ")"
	}
}

func explainExpired(d push.Delivery) string {
	if d.Reason == ReasonDeadline {
		return "not sent: it was too late to be of use" + attempts(d.Attempt)
	}
	if d.Reason == ReasonOnce {
		return "not sent again: it may have been delivered, and is worth one try"
	}
	return "not delivered in time: " + said(d) + attempts(d.Attempt)
}

func explainSuperseded(d push.Delivery) string {
	when := after(d.EndedAt.Sub(d.CreatedAt)) + "it was asked"
	switch {
	case d.MaybeSent && d.Reason == ReasonHandled:
		return "perhaps shown: " + vendor(d.Lane) + " did not say whether it took it before it was handled, " + when
	case d.Reason == ReasonRestored:
		return "not sent any more: the server was restored from a backup, and may have sent it before"
	case d.Reason == ReasonNewerVersion:
		return "not sent: replaced by a newer version"
	case d.Reason == ReasonNotShown:
		return "not sent: the alert that it takes back never left"
	case d.Reason == ReasonOpenAgain:
		return "not sent: the alert that it takes back is wanted again"
	case d.Reason == ReasonAppCounts:
		return "not sent: nothing is left to count, and the app sets that itself"
	case d.Reason != ReasonHandled:
		return "not sent: replaced (" + word(d.Reason) + ")"
	case !d.HeldUntil.IsZero() && d.EndedAt.Before(d.HeldUntil):
		return "not sent: handled " + when + ", while " + inHand
	default:
		return "not sent: handled " + when
	}
}

func explainSuppressed(d push.Delivery) string {
	if d.Reason == ReasonDenied {
		return "not sent: notifications are switched off on this device"
	}
	return "not sent: not wanted here (" + word(d.Reason) + ")"
}

// vendor is the name people know a lane by.
func vendor(lane string) string {
	switch strings.SplitN(lane, "_", 2)[0] {
	case "apns":
		return "Apple"
	case "fcm":
		return "Google"
	default:
		return "the provider"
	}
}

// said is the last that was heard of a vendor.
func said(d push.Delivery) string {
	switch d.Reason {
	case "no_answer":
		return vendor(d.Lane) + " gave no answer"
	case "not_sent":
		return vendor(d.Lane) + " could not be reached"
	default:
		return vendor(d.Lane) + " answered " + word(d.Reason)
	}
}

func word(reason string) string {
	if reason == "" {
		return "no reason given"
	}
	return reason
}

func attempts(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", after 1 attempt"
	default:
		return ", after " + strconv.Itoa(n) + " attempts"
	}
}

func after(d time.Duration) string { return span(d) + " after " }

// span is a time as one says it: tenths below ten seconds, then whole seconds,
// minutes, hours.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 9950*time.Millisecond:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Round(time.Second)/time.Second)) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Round(time.Minute)/time.Minute)) + " min"
	default:
		return strconv.Itoa(int(d.Round(time.Hour)/time.Hour)) + " h"
	}
}
