package rpc_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/rpc"
)

// hand is a clock that a test moves.
type hand struct{ now time.Time }

func (h *hand) read() time.Time { return h.now }

func TestSourcesHaveBuckets(t *testing.T) {
	t.Parallel()
	clock := &hand{now: time.Unix(1_000_000, 0)}
	limits := policy.DefaultLimits()
	rates := rpc.NewRates(limits, clock.read)
	const peer = "192.0.2.1:5000"
	for i := range limits.AnonymousBurst {
		check(t, rates.Source(fmt.Sprintf("192.0.2.1:%d", 5000+i))) // the port is no new caller
	}
	slow, ok := errors.AsType[*app.RateError](rates.Source(peer))
	if !ok || slow.RetryAfter <= 0 || slow.RetryAfter > time.Second {
		t.Fatalf("the burst is over: %v", slow)
	}
	check(t, rates.Source("192.0.2.2:5000")) // a neighbour has its own
	clock.now = clock.now.Add(slow.RetryAfter)
	check(t, rates.Source(peer)) // the promise holds
}

func TestSourcesOfIPv6AreNetworks(t *testing.T) {
	t.Parallel()
	clock := &hand{now: time.Unix(1_000_000, 0)}
	limits := policy.DefaultLimits()
	rates := rpc.NewRates(limits, clock.read)
	for i := range limits.AnonymousBurst {
		check(t, rates.Source(fmt.Sprintf("[2001:db8::%d]:1", i+1)))
	}
	if rates.Source("[2001:db8::ffff]:1") == nil {
		t.Error("another address of one network is another caller")
	}
	check(t, rates.Source("[2001:db8:0:1::1]:1"))
	for i := range limits.AnonymousBurst {
		check(t, rates.Source(fmt.Sprintf("198.51.100.1:%d", i+1)))
	}
	if rates.Source("[::ffff:198.51.100.1]:1") == nil {
		t.Error("one address in two spellings is two callers")
	}
}

func TestTheTableOfBucketsIsBounded(t *testing.T) {
	t.Parallel()
	clock := &hand{now: time.Unix(1_000_000, 0)}
	limits := policy.DefaultLimits()
	rates := rpc.NewRates(limits, clock.read)
	const first = "192.0.2.1:1"
	for range limits.AnonymousBurst {
		check(t, rates.Source(first))
	}
	if rates.Source(first) == nil {
		t.Fatal("the burst is over")
	}
	for i := range rpc.RateKeys {
		check(t, rates.Source(fmt.Sprintf("10.%d.%d.%d:1", i>>16&255, i>>8&255, i&255)))
	}
	check(t, rates.Source(first)) // forgotten, so full again
}
