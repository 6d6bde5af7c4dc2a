package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/store"
)

// outboxCases: deliveries, and who owns an endpoint.
func outboxCases() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"a delivery is written once":            deliveryOnce,
		"deliveries are claimed in order":       claimDeliveries,
		"a claimed delivery comes back":         leasedAgain,
		"a settled delivery is not found again": finishedGone,
		"an update skips what is gone":          updateSkips,
		"an endpoint has one owner at a time":   endpointOwner,
	}
}

func (w *world) delivery(n int) push.Delivery {
	return push.Delivery{
		ID: fmt.Sprintf("dlv_%d", n), Account: w.account, Lane: "apns", State: push.Pending,
		DueAt: w.at(time.Duration(n) * time.Minute), ExpiresAt: w.at(time.Hour),
	}
}

func (w *world) plan(ds ...push.Delivery) store.Commit {
	w.t.Helper()
	return w.update(func(tx *store.Tx) error {
		for _, d := range ds {
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
		}
		return nil
	})
}

// lease claims everything that is due.
func (w *world) lease(lane string, now time.Time, n int) []string {
	w.t.Helper()
	rows, err := w.store.ClaimDeliveries(context.Background(), lane, now, n, func(d push.Delivery) (push.Delivery, bool) {
		d.State, d.Lease, d.LeaseUntil = push.Leased, "worker", now.Add(time.Minute)
		return d, true
	})
	if err != nil {
		w.t.Fatalf("claim: %v", err)
	}
	return ids(rows)
}

func ids(rows []push.Delivery) (out []string) {
	for _, d := range rows {
		out = append(out, d.ID)
	}
	return out
}

func (w *world) stored(id string) push.Delivery {
	w.t.Helper()
	var d push.Delivery
	w.view(func(r *store.Read) (err error) {
		d, err = r.Delivery(id)
		return err
	})
	return d
}

func (w *world) next(lane string) time.Time {
	w.t.Helper()
	at, err := w.store.NextDelivery(context.Background(), lane)
	if err != nil {
		w.t.Fatalf("next: %v", err)
	}
	return at
}

func deliveryOnce(t *testing.T, w *world) {
	d := w.delivery(1)
	expect(t, "lanes", w.plan(d).Outbox, []string{"apns"})
	again := d
	again.State, again.DueAt = push.Accepted, w.at(0)
	expect(t, "lanes of a replay", w.plan(again).Outbox, nil)
	expect(t, "row", w.stored(d.ID), d)
	expect(t, "next", w.next("apns"), d.DueAt)
}

func claimDeliveries(t *testing.T, w *world) {
	other := w.apart(t)
	elsewhere := other.delivery(2)
	elsewhere.ID = "dlv_x"
	lane := w.delivery(1)
	lane.ID, lane.Lane = "dlv_y", "apns2"
	w.plan(w.delivery(3), w.delivery(1), w.delivery(9), lane)
	other.plan(elsewhere)
	expect(t, "next", w.next("apns"), w.at(time.Minute))
	expect(t, "early", w.lease("apns", w.at(time.Minute-time.Microsecond), 10), nil)
	expect(t, "two of them", w.lease("apns", w.at(5*time.Minute), 2), []string{"dlv_1", "dlv_x"})
	expect(t, "the rest that is due", w.lease("apns", w.at(5*time.Minute), 2), []string{"dlv_3"})
	expect(t, "another lane", w.lease("apns2", w.at(5*time.Minute), 2), []string{"dlv_y"})
	if d := other.stored("dlv_x"); d.State != push.Leased || d.Lease != "worker" {
		t.Errorf("another account's row: %+v", d)
	}
}

func leasedAgain(t *testing.T, w *world) {
	w.plan(w.delivery(1))
	w.lease("apns", w.at(time.Minute), 10)
	expect(t, "next is the end of the lease", w.next("apns"), w.at(2*time.Minute))
	expect(t, "leased", w.lease("apns", w.at(2*time.Minute-time.Microsecond), 10), nil)
	expect(t, "the worker is gone", w.lease("apns", w.at(2*time.Minute), 10), []string{"dlv_1"})
	if n := w.pointers("apns"); n != 1 {
		t.Errorf("%d pointers", n)
	}
}

func finishedGone(t *testing.T, w *world) {
	w.plan(w.delivery(1), w.delivery(2))
	rows, err := w.store.ClaimDeliveries(context.Background(), "apns", w.at(time.Hour), 10, func(d push.Delivery) (push.Delivery, bool) {
		d.State = push.Superseded // settled while it was claimed: stored, not handed out
		return d, d.ID == "dlv_2"
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "handed out", ids(rows), []string{"dlv_2"})
	expect(t, "row", w.stored("dlv_1").State, push.Superseded)
	expect(t, "next", w.next("apns"), time.Time{})
	expect(t, "claimed again", w.lease("apns", w.at(time.Hour), 10), nil)
	if n := w.pointers("apns"); n != 0 {
		t.Errorf("%d pointers", n)
	}
}

func updateSkips(t *testing.T, w *world) {
	w.plan(w.delivery(1), w.delivery(3))
	asked := []push.Delivery{w.delivery(1), w.delivery(2), w.delivery(3)}
	var seen []int
	err := w.store.UpdateDeliveries(context.Background(), asked, func(i int, d push.Delivery) (push.Delivery, bool) {
		seen = append(seen, i)
		if d.ID != asked[i].ID {
			t.Errorf("row %d is %s", i, d.ID)
		}
		d.State, d.DueAt = push.Retry, w.at(30*time.Minute)
		return d, i == 0
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "seen", seen, []int{0, 2})
	expect(t, "changed", w.stored("dlv_1").State, push.Retry)
	expect(t, "not changed", w.stored("dlv_3"), w.delivery(3))
	expect(t, "order", w.lease("apns", w.at(time.Hour), 10), []string{"dlv_3", "dlv_1"})
	w.view(func(r *store.Read) error {
		all, err := r.Deliveries()
		expect(t, "all", ids(all), []string{"dlv_1", "dlv_3"})
		return err
	})
}

func endpointOwner(t *testing.T, w *world) {
	other := w.apart(t)
	a := push.Address{ID: "adr_1", Installation: "ins_1", Kind: push.KindAPNs, App: "app", Token: "token"}
	put := func(w *world, a push.Address) push.Address {
		w.update(func(tx *store.Tx) (err error) {
			a, err = tx.PutAddress(a)
			return err
		})
		return a
	}
	owner := func() (o store.Registered) {
		w.view(func(r *store.Read) (err error) {
			o, err = r.Owner(a)
			return err
		})
		return o
	}
	mine := put(w, a)
	expect(t, "first generation", mine.Generation, 1)
	expect(t, "registered again", put(w, mine).Generation, 1)
	b := a
	b.ID, b.Installation = "adr_2", "ins_2"
	theirs := put(other, b)
	if theirs.Generation <= mine.Generation {
		t.Errorf("moved with generation %d after %d", theirs.Generation, mine.Generation)
	}
	expect(t, "owner", owner(), store.Registered{Account: other.account, Installation: "ins_2", Address: "adr_2", Generation: theirs.Generation})

	w.update(func(tx *store.Tx) error { return tx.DeleteAddress(mine) })
	expect(t, "the old owner cannot let it go", owner().Account, other.account)
	other.update(func(tx *store.Tx) error { return tx.DeleteAddress(theirs) })
	expect(t, "let go", owner(), store.Registered{Generation: theirs.Generation})
	if back := put(w, a); back.Generation <= theirs.Generation {
		t.Errorf("generation %d came back", back.Generation)
	}
	moved := a
	moved.Token, moved.Generation = "other token", 40
	if moved = put(w, moved); moved.Generation <= 40 {
		t.Errorf("a new token has generation %d", moved.Generation)
	}
}
