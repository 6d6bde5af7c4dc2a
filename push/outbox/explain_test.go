package outbox_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
)

// told is one row and what is said about it.
type told struct {
	name   string
	state  push.State
	reason string
	change func(*push.Delivery)
	want   string
}

// explanations is every state with every reason it can have.
func explanations() []told {
	tried := func(n int) func(*push.Delivery) { return func(d *push.Delivery) { d.Attempt = n } }
	accepted := func(after time.Duration) func(*push.Delivery) {
		return func(d *push.Delivery) { d.Attempt, d.AcceptedAt = 1, t0.Add(after) }
	}
	ended := func(after time.Duration) func(*push.Delivery) {
		return func(d *push.Delivery) { d.EndedAt = t0.Add(after) }
	}
	held := func(change func(*push.Delivery)) func(*push.Delivery) {
		return func(d *push.Delivery) {
			d.HeldUntil = t0.Add(5 * time.Second)
			change(d)
		}
	}
	google := func(d *push.Delivery) { d.Lane = "fcm" }
	return []told{
		{"new", push.Pending, "", nil, "waiting to be sent"},
		{"held", push.Pending, outbox.ReasonPresence, held(func(*push.Delivery) {}), "waiting 5 s because this phone was the one in your hand"},
		{"open", push.Pending, outbox.ReasonCardOpen, held(func(*push.Delivery) {}), "waiting 5 s because the question is open on this phone"},
		{"stopping", push.Pending, outbox.ReasonStopping, nil, "waiting to be sent: the server was stopping"},
		{"paused", push.Pending, outbox.ReasonPaused, nil, "waiting to be sent: sending to Apple is paused"},
		{"many refused", push.Pending, outbox.ReasonManyRefused, nil, "waiting to be sent: Apple refuses many devices, so our configuration must be wrong; no address is dropped"},
		{"suspect", push.Doubted, "BadDeviceToken", tried(2), "not delivered: Apple refused the address (BadDeviceToken); it is kept, because the mistake may be ours"},
		{"unread", push.Pending, outbox.ReasonReadFailed, nil, "waiting to be sent: what it is about could not be read"},
		{"short", push.Pending, outbox.ReasonLeaseShort, nil, "waiting to be sent: there was no time left to send it"},
		{"alert open", push.Pending, outbox.ReasonAlertOpen, nil, "waiting for the alert that it takes back to be settled"},
		{"often enough", push.Pending, outbox.ReasonRate, nil, "waiting to be sent: the device has had its share of this hour"},
		{"nothing to count", push.Superseded, outbox.ReasonAppCounts, nil, "not sent: nothing is left to count, and the app sets that itself"},
		{"one try", push.Expired, outbox.ReasonOnce, tried(1), "not sent again: it may have been delivered, and is worth one try"},
		{"credentials", push.Pending, "InvalidProviderToken", nil, "waiting to be sent: Apple refused our credentials (InvalidProviderToken)"},
		{"lease lost", push.Retry, "", tried(1), "waiting to be sent again"},
		{"stopping again", push.Retry, outbox.ReasonStopping, tried(1), "waiting to be sent again: the server was stopping"},
		{"busy", push.Retry, "ServiceUnavailable", tried(1), "waiting to be sent again: Apple answered ServiceUnavailable, after 1 attempt"},
		{"busy twice", push.Retry, "UNAVAILABLE", func(d *push.Delivery) { d.Attempt = 2; google(d) }, "waiting to be sent again: Google answered UNAVAILABLE, after 2 attempts"},
		{"silent", push.Retry, "no_answer", tried(1), "waiting to be sent again: Apple gave no answer, after 1 attempt"},
		{"unreachable", push.Retry, "not_sent", tried(3), "waiting to be sent again: Apple could not be reached, after 3 attempts"},
		{"renewed", push.Retry, outbox.ReasonRenewed, tried(1), "waiting to be sent again: the app has registered a new address"},
		{"on its way", push.Leased, "", nil, "being sent to Apple"},
		{"taken", push.Accepted, "", accepted(200 * time.Millisecond), "accepted by Apple 0.2 s after it was asked"},
		{"taken by nobody we know", push.Accepted, "", func(d *push.Delivery) { d.Lane = "hook"; accepted(time.Hour)(d) }, "accepted by the provider 60 min after it was asked"},
		{"taken after the grace", push.Accepted, "", held(accepted(5100 * time.Millisecond)), "accepted by Apple 5.1 s after it was asked, having waited 5 s for you because this phone was the one in your hand"},
		{"refused", push.Rejected, "BadTopic", tried(1), "not delivered: Apple refused it (BadTopic)"},
		{"refused without a word", push.Rejected, "", tried(1), "not delivered: Apple refused it (no reason given)"},
		{"moved", push.DeadAddress, outbox.ReasonMoved, nil, "not sent: the address belongs to another device or account now"},
		{"gone", push.DeadAddress, outbox.ReasonAddressGone, nil, "not sent: the device or its address was removed"},
		{"dead before", push.DeadAddress, outbox.ReasonAddressDead, nil, "not sent: the address was dead already; the app has to register again"},
		{"dead now", push.DeadAddress, "Unregistered", tried(1), "not delivered: Apple says the address is dead (Unregistered)"},
		{"late", push.Expired, outbox.ReasonDeadline, nil, "not sent: it was too late to be of use"},
		{"late after tries", push.Expired, outbox.ReasonDeadline, tried(2), "not sent: it was too late to be of use, after 2 attempts"},
		{"no more time", push.Expired, "ServiceUnavailable", tried(9), "not delivered in time: Apple answered ServiceUnavailable, after 9 attempts"},
		{"no answer in time", push.Expired, "no_answer", tried(1), "not delivered in time: Apple gave no answer, after 1 attempt"},
		{"answered", push.Superseded, outbox.ReasonHandled, ended(3 * time.Second), "not sent: handled 3 s after it was asked"},
		{"answered in doubt", push.Superseded, outbox.ReasonHandled, func(d *push.Delivery) { d.MaybeSent = true; ended(3 * time.Second)(d) }, "perhaps shown: Apple did not say whether it took it before it was handled, 3 s after it was asked"},
		{"answered in the grace", push.Superseded, outbox.ReasonHandled, held(ended(3 * time.Second)), "not sent: handled 3 s after it was asked, while this phone was the one in your hand"},
		{"answered after the grace", push.Superseded, outbox.ReasonHandled, held(ended(3 * time.Hour)), "not sent: handled 3 h after it was asked"},
		{"revised", push.Superseded, outbox.ReasonNewerVersion, nil, "not sent: replaced by a newer version"},
		{"nothing to take back", push.Superseded, outbox.ReasonNotShown, nil, "not sent: the alert that it takes back never left"},
		{"of before a restore", push.Superseded, outbox.ReasonRestored, nil, "not sent any more: the server was restored from a backup, and may have sent it before"},
		{"wanted again", push.Superseded, outbox.ReasonOpenAgain, nil, "not sent: the alert that it takes back is wanted again"},
		{"replaced otherwise", push.Superseded, "else", nil, "not sent: replaced (else)"},
		{"switched off", push.Suppressed, outbox.ReasonDenied, nil, "not sent: notifications are switched off on this device"},
		{"not wanted", push.Suppressed, "seen", nil, "not sent: not wanted here (seen)"},
		{"unknown", "later", "", nil, "in a state this version does not know"},
	}
}

// B17: "requested", and nothing arrives and nobody says why. Each row has its
// sentence.
func TestExplain_B17_EveryStateAndReasonHasItsSentence(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, tt := range explanations() {
		d := push.Delivery{Lane: "apns", State: tt.state, Reason: tt.reason, CreatedAt: t0, DueAt: t0}
		if tt.change != nil {
			tt.change(&d)
		}
		if got := outbox.Explain(d, false); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		seen["state "+string(tt.state)], seen["reason "+tt.reason] = true, true
	}
	for file, prefix := range map[string]string{"decide.go": "Reason", "../delivery.go": ""} {
		for _, word := range constants(t, file, prefix) {
			if !seen["state "+word] && !seen["reason "+word] {
				t.Errorf("%q of %s has no line in the table", word, file)
			}
		}
	}
}

// A row that waits for a paused lane says so, and not when it has ended.
func TestExplain_B17_ALaneThatIsPaused(t *testing.T) {
	t.Parallel()
	for state, want := range map[push.State]string{
		push.Pending:  "waiting to be sent: sending to Apple is paused",
		push.Retry:    "waiting to be sent again: sending to Apple is paused",
		push.Leased:   "being sent to Apple",
		push.Accepted: "accepted by Apple 0 s after it was asked",
	} {
		d := push.Delivery{Lane: "apns", State: state, CreatedAt: t0, AcceptedAt: t0}
		if got := outbox.Explain(d, true); got != want {
			t.Errorf("%s: %q", state, got)
		}
	}
	d := push.Delivery{Lane: "apns", State: push.Pending, Reason: "Forbidden"}
	if got := outbox.Explain(d, true); got != outbox.Explain(d, false) {
		t.Errorf("what is known of the row is hidden: %q", got)
	}
}

// constants lists the string constants of a file whose names have a prefix.
func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			word, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, word)
		}
		return true
	})
	if len(words) == 0 {
		t.Fatalf("%s has no constants", file)
	}
	return words
}
