package scenario_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// crowdVariable makes the crowd larger than a test of everything needs.
const crowdVariable = "BECKON_SCENARIO_WATCHERS"

// crowdSize is how many clients watch.
func crowdSize(t *testing.T) int {
	t.Helper()
	text := os.Getenv(crowdVariable)
	if text == "" {
		return 500
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is no number: %q", crowdVariable, text)
	}
	return n
}

// The server is killed under a crowd of watchers while changes are being made.
// When it is back, each watcher goes on from its own cursor: none starts over,
// none misses a change that was acknowledged before, around or after the kill,
// and the next one reaches them all.
func TestWatch_KilledUnderACrowd(t *testing.T) {
	t.Parallel()
	n := crowdSize(t)
	h := watched(t, "--limits", "bench")
	began := time.Now()
	screens := make([]*screen, n)
	for i := range screens {
		screens[i] = follow(t, h.owner)
	}
	patience := 30*time.Second + time.Duration(n)*10*time.Millisecond
	shownToAll := func(title string) {
		t.Helper()
		for _, s := range screens {
			s.await(title, patience)
		}
	}
	h.started("before")
	shownToAll("before")
	t.Logf("%d watchers level after %v", n, time.Since(began).Round(time.Millisecond))

	const during = 20
	made, half := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(made)
		for i := range during {
			if i == during/2 {
				close(half)
			}
			// It tries again while the server is away.
			if _, err := h.agent.Start(h.ctx(), &v1.CreateTaskRequest{Title: fmt.Sprint("during ", i)}); err != nil {
				made <- err
				return
			}
		}
	}()
	<-half
	began = time.Now()
	h.server.Restart()
	h.check(<-made)
	for i := range during {
		shownToAll(fmt.Sprint("during ", i))
	}
	t.Logf("level again %v after the kill", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	h.started("after")
	shownToAll("after")
	t.Logf("the next change reached them in %v", time.Since(began).Round(time.Millisecond))
	if starts := strings.Count(h.server.Process.Output(), "SyncService/Bootstrap"); starts != 0 {
		t.Errorf("%d watchers started over", starts)
	}
}
