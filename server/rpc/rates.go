package rpc

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
)

// RateKeys bounds the table of buckets. A bucket that falls out was not used
// for the longest time and starts full again.
const RateKeys = 100_000

// claimProcedure is the one call of a server without an owner.
const claimProcedure = beckonv1connect.PairingServiceClaimServerProcedure

// Rates holds the buckets of principals and of anonymous sources.
type Rates struct {
	installation, agent, anonymous bucket
	// claim is one bucket for the whole server, redeem one for each source:
	// these calls present secrets.
	claim, redeem bucket
	// test is how often a device may ring itself.
	test bucket

	buckets *buckets
}

// bucket is a rate with its burst.
type bucket struct {
	limit rate.Limit
	burst int
}

// NewRates makes full buckets; now is the clock they refill by.
func NewRates(l policy.Limits, now func() time.Time) *Rates {
	return &Rates{
		installation: bucket{rate.Limit(l.InstallationRate), l.InstallationBurst},
		agent:        bucket{rate.Limit(l.AgentRate), l.AgentBurst},
		anonymous:    bucket{rate.Limit(l.AnonymousRate), l.AnonymousBurst},
		claim:        perMinute(5, l),
		redeem:       perMinute(10, l),
		test:         bucket{max(rate.Limit(5.0/3600), rate.Limit(l.AnonymousRate)/3600), max(5, l.AnonymousBurst/2)},
		buckets:      newBuckets(RateKeys, now),
	}
}

// perMinute is a slow bucket, unless the limits put rates out of the way.
func perMinute(n int, l policy.Limits) bucket {
	every := rate.Limit(float64(n) / 60)
	return bucket{max(every, rate.Limit(l.AnonymousRate)/60), max(n, l.AnonymousBurst/2)}
}

// take spends one call; the error is an *app.RateError. A caller in the same
// process has no address and no source bucket.
func (r *Rates) take(p policy.Principal, procedure, peer string) error {
	switch p.Kind {
	case policy.Installation, policy.Probation:
		if procedure == beckonv1connect.AddressServiceTestPushProcedure {
			if err := r.buckets.take("t:"+p.Installation, r.test); err != nil {
				return err
			}
		}
		return r.buckets.take("i:"+p.Installation, r.installation)
	case policy.Agent, policy.TaskToken:
		return r.buckets.take("a:"+p.Agent, r.agent)
	default:
		return r.stranger(procedure, peer)
	}
}

// stranger spends for a caller nobody vouches for.
func (r *Rates) stranger(procedure, peer string) error {
	if err := r.Source(peer); err != nil {
		return err
	}
	switch procedure {
	case claimProcedure:
		return r.buckets.take("claim", r.claim)
	case beckonv1connect.PairingServiceRedeemPairingProcedure:
		return r.buckets.take("r:"+sourceOf(peer), r.redeem)
	}
	return nil
}

// Source spends from the bucket of an address nobody vouches for; the error is an
// *app.RateError.
func (r *Rates) Source(peer string) error {
	source := sourceOf(peer)
	if source == "" {
		return nil
	}
	return r.buckets.take("s:"+source, r.anonymous)
}

// sourceOf is one IPv4 address or one IPv6 network of 64 bits, which is what
// one subscriber has.
func sourceOf(peer string) string {
	at, err := netip.ParseAddrPort(peer)
	if err != nil {
		return peer
	}
	addr := at.Addr().Unmap().WithZone("")
	if addr.Is4() {
		return addr.String()
	}
	network, err := addr.Prefix(64)
	if err != nil {
		return peer
	}
	return network.String()
}

// buckets is a table of limiters that forgets the least recently used.
type buckets struct {
	now  func() time.Time
	size int

	mu    sync.Mutex
	known map[string]*namedBucket
	order *list.List // of keys, the last used in front
}

type namedBucket struct {
	limiter *rate.Limiter
	place   *list.Element
}

func newBuckets(size int, now func() time.Time) *buckets {
	return &buckets{now: now, size: size, known: map[string]*namedBucket{}, order: list.New()}
}

func (b *buckets) take(key string, c bucket) error {
	now := b.now()
	limiter := b.limiter(key, c)
	reservation := limiter.ReserveN(now, 1)
	if !reservation.OK() {
		return &app.RateError{RetryAfter: time.Minute}
	}
	wait := reservation.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reservation.CancelAt(now) // who is refused spends nothing
	return &app.RateError{RetryAfter: wait}
}

func (b *buckets) limiter(key string, c bucket) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, ok := b.known[key]; ok {
		b.order.MoveToFront(at.place)
		return at.limiter
	}
	if b.order.Len() >= b.size {
		if oldest, ok := b.order.Remove(b.order.Back()).(string); ok {
			delete(b.known, oldest)
		}
	}
	made := &namedBucket{limiter: rate.NewLimiter(c.limit, c.burst), place: b.order.PushFront(key)}
	b.known[key] = made
	return made.limiter
}
