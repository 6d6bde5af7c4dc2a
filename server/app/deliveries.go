package app

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/push/worker"
	"github.com/beckon-dev/beckon/server/failpoint"
	"github.com/beckon-dev/beckon/server/store"
)

// Outbox is the push worker's queue over the store: claims and finishes touch
// outbox tables only, in batches, and no transaction is open while something is
// sent.
type Outbox struct{ app *App }

var _ worker.Queue = Outbox{}

// Outbox is the queue of this server's deliveries.
func (a *App) Outbox() Outbox { return Outbox{app: a} }

// Claim takes due rows of a lane. Rows that turn out to be over, or not due,
// are settled on the way and looked past.
func (o Outbox) Claim(ctx context.Context, lane string, n int, lease time.Duration) ([]push.Delivery, error) {
	name, err := randomName(o.app.random)
	if err != nil {
		return nil, err
	}
	now := o.app.clock().UTC().Truncate(time.Microsecond)
	cmd := outbox.Claim{Lease: "lse_" + name, Until: now.Add(lease)}
	return o.app.store.ClaimDeliveries(ctx, lane, now, n, func(d push.Delivery) (push.Delivery, bool) {
		next, _, err := outbox.Step(d, cmd, now)
		if err != nil {
			return d, false
		}
		return next, next.State == push.Leased
	})
}

// Recover gives back the rows that a worker of an earlier process held, so
// that a restart does not wait for their leases. Only for a server that is
// alone on its store.
func (o Outbox) Recover(ctx context.Context, lane string) error {
	now := o.app.clock().UTC().Truncate(time.Microsecond)
	everything := now.Add(everyLease)
	_, err := o.app.store.ClaimDeliveries(ctx, lane, everything, 1<<30, func(d push.Delivery) (push.Delivery, bool) {
		next, _, err := outbox.Step(d, outbox.Reap{Orphaned: true}, now)
		if err != nil {
			return d, false
		}
		return next, false
	})
	return err
}

// everyLease is longer than any lease of a delivery.
const everyLease = 24 * time.Hour

// Finish stores what became of claimed rows, then what it taught about their
// addresses.
func (o Outbox) Finish(ctx context.Context, results []worker.Result) error {
	failpoint.Hit("push.accepted")
	now := o.app.clock().UTC().Truncate(time.Microsecond)
	rows := make([]push.Delivery, len(results))
	commands := make([]outbox.Command, len(results))
	for i, r := range results {
		rows[i] = r.Delivery
		var current outbox.AddressNow
		if r.NeedsAddress() {
			var err error
			if current, err = o.addressNow(ctx, r.Delivery); err != nil {
				return err
			}
		}
		jitter, err := o.app.fraction()
		if err != nil {
			return err
		}
		commands[i] = r.Command(current, jitter)
	}
	learned := make([][]outbox.Event, len(rows))
	err := o.app.store.UpdateDeliveries(ctx, rows, func(i int, d push.Delivery) (push.Delivery, bool) {
		next, events, err := outbox.Step(d, commands[i], now)
		if err != nil || len(events) == 0 {
			return d, false // the lease was lost: somebody else has the row
		}
		learned[i] = events
		return next, true
	})
	if err != nil {
		return err
	}
	for i, events := range learned {
		for _, e := range events {
			err = errors.Join(err, o.app.learnAddress(ctx, rows[i].Account, e))
		}
	}
	return err
}

// NextDue is when a lane has its next row.
func (o Outbox) NextDue(ctx context.Context, lane string) (time.Time, bool, error) {
	at, err := o.app.store.NextDelivery(ctx, lane)
	return at, !at.IsZero(), err
}

func (o Outbox) addressNow(ctx context.Context, d push.Delivery) (outbox.AddressNow, error) {
	var now outbox.AddressNow
	err := o.app.store.View(ctx, d.Account, func(tx *store.Read) error {
		var err error
		now, err = readAddress(tx, d.Address)
		return err
	})
	return now, err
}

// readAddress is an address as it is now, and whether the registry still names
// it as the owner of its token.
func readAddress(tx *store.Read, id string) (outbox.AddressNow, error) {
	addr, err := tx.Address(id)
	if errors.Is(err, store.ErrNotFound) {
		return outbox.AddressNow{}, nil
	}
	if err != nil {
		return outbox.AddressNow{}, err
	}
	owner, err := tx.Owner(addr)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return outbox.AddressNow{}, err
	}
	return outbox.AddressNow{
		Found: true, Address: addr,
		Owned: owner.Account == tx.Account() && owner.Address == addr.ID && owner.Generation == addr.Generation,
	}, nil
}

// learnAddress stores what a vendor's answer says about an address, by
// compare-and-set, and lets its device know.
func (a *App) learnAddress(ctx context.Context, account string, e outbox.Event) error {
	var id string
	switch e := e.(type) {
	case outbox.AddressJudged:
		id = e.Address
	case outbox.EnvLearned:
		id = e.Address
	default:
		return nil
	}
	return a.update(ctx, account, func(tx *store.Tx) error {
		addr, err := tx.Address(id)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		next, changed := outbox.Mark(addr, e)
		if !changed {
			return nil
		}
		if next.State == push.AddressDead && addr.State != push.AddressDead {
			if err := tx.Audit(actorServer, "address.dead", addr.ID, ""); err != nil {
				return err
			}
		}
		if err := tx.UpdateAddress(next); err != nil {
			return err
		}
		return showHealth(tx, next)
	})
}

// showHealth tells a device, by sync, whether it has to register again.
func showHealth(tx *store.Tx, addr push.Address) error {
	inst, err := tx.Installation(addr.Installation)
	if err != nil {
		return err
	}
	switch addr.State {
	case push.AddressDead:
		inst.Health = store.PushDead
	case push.AddressSuspect:
		inst.Health = store.PushSuspect
	default:
		inst.Health = store.PushOK
	}
	return tx.PutInstallation(inst)
}

// fraction draws a number in [0, 1).
func (a *App) fraction() (float64, error) {
	var b [8]byte
	if _, err := io.ReadFull(a.random, b[:]); err != nil {
		return 0, err
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53), nil
}

// stampText is how a stamp travels inside a push.
func stampText(stamp []byte) string { return base64.RawURLEncoding.EncodeToString(stamp) }
