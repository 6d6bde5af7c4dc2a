package rpc

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/decision"
)

// The numbers of enums are the same on the wire and in the domain, so they are
// converted by number; what the domain does not know is refused on the way in.

// enumIn takes a wire number up to the highest the domain knows. Zero passes:
// fields that must not be unspecified say so in the contract.
func enumIn[D ~uint8, W ~int32](field string, v W, highest D) (D, error) {
	if v < 0 || int32(v) > int32(highest) {
		return 0, &app.FieldError{Field: field, Reason: "UNKNOWN_VALUE"}
	}
	return D(v), nil
}

// timeOut leaves the zero time out.
func timeOut(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// timeIn reads a moment in microseconds; absent is zero. Only what a timestamp
// may say is taken, so nothing overflows behind it.
func timeIn(field string, t *timestamppb.Timestamp) (time.Time, error) {
	if t == nil {
		return time.Time{}, nil
	}
	if t.CheckValid() != nil {
		return time.Time{}, &app.FieldError{Field: field, Reason: "INVALID"}
	}
	return t.AsTime().Truncate(time.Microsecond), nil
}

// waitIn reads a length of time; absent and negative are none. The contract
// bounds it from above, and the verb again by its own limit.
func waitIn(d *durationpb.Duration) time.Duration {
	return max(d.AsDuration(), 0)
}

// spanOut leaves no span out.
func spanOut(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

// digestIn reads an optional digest; absent is zero.
func digestIn(field string, b []byte) (decision.Digest, error) {
	var d decision.Digest
	if len(b) == 0 {
		return d, nil
	}
	if len(b) != len(d) {
		return d, &app.FieldError{Field: field, Reason: "LENGTH", Max: int64(len(d))}
	}
	return decision.Digest(b), nil
}

// digestOut leaves the zero digest out.
func digestOut(d decision.Digest) []byte {
	if d == (decision.Digest{}) {
		return nil
	}
	return d[:]
}

func mapAll[A, B any](in []A, fn func(A) B) []B {
	if len(in) == 0 {
		return nil
	}
	out := make([]B, len(in))
	for i, v := range in {
		out[i] = fn(v)
	}
	return out
}
