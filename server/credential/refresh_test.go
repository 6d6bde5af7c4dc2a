package credential_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/server/credential"
)

func refreshKey(t testing.TB) credential.Key {
	t.Helper()
	return must(credential.NewKey([]byte("0123456789abcdef0123456789abcdef")))(t)
}

func TestNext(t *testing.T) {
	t.Parallel()
	key, token := refreshKey(t), must(credential.New(rand.Reader, credential.KindRefresh))(t)
	a, b := strings.Repeat("a", 16), strings.Repeat("b", 16)
	next := must(credential.Next(key, token, a))(t)
	if again := must(credential.Next(key, token, a))(t); again.Reveal() != next.Reveal() {
		t.Error("the same attempt gives another successor")
	}
	if next.ID() != token.ID() || next.Kind() != credential.KindRefresh || next.Hash() == token.Hash() {
		t.Error("the successor belongs to another family, or is none")
	}
	if _, err := credential.Parse(next.Reveal()); err != nil {
		t.Errorf("the successor does not parse: %v", err)
	}
	if other := must(credential.Next(key, token, b))(t); other.Hash() == next.Hash() {
		t.Error("the attempt does not matter")
	}
	if other := must(credential.Next(key, next, a))(t); other.Hash() == next.Hash() {
		t.Error("the token does not matter")
	}
	foreign := must(credential.NewKey(make([]byte, 32)))(t)
	if other := must(credential.Next(foreign, token, a))(t); other.Hash() == next.Hash() {
		t.Error("the key does not matter")
	}
	for name, attempt := range map[string]string{"short": a[1:], "long": strings.Repeat("a", 65), "none": ""} {
		if _, err := credential.Next(key, token, attempt); !errors.Is(err, credential.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := credential.Next(credential.Key{}, token, a); !errors.Is(err, credential.ErrMalformed) {
		t.Errorf("no key: %v", err)
	}
	agent := must(credential.New(rand.Reader, credential.KindAgent))(t)
	if _, err := credential.Next(key, agent, a); !errors.Is(err, credential.ErrKind) {
		t.Errorf("agent key: %v", err)
	}
}

// Every state against every input. A missing cell fails the test.
func TestDecideRefreshTable(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start.Add(59 * 24 * time.Hour)
	h := credential.HashOf
	settled := credential.NewFamily(h("cur"), start)
	waiting := settled
	waiting.Next, waiting.Attempt = h("next"), h("a")
	restored := func(f credential.Family) credential.Family { f.Restored = true; return f }
	revoked := waiting
	revoked.Revoked = true
	idle := waiting
	idle.CreateTime, idle.UseTime = start.Add(-24*time.Hour), now.Add(-credential.RefreshIdle)
	aged := waiting
	aged.CreateTime, aged.UseTime = now.Add(-credential.RefreshLife), now
	states := map[string]credential.Family{
		"settled": settled, "waiting": waiting, "restored settled": restored(settled),
		"restored waiting": restored(waiting), "revoked": revoked, "idle": idle, "aged": aged,
	}
	inputs := map[string]credential.RefreshRequest{
		"current, a": {Presented: h("cur"), Attempt: h("a"), Successor: h("next")},
		"current, b": {Presented: h("cur"), Attempt: h("b"), Successor: h("next b")},
		"next, a":    {Presented: h("next"), Attempt: h("a"), Successor: h("third a")},
		"next, b":    {Presented: h("next"), Attempt: h("b"), Successor: h("third b")},
		"retired, a": {Presented: h("old"), Attempt: h("a"), Successor: h("x")},
	}
	type end struct {
		current, next, attempt string
	}
	const (
		issued, repeated, reused = credential.RefreshIssued, credential.RefreshRepeated, credential.RefreshReused
		idled, old, ended        = credential.RefreshIdled, credential.RefreshAged, credential.RefreshRevoked
		recov                    = credential.RefreshRecovered
	)
	type cell struct {
		outcome credential.RefreshOutcome
		end     end // of an issuing outcome
	}
	settledRow := map[string]cell{
		"current, a": {issued, end{"cur", "next", "a"}},
		"current, b": {issued, end{"cur", "next b", "b"}},
		"next, a":    {outcome: reused}, // a successor this server never handed out
		"next, b":    {outcome: reused},
		"retired, a": {outcome: reused},
	}
	waitingRow := map[string]cell{
		"current, a": {repeated, end{"cur", "next", "a"}},
		"current, b": {outcome: reused},
		"next, a":    {issued, end{"next", "third a", "a"}},
		"next, b":    {issued, end{"next", "third b", "b"}},
		"retired, a": {outcome: reused},
	}
	with := func(row map[string]cell, changes map[string]cell) map[string]cell {
		out := maps.Clone(row)
		maps.Copy(out, changes)
		return out
	}
	always := func(o credential.RefreshOutcome) map[string]cell {
		out := map[string]cell{}
		for input := range inputs {
			out[input] = cell{outcome: o}
		}
		return out
	}
	table := map[string]map[string]cell{
		"settled": settledRow,
		"waiting": waitingRow,
		"restored settled": with(settledRow, map[string]cell{
			"next, a": {recov, end{"next", "third a", "a"}}, "next, b": {recov, end{"next", "third b", "b"}}, "retired, a": {recov, end{"old", "x", "a"}},
		}),
		"restored waiting": with(waitingRow, map[string]cell{"retired, a": {recov, end{"old", "x", "a"}}}),
		"revoked":          always(ended),
		"idle":             always(idled),
		"aged":             always(old),
	}
	for state, family := range states {
		for input, request := range inputs {
			t.Run(state+"/"+input, func(t *testing.T) {
				t.Parallel()
				want, known := table[state][input]
				if !known {
					t.Fatal("no row")
				}
				after := family
				switch {
				case want.outcome.Issues():
					after.Current, after.Next, after.Attempt = h(want.end.current), h(want.end.next), h(want.end.attempt)
					after.UseTime, after.Restored = now, false
				case want.outcome == reused:
					after.Revoked = true
				}
				outcome, got := credential.DecideRefresh(family, request, now)
				if outcome != want.outcome {
					t.Errorf("outcome %s, want %s", outcome, want.outcome)
				}
				if diff := cmp.Diff(after, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestRefreshEnds(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	request := credential.RefreshRequest{
		Presented: credential.HashOf("cur"), Attempt: credential.HashOf("a"), Successor: credential.HashOf("next"),
	}
	for _, test := range []struct {
		name      string
		used, now time.Duration
		want      credential.RefreshOutcome
	}{
		{"just in time", 0, credential.RefreshIdle - time.Microsecond, credential.RefreshIssued},
		{"idle", 0, credential.RefreshIdle, credential.RefreshIdled},
		{"in use until the end", credential.RefreshLife - time.Hour, credential.RefreshLife - time.Microsecond, credential.RefreshIssued},
		{"life over", credential.RefreshLife - time.Hour, credential.RefreshLife, credential.RefreshAged},
		{"clock went back", time.Hour, 0, credential.RefreshIssued},
	} {
		family := credential.NewFamily(request.Presented, start)
		family.UseTime = start.Add(test.used)
		got, after := credential.DecideRefresh(family, request, start.Add(test.now))
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
		if after.UseTime.Before(family.UseTime) {
			t.Errorf("%s: use time went back", test.name)
		}
	}
}

func TestOutcomeWords(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for o := credential.RefreshUnknown; o <= credential.RefreshRecovered; o++ {
		if seen[o.String()] {
			t.Errorf("%s names two outcomes", o)
		}
		seen[o.String()] = true
	}
	if !seen[credential.RefreshOutcome(99).String()] {
		t.Error("an unknown outcome has no word")
	}
}

// rotation plays one server and its clients. A client writes the attempt before
// it sends and keeps it until the answer is stored, as the contract says.
type rotation struct {
	t      *rapid.T
	key    credential.Key
	family credential.Family
	now    time.Time
	count  int
	last   credential.RefreshOutcome
}

type holder struct {
	token   credential.Token
	attempt string
}

func newRotation(t *rapid.T) (*rotation, *holder) {
	key, err := credential.NewKey([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := credential.New(rand.Reader, credential.KindRefresh)
	if err != nil {
		t.Fatal(err)
	}
	r := &rotation{t: t, key: key, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	r.family = credential.NewFamily(first.Hash(), r.now)
	return r, &holder{token: first}
}

// refresh is one exchange; asked and answered say whether either way is lost.
func (r *rotation) refresh(h *holder, asked, answered bool) {
	if h.attempt == "" {
		r.count++
		h.attempt = fmt.Sprintf("attempt-%016d", r.count)
	}
	if !asked {
		return
	}
	next, err := credential.Next(r.key, h.token, h.attempt)
	if err != nil {
		r.t.Fatal(err)
	}
	r.last, r.family = credential.DecideRefresh(r.family, credential.RefreshRequest{
		Presented: h.token.Hash(), Attempt: credential.HashOf(h.attempt), Successor: next.Hash(),
	}, r.now)
	if answered && r.last.Issues() {
		h.token, h.attempt = next, ""
	}
}

func (r *rotation) wander(h *holder, label string) {
	for range rapid.IntRange(0, 12).Draw(r.t, label) {
		r.now = r.now.Add(time.Duration(rapid.IntRange(0, 1<<20).Draw(r.t, "wait")) * time.Second / 4)
		r.refresh(h, rapid.Bool().Draw(r.t, "asked"), rapid.Bool().Draw(r.t, "answered"))
	}
}

// Whatever the network loses, an honest client is never taken for a thief.
func TestHonestClientIsNeverLoggedOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, phone := newRotation(t)
		for range rapid.IntRange(1, 60).Draw(t, "exchanges") {
			asked, answered := rapid.Bool().Draw(t, "asked"), rapid.Bool().Draw(t, "answered")
			r.now = r.now.Add(time.Duration(rapid.IntRange(0, 5*24*3600).Draw(t, "wait")) * time.Second)
			if r.now.Sub(r.family.UseTime) > credential.RefreshIdle/2 {
				asked = true // else it might be silent for too long
			}
			r.refresh(phone, asked, answered)
			if asked && !r.last.Issues() {
				t.Fatalf("refused: %s", r.last)
			}
		}
		r.refresh(phone, true, true)
		if !r.last.Issues() || r.family.Revoked {
			t.Fatalf("logged out at the end: %s", r.last)
		}
	})
}

// Whoever copies a token and ever uses it is found out as soon as the owner's
// own device has asked once more.
func TestStolenTokenEndsTheFamily(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, phone := newRotation(t)
		r.wander(phone, "before")
		thief := &holder{token: phone.token}
		r.wander(phone, "between")
		r.refresh(thief, true, rapid.Bool().Draw(t, "thief answered"))
		if rapid.Bool().Draw(t, "thief goes on") {
			r.refresh(thief, true, true)
		}
		r.refresh(phone, true, true)
		// A phone whose own request was on its way may first get one answer.
		r.refresh(phone, true, true)
		if !r.family.Revoked {
			t.Fatalf("the theft went unnoticed: %s", r.last)
		}
	})
}

// The same, where the copy includes the attempt: the thief can then get what
// the phone gets, and is found out when both go on.
func TestStolenAttemptEndsTheFamily(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, phone := newRotation(t)
		r.wander(phone, "before")
		thief := *phone
		first, second := phone, &thief
		if rapid.Bool().Draw(t, "thief first") {
			first, second = second, first
		}
		for range 2 {
			r.refresh(first, true, true)
			r.refresh(second, true, true)
		}
		r.refresh(first, true, true)
		if !r.family.Revoked {
			t.Fatalf("the theft went unnoticed: %s", r.last)
		}
	})
}

// The secret of a successor is spread over the whole range, not a short number
// filled up with zeros.
func TestSuccessorsUseTheWholeRange(t *testing.T) {
	t.Parallel()
	key, token := refreshKey(t), must(credential.New(rand.Reader, credential.KindRefresh))(t)
	longest := 0
	for i := range 64 {
		next := must(credential.Next(key, token, fmt.Sprintf("attempt-%016d", i)))(t)
		n, ok := new(big.Int).SetString(strings.Split(next.Reveal(), "_")[3], 62)
		if !ok {
			t.Fatal("not base 62")
		}
		longest = max(longest, n.BitLen())
	}
	if longest < 250 {
		t.Errorf("at most %d bits", longest)
	}
}
