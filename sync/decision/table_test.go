package decision_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/decision"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var (
	asked = decision.Digest{1}
	view  = decision.Digest{2}
	one   = decision.Digest{11}
	two   = decision.Digest{12}
)

// question is a pending one with two actions.
func question() decision.State {
	class := decision.WriteReversible
	s, err := decision.Ask(decision.State{
		ID: "dec_1", Kind: decision.ConfirmAction, Asked: asked, ExpireTime: now.Add(time.Hour),
		Items: []decision.Item{
			{ID: "i1", Action: &decision.Action{App: "files", Operation: "write", ArgsJSON: []byte("{}"), Class: &class, Digest: one}},
			{ID: "i2", Action: &decision.Action{App: "files", Operation: "write", ArgsJSON: []byte("{}"), Class: &class, Digest: two}},
		},
	}, now)
	if err != nil {
		panic(err)
	}
	return s
}

func choose(first, second string) []decision.AnswerItem {
	return []decision.AnswerItem{{Item: "i1", Options: []string{first}}, {Item: "i2", Options: []string{second}}}
}

// answer is one by somebody who saw the card as it is and may answer it.
func answer(first, second string) decision.GiveAnswer {
	return decision.GiveAnswer{
		Revision: 1, Asked: asked, View: view, WantView: view,
		Given: decision.StepProof, Needed: decision.StepProof,
		Answer:   decision.Answer{Items: choose(first, second), Installation: "ins_1"},
		GrantIDs: []string{"g1", "g2"},
	}
}

// at is a decision in a state; the answer of a resolved one allowed the first
// action and refused the second.
func at(status decision.Status) decision.State {
	s := question()
	if status == decision.Resolved {
		events, _, err := decision.Decide(s, answer("approve", "deny"), now)
		if err != nil {
			panic(err)
		}
		return decision.ApplyAll(s, events, now)
	}
	if status != decision.Pending {
		s = decision.Apply(s, decision.ClosedAs{To: status, Reason: "why"}, now)
	}
	return s
}

// row is one command in one variant with what follows by state, in the order of
// decision.Statuses: the outcome of an answer, then where the decision is, or
// "*" where only its parts changed, or "-" where nothing did.
type row struct {
	column  string // of the package doc's table; empty if its cells do not tell
	name    string
	command decision.Command
	later   time.Duration
	want    [6]string
}

func with(c decision.GiveAnswer, change func(*decision.GiveAnswer)) decision.GiveAnswer {
	change(&c)
	return c
}

func rows() []row {
	ended := func(pending, resolved string) [6]string {
		return [6]string{pending, resolved, "EXPIRED -", "CLOSED -", "CLOSED -", "CLOSED -"}
	}
	only := func(pending string) [6]string { return [6]string{pending, "-", "-", "-", "-", "-"} }
	done := func(resolved string) [6]string { return [6]string{"-", resolved, "-", "-", "-", "-"} }
	unless := func(resolved string) [6]string {
		return [6]string{"refused", resolved, "refused", "refused", "refused", "refused"}
	}
	yes := answer("approve", "deny")
	return []row{
		{"Answer", "as the winner's", yes, 0, ended("APPLIED RESOLVED", "SAME -")},
		{"Answer", "another", answer("approve", "approve"), 0, ended("APPLIED RESOLVED", "CONFLICT -")},
		{"", "refusing", answer("deny", "deny"), 0, ended("APPLIED RESOLVED", "CONFLICT -")},
		{"", "other revision", with(yes, func(c *decision.GiveAnswer) { c.Revision = 2 }), 0, ended("STALE -", "SAME -")},
		{"", "other digest", with(yes, func(c *decision.GiveAnswer) { c.Asked = view }), 0, ended("STALE -", "SAME -")},
		{"", "not opened", with(yes, func(c *decision.GiveAnswer) { c.View = asked }), 0, ended("NEEDS_VIEW -", "SAME -")},
		{"", "refusing, not opened", with(answer("deny", "deny"), func(c *decision.GiveAnswer) { c.View = asked }), 0, ended("APPLIED RESOLVED", "CONFLICT -")},
		{"", "not present enough", with(yes, func(c *decision.GiveAnswer) { c.Needed = decision.StepVerified }), 0, ended("NEEDS_STEP_UP -", "SAME -")},
		{"", "at the deadline", yes, time.Hour, ended("EXPIRED EXPIRED", "SAME -")},
		{"", "late and stale", with(yes, func(c *decision.GiveAnswer) { c.Revision = 2 }), 2 * time.Hour, ended("EXPIRED EXPIRED", "SAME -")},
		{"", "that does not fit", answer("approve", "what"), 0, ended("UNKNOWN_OPTION -", "CONFLICT -")},
		{"Expire", "at the deadline", decision.Expire{}, time.Hour, only("EXPIRED")},
		{"", "too early", decision.Expire{}, time.Hour - 1, only("-")},
		{"Close(CANCELED, SUPERSEDED, WITHDRAWN)", "canceled", decision.Close{To: decision.Canceled}, 0, only("CANCELED")},
		{"Close(CANCELED, SUPERSEDED, WITHDRAWN)", "superseded", decision.Close{To: decision.Superseded}, 0, only("SUPERSEDED")},
		{"Close(CANCELED, SUPERSEDED, WITHDRAWN)", "withdrawn", decision.Close{To: decision.Withdrawn}, 0, only("WITHDRAWN")},
		{"Amend", "in time", decision.Amend{Card: decision.State{Title: "another"}}, 0, only("*")},
		{"Amend", "late", decision.Amend{Card: decision.State{Title: "another"}}, time.Hour, only("EXPIRED")},
		{"Deliver", "first", decision.Deliver{}, 0, done("*")},
		{"Void", "armed", decision.VoidGrants{}, 0, done("*")},
		{"ExpireGrants", "old", decision.ExpireGrants{}, 24 * time.Hour, done("*")},
		{"", "young", decision.ExpireGrants{}, 24*time.Hour - 1, done("-")},
		{"UseGrant", "armed", decision.UseGrant{ID: "g1", Effect: "eff_1", Digest: one}, 0, unless("*")},
		{"", "another action", decision.UseGrant{ID: "g1", Effect: "eff_1", Digest: two}, 0, unless("differs")},
		{"", "past its time", decision.UseGrant{ID: "g1", Effect: "eff_1", Digest: one}, 24 * time.Hour, unless("expired")},
		{"", "of what was denied", decision.UseGrant{ID: "g2", Effect: "eff_1", Digest: two}, 0, unless("refused")},
		{"RevokeGrant", "armed", decision.RevokeGrant{ID: "g1"}, 0, done("*")},
		{"", "unknown", decision.RevokeGrant{ID: "g2"}, 0, done("-")},
		{"Snooze", "for a while", decision.Snooze{Until: now.Add(time.Minute)}, 0, only("*")},
		{"", "until its end", decision.Snooze{Until: now.Add(time.Hour)}, 0, only("*")},
		{"", "for longer than there is", decision.Snooze{Until: now.Add(time.Hour + 1)}, 0, only("LIMIT -")},
		{"", "until now", decision.Snooze{Until: now}, 0, only("LIMIT -")},
		{"", "not at all", decision.Snooze{}, 0, only("-")},
		{"Snooze", "late", decision.Snooze{Until: now.Add(2 * time.Hour)}, time.Hour, only("EXPIRED")},
		{"Remind", "after half of the time", decision.Remind{}, 30 * time.Minute, only("*")},
		{"", "too early", decision.Remind{}, 30*time.Minute - 1, only("-")},
		{"", "too late", decision.Remind{}, time.Hour, only("-")},
		{"", "restored before a call", decision.Restore{}, 30*time.Minute - 1, only("-")},
		{"", "restored after a call", decision.Restore{}, 30 * time.Minute, only("*")},
	}
}

// follows says in the words of a row what a command did.
func follows(before, after decision.State, events []decision.Event, o decision.Outcome, err error) string {
	word := ""
	if o != 0 {
		word = o.String() + " "
	}
	if invalid, ok := err.(*decision.InvalidError); ok {
		word = invalid.Reason + " "
	} else if err != nil {
		return map[error]string{decision.ErrNoGrant: "refused", decision.ErrGrantDiffers: "differs", decision.ErrGrantExpired: "expired"}[err]
	}
	switch {
	case len(events) == 0:
		return word + "-"
	case before.Status != after.Status:
		return word + after.Status.String()
	default:
		return word + "*"
	}
}

// Every state × command, in every variant of the command.
func TestDecide_Table(t *testing.T) {
	t.Parallel()
	for _, r := range rows() {
		for i, status := range decision.Statuses {
			t.Run(fmt.Sprintf("%T %s/%s", r.command, r.name, status), func(t *testing.T) {
				t.Parallel()
				s, when := at(status), now.Add(r.later)
				events, o, err := decision.Decide(s, r.command, when)
				after := decision.ApplyAll(s, events, when)
				if got := follows(s, after, events, o, err); got != r.want[i] {
					t.Fatalf("got %s, want %s", got, r.want[i])
				}
				if diff := cmp.Diff(at(status), s); diff != "" {
					t.Errorf("Decide or Apply changed what they were given:\n%s", diff)
				}
				if (len(events) == 0) != cmp.Equal(s, after) {
					t.Errorf("%d events, yet the state changed: %v", len(events), !cmp.Equal(s, after))
				}
			})
		}
	}
}

// cellWords are the outcomes that a cell of the doc's table may stand for.
func cellWords(t *testing.T, status, column, cell string) []string {
	t.Helper()
	cell = strings.NewReplacer("¹", "", "²", "", "⁴", "", "⁵", "").Replace(cell)
	switch {
	case cell == "RESOLVED, or stays":
		return []string{"APPLIED RESOLVED"}
	case column == "Answer":
		var out []string
		for w := range strings.SplitSeq(cell, " or ") {
			out = append(out, w+" -")
		}
		return out
	case cell == "PENDING⁶":
		return []string{"*"}
	case cell == "PENDING³", column == "Snooze" && cell == "PENDING":
		return []string{"*", "EXPIRED"}
	case cell == "that state":
		return []string{"CANCELED", "SUPERSEDED", "WITHDRAWN"}
	case cell == "stamps", cell == "ARMED grants → VOID", cell == "ARMED grants past their time → EXPIRED",
		cell == "ARMED grant → CONSUMED", cell == "ARMED grant → VOID":
		return []string{"*"}
	case cell == "-" || cell == "EXPIRED" || cell == "refused":
		return []string{cell}
	}
	t.Fatalf("%s × %s: the test does not know the cell %q", status, column, cell)
	return nil
}

// The doc's table says what the code does.
func TestDoc_TableIsTheCode(t *testing.T) {
	t.Parallel()
	table := docTable(t)
	if len(table) != len(decision.Statuses) {
		t.Errorf("%d rows for %d states", len(table), len(decision.Statuses))
	}
	for i, status := range decision.Statuses {
		got := map[string][]string{}
		for _, r := range rows() {
			if r.column != "" && !slices.Contains(got[r.column], r.want[i]) {
				got[r.column] = append(got[r.column], r.want[i])
			}
		}
		want := map[string][]string{}
		for column, cell := range table[status.String()] {
			want[column] = cellWords(t, status.String(), column, cell)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-doc +code):\n%s", status, diff)
		}
	}
}
