package app

import (
	"errors"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/store"
)

// sweepUp plans the second step after withdrawals that were just planned: the
// app of an iPhone is woken to take away what they leave on the screen.
func (a *App) sweepUp(tx *store.Tx, back []push.Delivery, addresses []push.Address) error {
	for _, d := range back {
		i := slices.IndexFunc(addresses, func(adr push.Address) bool { return adr.ID == d.Address })
		if i < 0 || d.Lane != push.LaneAPNs || d.State.Final() {
			continue
		}
		if err := a.sweep(tx, addresses[i], push.SweepBatch{Withdrawals: []string{d.ID}}); err != nil {
			return err
		}
	}
	return nil
}

// sweep adds to the sweep that waits at an address, or plans one.
func (a *App) sweep(tx *store.Tx, adr push.Address, add push.SweepBatch) error {
	q, err := tx.Quiet(adr.ID)
	if err != nil {
		return err
	}
	rows, err := sweepsOf(tx.Read, q)
	if err != nil {
		return err
	}
	now := tx.Now()
	kept := q.Sweeps[:0:0]
	for i, d := range rows {
		if outbox.Counts(d, now) {
			kept = append(kept, q.Sweeps[i])
		}
	}
	q.Sweeps = kept
	due := outbox.SweepAt(rows, now.Add(outbox.SweepDelay))
	waits := len(rows) > 0 && outbox.Waiting(rows[len(rows)-1])
	q, planned := plan.Sweeping(accountOfTx(tx), q, add, waits, adr, due, now)
	if planned != nil {
		if err := tx.PutDelivery(*planned); err != nil {
			return err
		}
	}
	return tx.PutQuiet(adr.ID, q)
}

// sweepsOf reads the rows of the sweeps of an address, zero where one is gone.
func sweepsOf(tx *store.Read, q push.Quiet) ([]push.Delivery, error) {
	rows := make([]push.Delivery, len(q.Sweeps))
	for i, batch := range q.Sweeps {
		var err error
		if rows[i], err = deliveryOrNone(tx, batch.Row); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func deliveryOrNone(tx *store.Read, id string) (push.Delivery, error) {
	d, err := tx.Delivery(id)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return d, err
}

// recount plans that the devices learn of a number that fell: not by, whose app
// counts itself, and not those in told, which hear of it with a withdrawal. An
// iPhone is woken instead where nothing is left to count.
func (a *App) recount(tx *store.Tx, by string, told map[string]bool) error {
	addresses, err := tx.Addresses()
	if err != nil {
		return err
	}
	for _, adr := range plan.Counting(addresses, by, told) {
		if tx.Counters().Badge() == 0 && adr.Kind.Lane() == push.LaneAPNs {
			err = a.sweep(tx, adr, push.SweepBatch{Zero: true})
		} else {
			err = a.badge(tx, adr)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// badge plans that an address is told the number, unless that waits already:
// the number is read right before the send.
func (a *App) badge(tx *store.Tx, adr push.Address) error {
	q, err := tx.Quiet(adr.ID)
	if err != nil {
		return err
	}
	last, err := deliveryOrNone(tx.Read, q.Badge)
	if err != nil || outbox.Waiting(last) {
		return err
	}
	now := tx.Now()
	row := plan.Recount(accountOfTx(tx), adr, outbox.BadgeAt(last, now.Add(outbox.BadgeDelay)), now)
	if err := tx.PutDelivery(row); err != nil {
		return err
	}
	q.Badge = row.ID
	return tx.PutQuiet(adr.ID, q)
}

func accountOfTx(tx *store.Tx) plan.Account {
	return plan.Account{ID: tx.Account(), Route: tx.Account()}
}

// freshSweep looks at what a sweep comes after, and at how many there were.
func (a *App) freshSweep(tx *store.Read, row push.Delivery, address outbox.AddressNow, now time.Time, m *push.Message, f *outbox.Freshness) error {
	q, err := tx.Quiet(row.Address)
	if err != nil {
		return err
	}
	rows, err := sweepsOf(tx, q)
	if err != nil {
		return err
	}
	var batch push.SweepBatch
	earlier := slices.DeleteFunc(rows, func(d push.Delivery) bool { return d.ID == row.ID })
	for _, b := range q.Sweeps {
		if b.Row == row.ID {
			batch = b
		}
	}
	steps, err := stepsOf(tx, batch)
	if err != nil {
		return err
	}
	var to push.Address
	zero := batch.Zero && tx.Counters().Badge() == 0
	if *f, to = outbox.FreshSweep(row, earlier, steps, zero, address, now); !f.Send() {
		return nil
	}
	in, err := a.input(tx, row, to)
	if err != nil {
		return err
	}
	for _, d := range steps {
		if d.State == push.Accepted {
			in.Tags = append(in.Tags, d.CollapseID)
		}
	}
	*m = plan.Compose(in)
	return nil
}

// stepsOf reads the withdrawals that a sweep comes after.
func stepsOf(tx *store.Read, batch push.SweepBatch) ([]push.Delivery, error) {
	var steps []push.Delivery
	for _, id := range batch.Withdrawals {
		d, err := deliveryOrNone(tx, id)
		if err != nil {
			return nil, err
		}
		if d.ID != "" {
			steps = append(steps, d)
		}
	}
	return steps, nil
}

// freshBadge reads the number as it is now.
func (a *App) freshBadge(tx *store.Read, row push.Delivery, address outbox.AddressNow, now time.Time, m *push.Message, f *outbox.Freshness) error {
	var to push.Address
	if *f, to = outbox.FreshBadge(row, tx.Counters().Badge(), address, now); !f.Send() {
		return nil
	}
	in, err := a.input(tx, row, to)
	if err != nil {
		return err
	}
	*m = plan.Compose(in)
	return nil
}
