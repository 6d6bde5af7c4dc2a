package outbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
)

var (
	refusal  = push.Verdict{Class: push.Suspect, Reason: "BadDeviceToken"}
	taken    = push.Verdict{Class: push.OK}
	many     = "cred " + outbox.ReasonManyRefused
	stays    = "suspect BadDeviceToken"
	dies     = "dead BadDeviceToken"
	deathRow = outbox.Target{App: "app", Topic: "dev.beckon", Env: push.EnvProduction}
)

// vendor is a worker's side of the judgement.
type vendor struct {
	outbox.Suspicion

	now time.Time
}

// mix spreads small numbers over all bits, as a hash does.
func mix(n int) uint64 {
	x := uint64(n)*0x9e3779b97f4a7c15 + 0x1234567
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>32
}

// first sends to a token in its own environment.
func (v *vendor) first(token int, answer push.Verdict) string {
	t := outbox.Try{Home: deathRow, Token: mix(token)}
	probe, wait := v.Pass(t, v.now)
	if !wait.IsZero() {
		return "waits " + wait.Sub(v.now).String()
	}
	t.Probe = probe
	return v.judge(t, answer)
}

// second sends in the other environment.
func (v *vendor) second(token int, answer push.Verdict) string {
	return v.judge(outbox.Try{Home: deathRow, Other: true, Last: true, Token: mix(token), First: "BadDeviceToken"}, answer)
}

func (v *vendor) judge(t outbox.Try, answer push.Verdict) string {
	got := v.Judge(t, t.Heard(answer), v.now)
	out := string(got.Verdict.Class)
	if got.Verdict.Reason != "" {
		out += " " + got.Verdict.Reason
	}
	return out
}

// both sends to a token that is refused in both environments.
func (v *vendor) both(token int) string {
	if s := v.first(token, refusal); s != stays {
		return s
	}
	return v.second(token, refusal)
}

func (v *vendor) takes(tokens ...int) {
	for _, n := range tokens {
		v.first(n, taken)
	}
}

func numbers(from, n int) (out []int) {
	for i := range n {
		out = append(out, from+i)
	}
	return out
}

// B11: a token that is dead in a shape that could be our mistake is dead once
// others prove that it is not.
func TestSuspicion_B11_DeadOnlyOnProofByOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(v *vendor)
		want   string
	}{
		"nothing known, as after a restart": {func(*vendor) {}, stays},
		"another was taken":                 {func(v *vendor) { v.takes(2) }, dies},
		"another was taken an hour ago":     {func(v *vendor) { v.takes(2); v.now = v.now.Add(time.Hour) }, dies},
		"another was taken before that":     {func(v *vendor) { v.takes(2); v.now = v.now.Add(time.Hour + 1) }, stays},
		"only itself was taken":             {func(v *vendor) { v.takes(1) }, stays},
		"itself was taken after another":    {func(v *vendor) { v.takes(2, 1, 1) }, dies},
		"another program's was taken": {func(v *vendor) {
			v.judge(outbox.Try{Home: outbox.Target{App: "else", Topic: "dev.beckon", Env: push.EnvProduction}, Token: mix(2)}, taken)
		}, stays},
		"another topic's was taken": {func(v *vendor) {
			v.judge(outbox.Try{Home: outbox.Target{App: "app", Topic: "else", Env: push.EnvProduction}, Token: mix(2)}, taken)
		}, stays},
		"one of the other environment was taken": {func(v *vendor) {
			v.judge(outbox.Try{Home: outbox.Target{App: "app", Topic: "dev.beckon", Env: push.EnvSandbox}, Token: mix(2)}, taken)
		}, stays},
		"nine refused since": {func(v *vendor) {
			v.takes(numbers(100, 60)...)
			for n := range 8 {
				v.both(200 + n)
			}
		}, dies},
		"ten refused since, far from a fifth": {func(v *vendor) {
			v.takes(numbers(100, 60)...)
			for n := range 9 {
				v.both(200 + n)
			}
		}, stays},
	} {
		v := &vendor{now: t0}
		c.before(v)
		if got := v.both(1); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// B12: a wrong topic, or the wrong environment, for everybody is no reason to
// forget anybody.
func TestSuspicion_B12_ManyRefusedIsOurConfiguration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes, refused int
		want           string
	}{
		"nine of nine":            {0, 9, stays},
		"ten of ten":              {0, 10, many},
		"ten of fifty":            {40, 10, stays},
		"ten of forty-nine":       {39, 10, many},
		"eleven of fifty-five":    {44, 11, stays},
		"eleven of fifty-four":    {43, 11, many},
		"two hundred of thousand": {800, 200, stays},
		"one more":                {800, 201, many},
	} {
		v := &vendor{now: t0}
		v.takes(numbers(1, c.takes)...)
		got := ""
		for n := range c.refused {
			got = v.first(5000+n, refusal)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if paused := len(v.Pauses()) > 0; paused != (c.want == many) {
			t.Errorf("%s: paused %v", name, paused)
		}
	}
}

// One token that is sent to again and again is one token.
func TestSuspicion_B12_OneTokenManyTimesIsOne(t *testing.T) {
	t.Parallel()
	v := &vendor{now: t0}
	for range 100 {
		if got := v.both(1); got != stays {
			t.Fatal(got)
		}
	}
}

// The tokens tried are those of the last hour, by their last answer.
func TestSuspicion_OldRefusalsAreForgotten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(v *vendor)
		want      string
	}{
		"at once":            {func(*vendor) {}, many},
		"half an hour later": {func(v *vendor) { v.now = v.now.Add(30 * time.Minute) }, many},
		"an hour later":      {func(v *vendor) { v.now = v.now.Add(time.Hour) }, stays},
		"they were taken":    {func(v *vendor) { v.takes(numbers(1, 9)...) }, stays},
		"taken elsewhere": {func(v *vendor) {
			for n := range 9 {
				v.second(1+n, taken)
			}
		}, stays},
	} {
		v := &vendor{now: t0}
		for n := range 9 {
			v.first(1+n, refusal)
		}
		c.meanwhile(v)
		if got := v.first(10, refusal); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// pausedVendor has refused ten tokens of ten.
func pausedVendor() *vendor {
	v := &vendor{now: t0}
	for n := range 10 {
		v.first(n, refusal)
	}
	return v
}

func TestSuspicion_B12_APauseProbesAndResumes(t *testing.T) {
	t.Parallel()
	v := pausedVendor()
	pause := []outbox.Pause{{Target: deathRow, Until: t0.Add(outbox.FirstCircuitPause), Reason: "BadDeviceToken"}}
	if diff := cmp.Diff(pause, v.Pauses()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if got := v.first(77, taken); got != "waits 10s" {
		t.Errorf("sent during the pause: %s", got)
	}
	if got := v.second(3, refusal); got != many {
		t.Errorf("a second try that is refused: %s", got)
	}
	elsewhere := outbox.Try{Home: outbox.Target{App: "app", Topic: "dev.beckon", Env: push.EnvSandbox}}
	if _, wait := v.Pass(elsewhere, v.now); !wait.IsZero() {
		t.Error("the other environment is paused too")
	}

	// A send from before the pause proves nothing about now.
	v.judge(outbox.Try{Home: deathRow, Token: mix(78)}, taken)
	if len(v.Pauses()) != 1 {
		t.Error("a late success ended the pause")
	}
	v.now = v.Pauses()[0].Until
	probe, wait := v.Pass(outbox.Try{Home: deathRow, Token: mix(5)}, v.now)
	if !probe || !wait.IsZero() {
		t.Fatal("no probe after the pause")
	}
	if got := v.first(6, taken); got != "waits 5s" {
		t.Errorf("two probes at once: %s", got)
	}
	failed := outbox.Try{Home: deathRow, Token: mix(5), Probe: true}
	if got := v.judge(failed, refusal); got != stays {
		t.Errorf("a probe that is refused is not tried in the other environment: %s", got)
	}
	if d := v.Pauses()[0].Until.Sub(v.now); d <= outbox.FirstCircuitPause {
		t.Errorf("a failed probe waits %v", d)
	}
	v.now = v.Pauses()[0].Until
	if got := v.first(5, push.Verdict{Class: push.Ambiguous}); got != "ambiguous" || len(v.Pauses()) != 1 || !v.Pauses()[0].Until.After(v.now) {
		t.Errorf("no answer ended the pause: %s", got)
	}
	v.now = v.Pauses()[0].Until
	if got := v.first(5, taken); got != "ok" || len(v.Pauses()) != 0 {
		t.Errorf("a probe that was taken: %s, %v", got, v.Pauses())
	}
	// What was refused before does not count against the mended configuration.
	if got := v.both(7); got != dies {
		t.Errorf("after it was mended: %s", got)
	}
}

// Everybody's environment is wrong and the other one works: probes find it.
func TestSuspicion_B12_TheOtherEnvironmentEndsAPause(t *testing.T) {
	t.Parallel()
	v := pausedVendor()
	if v.second(3, taken); len(v.Pauses()) != 0 {
		t.Errorf("still paused: %v", v.Pauses())
	}
}

// A fleet of any size is judged in bounded memory: about right, and where it is
// not known exactly, for keeping addresses.
func TestSuspicion_SamplesLargeFleets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		percent  uint64
		from, to int // after how many tokens it pauses; 0 for never
	}{{10, 0, 0}, {18, outbox.SampleSize, 2 * outbox.SampleSize}, {30, outbox.MassRefused, 100}} {
		v := &vendor{now: t0}
		at := 0
		for n := 1; n <= 40_000 && at == 0; n++ {
			answer := taken
			// The first ones tell little about a share: they are taken.
			if n > 20 && mix(n+1_000_000)%100 < c.percent {
				answer = refusal
			}
			if v.first(n, answer) == many {
				at = n
			}
		}
		if at < c.from || at > c.to {
			t.Errorf("%d%% refused: paused after %d", c.percent, at)
		}
	}
}

func TestSuspicion_ManyTargetsForgetTheQuietest(t *testing.T) {
	t.Parallel()
	v := &vendor{now: t0}
	v.takes(2)
	other := func(n int) outbox.Try {
		return outbox.Try{Home: outbox.Target{App: "app", Topic: fmt.Sprint(n)}, Token: 1, Last: true}
	}
	for n := range outbox.MaxTargets - 1 {
		v.now = v.now.Add(time.Second)
		v.judge(other(n), taken)
	}
	if got := v.both(1); got != dies {
		t.Fatalf("forgotten too early: %s", got)
	}
	for n := range outbox.MaxTargets {
		v.now = v.now.Add(time.Second)
		v.judge(other(1000+n), taken)
	}
	if got := v.both(1); got != stays {
		t.Errorf("%s: forgotten, and yet somebody dies", got)
	}
}

// A key that is good in one environment only is no reason to stop the lane when
// a token is tried in the other one.
func TestSuspicion_CredentialsOfTheOtherEnvironment(t *testing.T) {
	t.Parallel()
	cred := push.Verdict{Class: push.Cred, Reason: "BadEnvironmentKeyInToken", RetryAfter: time.Hour}
	home := outbox.Try{Home: deathRow}
	if got := home.Heard(cred); got != cred {
		t.Errorf("at home: %+v", got)
	}
	away := outbox.Try{Home: deathRow, Other: true, First: "BadDeviceToken"}
	if got := away.Heard(cred); got != refusal {
		t.Errorf("away: %+v", got)
	}
	if got := away.Heard(push.Verdict{Class: push.Suspect, Reason: push.ReasonNoEnvironment}); got != refusal {
		t.Errorf("no way there: %+v", got)
	}
	v := &vendor{now: t0}
	v.takes(2)
	v.first(1, refusal)
	if got := v.second(1, cred); got != dies {
		t.Error(got)
	}
}

func TestTryOf(t *testing.T) {
	t.Parallel()
	at := func(env push.Env) push.Address {
		return push.Address{App: "app", Topic: "dev.beckon", Env: env, Generation: 4}
	}
	sandbox := outbox.Target{App: "app", Topic: "dev.beckon", Env: push.EnvSandbox}
	none := outbox.Target{App: "app", Topic: "dev.beckon"}
	for name, c := range map[string]struct {
		row  push.Delivery
		to   push.Address
		want outbox.Try
	}{
		"first":             {push.Delivery{}, at(push.EnvProduction), outbox.Try{Home: deathRow}},
		"no environments":   {push.Delivery{}, at(""), outbox.Try{Home: none, Last: true}},
		"second":            {push.Delivery{Env: push.EnvSandbox, Generation: 4}, at(push.EnvSandbox), outbox.Try{Home: deathRow, Other: true, Last: true}},
		"registered anew":   {push.Delivery{Env: push.EnvSandbox, Generation: 3}, at(push.EnvSandbox), outbox.Try{Home: sandbox}},
		"of another answer": {push.Delivery{Env: push.EnvSandbox, Generation: 3}, at(push.EnvProduction), outbox.Try{Home: deathRow}},
	} {
		if diff := cmp.Diff(c.want, outbox.TryOf(c.row, c.to, 0)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}
