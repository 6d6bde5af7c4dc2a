// Package verdicttest holds what a verdict leads to against the table in the
// documentation of package push, for the tests of those who give verdicts and
// of those who act on them.
package verdicttest

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
)

// Effect is what one verdict leads to at the first send of a row.
type Effect struct {
	// Row is how the row stands then, Counts whether it lost an attempt, Unsure
	// whether the device may have it, Wait until when it rests; zero when it has
	// ended. A refusal that is tried in the other environment is looked at after
	// that was refused as well.
	Row    push.State
	Wait   time.Duration
	Counts bool
	Unsure bool
	// Address is the state of the address.
	Address push.AddressState
	// Pause is how long the lane stands still; zero where it goes on.
	Pause time.Duration
}

// Of asks the outbox.
func Of(t testing.TB, v push.Verdict, sent push.Address) Effect {
	t.Helper()
	now := time.Now().UTC()
	if v.DeadAt.After(now) || sent.RegisteredAt.IsZero() {
		sent.RegisteredAt = now.Add(-time.Hour)
	}
	if !v.DeadAt.IsZero() {
		sent.RegisteredAt = v.DeadAt.Add(-time.Hour)
	}
	sent.State = push.AddressOK
	address := sent
	d := push.Delivery{
		ID: "dlv", Kind: push.DecisionRequired, Address: sent.ID, Generation: sent.Generation,
		State: push.Pending, DueAt: now, CreatedAt: now, ExpiresAt: now.Add(24 * time.Hour),
	}
	for {
		env := d.Env
		var events []outbox.Event
		for _, c := range []outbox.Command{
			outbox.Claim{Lease: "l", Until: now.Add(time.Minute)},
			outbox.Settle{Lease: "l", Verdict: v, Sent: sent, SentAt: now, Current: outbox.AddressNow{Found: true, Owned: true, Address: address}},
		} {
			var err error
			if d, events, err = outbox.Step(d, c, now); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range events {
			address, _ = outbox.Mark(address, e)
		}
		if d.Env == env {
			break
		}
		sent.Env = d.Env // the other environment, once
	}
	e := Effect{Row: d.State, Counts: d.Attempt > 0, Unsure: d.MaybeSent, Address: address.State}
	if !d.State.Final() {
		e.Wait = d.DueAt.Sub(now)
	}
	if c := (outbox.Circuit{}).Observe(v, now); !c.Closed() {
		e.Pause = c.OpenUntil.Sub(now)
	}
	return e
}

// Check holds a verdict's effects against the documented row of its class. What
// the vendor asked for as a least wait is one.
func Check(t testing.TB, name string, documented map[push.Class]Effect, v push.Verdict, sent push.Address) {
	t.Helper()
	want, ok := documented[v.Class]
	if !ok {
		t.Errorf("%s: class %q is not documented", name, v.Class)
		return
	}
	want.Unsure = want.Unsure && !v.Unsent
	if want.Wait > 0 {
		want.Wait = max(want.Wait, v.RetryAfter)
	}
	if v.Class == push.SlowAll {
		want.Pause = max(want.Pause, v.RetryAfter)
	}
	if got := Of(t, v, sent); got != want {
		t.Errorf("%s: %+v leads to\n%+v, documented is\n%+v", name, v, got, want)
	}
}

var columns = regexp.MustCompile(`\s{2,}`)

// Documented reads the table from the file of package push's documentation.
func Documented(t testing.TB, file string) map[push.Class]Effect {
	t.Helper()
	out := map[push.Class]Effect{}
	for _, cells := range Table(t, file, "verdict") {
		if len(cells) != 6 {
			t.Fatalf("%s: %q", file, cells)
		}
		out[push.Class(cells[0])] = Effect{
			Row: push.State(cells[1]), Wait: span(t, cells[2]),
			Counts: cells[3] != "no", Unsure: cells[3] == "unsure",
			Address: push.AddressState(cells[4]), Pause: span(t, strings.TrimPrefix(cells[5], "rests ")),
		}
	}
	return out
}

func span(t testing.TB, s string) time.Duration {
	t.Helper()
	if s == "-" || s == "runs" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Table reads the indented table whose head begins with a word from a comment
// of a file: a row a line, cells parted by two spaces, without the head. A line
// that begins with spaces goes on with the last cell of the one before.
func Table(t testing.TB, file, head string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(text)) {
		line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "//\t")
		switch {
		case !inside:
			inside = indented && strings.HasPrefix(line, head+" ")
		case !indented:
			return rows
		case strings.HasPrefix(line, " ") && len(rows) > 0:
			last := rows[len(rows)-1]
			last[len(last)-1] += " " + strings.TrimSpace(line)
		default:
			rows = append(rows, columns.Split(line, -1))
		}
	}
	t.Fatalf("%s has no table %q", file, head)
	return nil
}
