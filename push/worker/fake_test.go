package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/push/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeQueue is an outbox in memory that keeps the real life cycle.
type fakeQueue struct {
	mu      sync.Mutex
	rows    map[string]push.Delivery
	order   []string
	address push.Address
	handled map[string]bool
	leases  int
	// each gives every row a token of its own.
	each bool
	dead []string // rows whose address died

	claims, finishes []int // sizes
	refused          int   // results that came under a lost lease
	claimTakes       time.Duration
	leaseFor         time.Duration // instead of what was asked for
	claimErr         error
	freshErr         error
	finishErr        error
}

func newQueue(n int) *fakeQueue {
	q := &fakeQueue{
		rows: map[string]push.Delivery{}, handled: map[string]bool{},
		address: push.Address{ID: "adr", Token: "aa", Env: push.EnvSandbox, Generation: 1, RegisteredAt: time.Now()},
	}
	q.add(n)
	return q
}

func (q *fakeQueue) add(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range n {
		id := fmt.Sprintf("dlv_%04d", len(q.rows))
		q.order = append(q.order, id)
		q.rows[id] = push.Delivery{
			ID: id, Kind: push.ResultReady, Subject: push.Subject{Task: id, Version: 1},
			Address: "adr", Generation: 1, State: push.Pending,
			DueAt: time.Now(), ExpiresAt: time.Now().Add(24 * time.Hour), CollapseID: "c-" + id, ProviderID: "p-" + id,
		}
	}
}

func (q *fakeQueue) Claim(_ context.Context, _ string, n int, lease time.Duration) ([]push.Delivery, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.claimTakes > 0 {
		q.mu.Unlock()
		<-time.After(q.claimTakes)
		q.mu.Lock()
	}
	if q.leaseFor > 0 {
		lease = q.leaseFor
	}
	if q.claimErr != nil {
		return nil, q.claimErr
	}
	q.leases++
	var claimed []push.Delivery
	for _, id := range q.order {
		if len(claimed) == n {
			break
		}
		d, _, err := outbox.Step(q.rows[id], outbox.Claim{
			Lease: fmt.Sprintf("lease-%d", q.leases), Until: time.Now().Add(lease),
		}, time.Now())
		if err != nil {
			continue
		}
		q.rows[id] = d
		if d.State == push.Leased {
			claimed = append(claimed, d)
		}
	}
	q.claims = append(q.claims, len(claimed))
	return claimed, nil
}

func (q *fakeQueue) Fresh(ctx context.Context, d push.Delivery) (push.Message, outbox.Freshness, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := errors.Join(ctx.Err(), q.freshErr); err != nil {
		return push.Message{}, outbox.Freshness{}, err
	}
	subject := outbox.SubjectNow{Open: !q.handled[d.ID], Version: 1}
	fresh, to := outbox.Fresh(d, subject, outbox.AddressNow{Found: true, Owned: true, Address: q.address}, time.Now())
	if q.each {
		to.Token += d.ID
	}
	return push.Message{Delivery: d.ID, Address: to, ProviderID: d.ProviderID, CollapseID: d.CollapseID}, fresh, nil
}

func (q *fakeQueue) Finish(ctx context.Context, results []worker.Result) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := errors.Join(ctx.Err(), q.finishErr); err != nil {
		return err
	}
	q.finishes = append(q.finishes, len(results))
	for _, r := range results {
		var current outbox.AddressNow
		if r.NeedsAddress() {
			current = outbox.AddressNow{Found: true, Owned: true, Address: q.address}
			current.Address.Token = r.Sent.Token
		}
		d, events, err := outbox.Step(q.rows[r.Delivery.ID], r.Command(current, 0.5), time.Now())
		if err != nil {
			q.refused++
			continue
		}
		q.rows[d.ID] = d
		for _, e := range events {
			if judged, ok := e.(outbox.AddressJudged); q.each && ok {
				if judged.State == push.AddressDead {
					q.dead = append(q.dead, d.ID)
				}
				continue
			}
			q.address, _ = outbox.Mark(q.address, e)
		}
	}
	return nil
}

func (q *fakeQueue) NextDue(context.Context, string) (time.Time, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var next time.Time
	for _, d := range q.rows {
		at := d.DueAt
		if d.State == push.Leased {
			at = d.LeaseUntil
		}
		if !d.State.Final() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, !next.IsZero(), nil
}

func (q *fakeQueue) states() map[push.State]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	got := map[push.State]int{}
	for _, d := range q.rows {
		got[d.State]++
	}
	return got
}

func (q *fakeQueue) row(i int) push.Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rows[q.order[i]]
}

func (q *fakeQueue) set(change func(*fakeQueue)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change(q)
}

// fakeProvider answers what its function says and counts.
type fakeProvider struct {
	answer func(ctx context.Context, n int, m push.Message) push.Verdict

	mu     sync.Mutex
	sent   []push.Message
	times  []time.Time
	flying int
	most   int
}

func always(class push.Class) *fakeProvider {
	return &fakeProvider{answer: func(context.Context, int, push.Message) push.Verdict {
		return push.Verdict{Class: class, Reason: "Said"}
	}}
}

// takes waits before it answers OK, or gives up with the attempt.
func takes(d time.Duration) *fakeProvider {
	return &fakeProvider{answer: func(ctx context.Context, _ int, _ push.Message) push.Verdict {
		select {
		case <-time.After(d):
			return push.Verdict{Class: push.OK}
		case <-ctx.Done():
			return push.Verdict{Class: push.Ambiguous, Reason: "no_answer"}
		}
	}}
}

func (p *fakeProvider) Send(ctx context.Context, m push.Message) push.Verdict {
	p.mu.Lock()
	p.sent, p.times = append(p.sent, m), append(p.times, time.Now())
	n := len(p.sent)
	p.flying++
	p.most = max(p.most, p.flying)
	p.mu.Unlock()
	v := p.answer(ctx, n, m)
	p.mu.Lock()
	p.flying--
	p.mu.Unlock()
	return v
}

func (p *fakeProvider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sent)
}

func (p *fakeProvider) at(i int) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.times[i]
}

func (p *fakeProvider) messages() []push.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}
