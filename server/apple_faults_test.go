package server_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

// TestPushes_B32_AppleGoesAwayUnderThem asks more at once than Apple admits, while
// connections end in every way they can. Each question rings once; what was
// ambiguous replaces what it repeats.
func TestPushes_B32_AppleGoesAwayUnderThem(t *testing.T) {
	t.Parallel()
	const tasks, each = 12, 20
	vendor, withAPNs := apple(t)
	iphone := device.New(device.Config{Name: "iphone"})
	t.Cleanup(iphone.Close)
	check(t, iphone.Install(topic, nil))
	check(t, vendor.AddDevice(apns.Registration{Token: token, Topic: topic, Env: apns.Sandbox, Phone: iphone}))
	s := start(t, withAPNs)
	wire := transports(t)[0].connect(t, s)
	me := claim(t, s, wire)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, err := me.PutAddress(ctx, &v1.PutAddressRequest{
		Kind: v1.AddressKind_ADDRESS_KIND_APNS, Token: token, Topic: topic, Environment: v1.ApnsEnvironment_APNS_ENVIRONMENT_SANDBOX,
	})
	check(t, err)
	created, err := me.CreateAgent(ctx, &v1.CreateAgentRequest{IdempotencyKey: "a", Name: "Builder"})
	check(t, err)
	issued, err := me.IssueKey(ctx, &v1.IssueKeyRequest{AgentId: created.GetLink().GetAgentId()})
	check(t, err)
	agent := as(wire, issued.GetSecret())

	for nth, f := range map[int]apns.Fault{
		20:  {GoAway: apns.Shutdown, Answer: apns.Unseen},
		40:  {Streams: 1},
		60:  {GoAway: apns.Shutdown, Answer: apns.Closed, Store: true},
		80:  {GoAway: apns.Shutdown},
		100: {Answer: apns.Closed},
		120: {Answer: apns.Refused},
		140: {Then: apns.ThenCloses},
		160: {Answer: apns.Reset, Store: true},
		180: {Status: 503, Body: []byte("<html>busy</html>")},
	} {
		check(t, vendor.Script(apns.Match{Nth: nth}, f))
	}
	for n := range tasks {
		claimed := held(t, agent, fmt.Sprint("task ", n))
		for k := range each {
			_, err := agent.RequestDecision(ctx, question(claimed, fmt.Sprint(n, "-", k)))
			check(t, err)
		}
	}

	// Two of the faults keep a push and its answer apart, so it comes again.
	rang, replaced := map[string]int{}, 0
	for seen := 0; len(rang) < tasks*each || replaced < 2; {
		e, next, err := iphone.History().Next(ctx, seen)
		if err != nil {
			t.Fatalf("%d of %d questions rang, %d replaced: %v", len(rang), tasks*each, replaced, err)
		}
		seen = next
		switch e.Kind {
		case device.Rang:
			rang[e.Tag]++
		case device.Replaced:
			replaced++
		default:
		}
	}
	if len(rang) != tasks*each {
		t.Errorf("%d alerts rang for %d questions", len(rang), tasks*each)
	}
	for tag, times := range rang {
		if times != 1 {
			t.Errorf("%s rang %d times", tag, times)
		}
	}
	if n := len(vendor.Connections()); n < 6 {
		t.Errorf("%d connections: the faults did not happen", n)
	}
}
