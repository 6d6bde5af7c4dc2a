package policy_test

import (
	"fmt"
	"testing"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/decision"
)

// reaches reports whether an answer that raises risk passes the ladder.
func reaches(class decision.Class, p policy.Presence) bool {
	return p.Given() >= policy.Needed(class, true, p)
}

func TestLadder_AppByClass(t *testing.T) {
	t.Parallel()
	bearer := policy.Presence{}
	signed := policy.Presence{Proof: true}
	unlocked := policy.Presence{Proof: true, Unlocked: true}
	verified := policy.Presence{Approval: true}
	claimsUnlocked := policy.Presence{Unlocked: true}
	cases := []struct {
		name  string
		p     policy.Presence
		upTo  int // highest class that passes
		probe int // highest class that passes on probation
	}{
		{"bearer only", bearer, 1, -1},
		{"an unlocked claim without a signature", claimsUnlocked, 1, -1},
		{"install key", signed, 2, 1},
		{"install key on an unlocked device", unlocked, 3, 2},
		{"approval key", verified, 4, 3},
	}
	for _, tc := range cases {
		for class := decision.ReadPublic; class <= decision.Irreversible; class++ {
			if got, want := reaches(class, tc.p), int(class) <= tc.upTo; got != want {
				t.Errorf("%s, class %d: passes %v, want %v", tc.name, class, got, want)
			}
			probation := tc.p
			probation.Probation = true
			if got, want := reaches(class, probation), int(class) <= tc.probe; got != want {
				t.Errorf("%s on probation, class %d: passes %v, want %v", tc.name, class, got, want)
			}
		}
	}
}

func TestLadder_Notification(t *testing.T) {
	t.Parallel()
	tap := policy.Presence{Notification: true, Proof: true, OptedIn: true}
	for class := decision.ReadPublic; class <= decision.Irreversible; class++ {
		if got, want := reaches(class, tap), class <= decision.WriteReversible; got != want {
			t.Errorf("class %d by a tap: passes %v, want %v", class, got, want)
		}
	}
	spoil := map[string]func(*policy.Presence){
		"no proof":   func(p *policy.Presence) { p.Proof = false },
		"no opt-in":  func(p *policy.Presence) { p.OptedIn = false },
		"probation":  func(p *policy.Presence) { p.Probation = true },
		"unlocked":   func(p *policy.Presence) { p.Proof, p.Unlocked = false, true },
		"approval 3": func(p *policy.Presence) { p.OptedIn, p.Approval = false, true },
	}
	for name, change := range spoil {
		p := tap
		change(&p)
		if reaches(decision.WriteReversible, p) {
			t.Errorf("%s: a tap approved class 2", name)
		}
	}
	// The approval key changes nothing: nobody can tell whether the screen was
	// locked.
	p := tap
	p.Approval = true
	if reaches(decision.Outward, p) {
		t.Error("a tap approved class 3")
	}
}

func TestLadder_Terminal(t *testing.T) {
	t.Parallel()
	base := policy.Presence{Terminal: true, Proof: true, Interactive: true}
	unlocked := base
	unlocked.Unlocked = true
	cases := []struct {
		name string
		p    policy.Presence
		upTo int
	}{
		{"interactive", base, 1},
		{"interactive and unlocked elsewhere", unlocked, 2},
		{"a script", policy.Presence{Terminal: true, Proof: true, Unlocked: true}, -1},
		{"a bearer token", policy.Presence{Terminal: true, Interactive: true, Unlocked: true}, -1},
		{"on probation", policy.Presence{Terminal: true, Proof: true, Interactive: true, Unlocked: true, Probation: true}, -1},
	}
	for _, tc := range cases {
		for class := decision.ReadPublic; class <= decision.Irreversible; class++ {
			if got, want := reaches(class, tc.p), int(class) <= tc.upTo; got != want {
				t.Errorf("%s, class %d: passes %v, want %v", tc.name, class, got, want)
			}
		}
	}
}

func TestLadder_RefusingIsFree(t *testing.T) {
	t.Parallel()
	for _, p := range []policy.Presence{{}, {Terminal: true}, {Notification: true}, {Probation: true}} {
		for class := decision.ReadPublic; class <= decision.Irreversible; class++ {
			if need := policy.Needed(class, false, p); need > p.Given() {
				t.Errorf("%+v: refusing class %d needs %d", p, class, need)
			}
		}
	}
}

func TestTable_EveryRowNamesSomebody(t *testing.T) {
	t.Parallel()
	for procedure, row := range policy.Table() {
		if len(row.Kinds) == 0 {
			t.Errorf("%s: nobody may call it", procedure)
		}
		if row.Verified && policy.Allowed(row.Kinds, policy.Probation) {
			t.Errorf("%s: changes the account but is open to probation", procedure)
		}
	}
}

func TestPrincipal_Works(t *testing.T) {
	t.Parallel()
	cases := []struct {
		p           policy.Principal
		agent, task string
		want        bool
	}{
		{policy.Principal{Kind: policy.Agent, Agent: "a"}, "a", "t", true},
		{policy.Principal{Kind: policy.Agent, Agent: "a"}, "b", "t", false},
		{policy.Principal{Kind: policy.TaskToken, Agent: "a", Task: "t"}, "a", "t", true},
		{policy.Principal{Kind: policy.TaskToken, Agent: "a", Task: "t"}, "a", "u", false},
		{policy.Principal{Kind: policy.Installation, Account: "x"}, "", "", false},
		{policy.Principal{}, "", "", false},
	}
	for i, tc := range cases {
		if got := tc.p.Works(tc.agent, tc.task); got != tc.want {
			t.Errorf("%s: %v, want %v", fmt.Sprint(i, tc.p.Kind), got, tc.want)
		}
	}
}
