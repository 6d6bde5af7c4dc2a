package worker

import (
	"context"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
)

// Queue is the outbox as the worker needs it. Methods are called from several
// goroutines at once.
type Queue interface {
	// Claim takes up to n due rows of a lane under a new lease that lasts for
	// the given time and returns them leased. Fewer than n means that no more
	// are due.
	Claim(ctx context.Context, lane string, n int, lease time.Duration) ([]push.Delivery, error)
	// Fresh reads a row's subject and address as they are now and either
	// renders the message or says how the row ends unsent. An error gives the
	// row back.
	Fresh(ctx context.Context, d push.Delivery) (push.Message, outbox.Freshness, error)
	// Finish stores what became of claimed rows, at most Config.Batch of them.
	// A row whose lease was lost is skipped, not an error. It may be called
	// again with the same results after an error, and must not keep the slice.
	Finish(ctx context.Context, results []Result) error
	// NextDue is when the next waiting row of a lane is due or a lease ends,
	// whichever is first; false when there is none.
	NextDue(ctx context.Context, lane string) (time.Time, bool, error)
}

// Result is what became of one claimed row. Command turns it into the outbox
// command to apply.
type Result struct {
	// Delivery is the row as claimed; its Lease proves the claim.
	Delivery push.Delivery
	// Skip says how the row ends when it was not worth sending.
	Skip outbox.Freshness
	// Released gives the row back unsent, due at ReleaseAt.
	Released  string
	ReleaseAt time.Time
	// Verdict is the vendor's, Sent where the send went and SentAt when.
	Verdict push.Verdict
	Sent    push.Address
	SentAt  time.Time
}

// NeedsAddress reports whether Command has to be given the address as stored
// now; for all other results the zero value does.
func (r Result) NeedsAddress() bool {
	return r.Released == "" && r.Skip.Send() && outbox.NeedsAddress(r.Verdict)
}

// Command is what to decide on the row. jitter in [0, 1) spreads a retry.
func (r Result) Command(current outbox.AddressNow, jitter float64) outbox.Command {
	lease := r.Delivery.Lease
	switch {
	case r.Released != "":
		return outbox.Release{Lease: lease, Reason: r.Released, At: r.ReleaseAt}
	case !r.Skip.Send():
		return outbox.Skip{Lease: lease, Why: r.Skip}
	default:
		return outbox.Settle{
			Lease: lease, Verdict: r.Verdict, Sent: r.Sent, SentAt: r.SentAt,
			Current: current, Jitter: jitter,
		}
	}
}

// Reasons a row is given back unsent.
const (
	ReleasedStopping   = outbox.ReasonStopping
	ReleasedPaused     = outbox.ReasonPaused
	ReleasedReadFailed = outbox.ReasonReadFailed
	ReleasedLeaseShort = outbox.ReasonLeaseShort
)

// mayComeDueSoon reports whether the row can be due again soon, so that the
// lane should look without waiting for a wake.
func (r Result) mayComeDueSoon() bool {
	if r.Released != "" {
		return true
	}
	switch r.Verdict.Class {
	case push.OK, push.Bug:
		return false
	default:
		return r.Skip.Send()
	}
}
