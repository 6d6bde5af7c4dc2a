package outbox_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/push/verdicttest"
)

// The table in the documentation of package push has every class and says what
// happens.
func TestVerdicts_AreWhatTheTableSays(t *testing.T) {
	t.Parallel()
	sent := push.Address{ID: "adr", Env: push.EnvSandbox, Token: "aa", Generation: 3}
	got := map[push.Class]verdicttest.Effect{}
	for _, class := range []push.Class{
		push.OK, push.Backoff, push.SlowDevice, push.SlowAll, push.Cred, push.Dead, push.Suspect, push.Bug, push.Ambiguous,
	} {
		got[class] = verdicttest.Of(t, push.Verdict{Class: class, Reason: "Said"}, sent)
	}
	if diff := cmp.Diff(verdicttest.Documented(t, "../doc.go"), got); diff != "" {
		t.Errorf("(-documented +what happens):\n%s", diff)
	}
}

// A vendor's least wait is where the doubling starts, and stays a least wait.
func TestBackoff_RampsFromTheVendorsMinimum(t *testing.T) {
	t.Parallel()
	const least = 10 * time.Second
	for n, want := range []time.Duration{10 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 150 * time.Second, 150 * time.Second} {
		if low, high := outbox.Backoff(n, least, 0), outbox.Backoff(n, least, 0.999); low != want || high > 2*want || high < want {
			t.Errorf("after %d: %v to %v, want from %v", n, low, high, want)
		}
	}
}
