package cli

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"
)

// Two signals at once are one: the second would kill this very process.
func TestUntilSignal_TwiceIsOnce(t *testing.T) { //nolint:paralleltest // signals reach the whole process
	ctx, stop := untilSignal(context.Background())
	defer stop()
	for range 2 {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
	}
	if i, ok := errors.AsType[interrupted](context.Cause(ctx)); !ok || i.signal != syscall.SIGINT {
		t.Errorf("ended by %v", context.Cause(ctx))
	}
}

// Who interrupts a command does not wait a minute for a server that is gone.
func TestReportLimit(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, test := range []struct {
		name        string
		interrupted time.Time
		allowed     time.Duration
		want        time.Duration
	}{
		{"nobody waits", time.Time{}, time.Minute, time.Minute},
		{"somebody waits", now, time.Minute, 5 * time.Second},
		{"less is allowed", now, time.Second, time.Second},
	} {
		r := &running{command: runCommand{Report: test.allowed}, interrupted: test.interrupted}
		if got := r.reportLimit(); got != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
	}
}
