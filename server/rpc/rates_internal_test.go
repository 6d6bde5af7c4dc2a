package rpc

import (
	"errors"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
)

// A device may ring itself five times an hour; its other calls, and another
// device, are not held up by that.
func TestTestPushesAreFiveAnHour(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	rates := NewRates(policy.DefaultLimits(), func() time.Time { return now })
	phone := policy.Principal{Kind: policy.Installation, Installation: "ins_1"}
	const test = beckonv1connect.AddressServiceTestPushProcedure
	for range 5 {
		if err := rates.take(phone, test, ""); err != nil {
			t.Fatal(err)
		}
	}
	slow, ok := errors.AsType[*app.RateError](rates.take(phone, test, ""))
	if !ok || slow.RetryAfter > 12*time.Minute || slow.RetryAfter < 11*time.Minute {
		t.Fatalf("the sixth: %v", slow)
	}
	other := phone
	other.Installation = "ins_2"
	if err := errors.Join(rates.take(other, test, ""), rates.take(phone, beckonv1connect.AddressServicePutAddressProcedure, "")); err != nil {
		t.Error(err)
	}
	now = now.Add(slow.RetryAfter)
	if err := rates.take(phone, test, ""); err != nil {
		t.Error(err)
	}
}
