package beckon_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// Whatever Follow waits for, after Resume it reads at once, by a call of its own
// over no stream, and then follows as before.
func TestResume_ReadsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		streams []func(*wireStream) error
		before  time.Duration
		then    string
	}{
		"in a stream that is silent": {[]func(*wireStream) error{thenSilent, good}, 10 * time.Second, "watch c1"},
		"between two tries":          {[]func(*wireStream) error{dead, dead, dead, dead, good}, 0, "watch c1"},
		"before the first frame":     {[]func(*wireStream) error{silent, good}, time.Second, "watch c1"},
		"in a long poll":             {[]func(*wireStream) error{silent}, 8 * time.Second, "pull"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			follow(t, func(t *testing.T, f *followed) {
				f.pass(c.before)
				f.asked()
				f.mu.Lock()
				f.at++ // and nobody is woken
				f.mu.Unlock()
				at := time.Since(f.began)
				f.inbox.Resume()
				f.inbox.Resume() // twice is once
				synctest.Wait()
				same(t, "asked", f.asked()[:2], []string{"pull", c.then})
				if n := len(f.told); n == 0 || f.told[n-1] != at {
					t.Errorf("told at %v, resumed at %v", f.told, at)
				}
			}, c.streams...)
		})
	}
}

// thenSilent begins well.
func thenSilent(w *wireStream) error {
	if err := start(w); err != nil {
		return err
	}
	return silent(w)
}
