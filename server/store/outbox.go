package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push"
)

// Addresses lists the account's push endpoints, oldest first.
func (r *Read) Addresses() ([]push.Address, error) {
	var out []push.Address
	err := scanRows(r.r, tabAddress, append([]byte(r.account), 0), func(_ []byte, a push.Address) bool {
		out = append(out, a)
		return true
	})
	return out, err
}

// Address reads one endpoint of this account.
func (r *Read) Address(id string) (push.Address, error) {
	return missing(getRow[push.Address](r.r, tabAddress, accountKey(r.account, id)))
}

// Owner is who owns an endpoint now. The registry is global: it is what tells
// that an address has moved to another account.
func (r *Read) Owner(a push.Address) (Registered, error) {
	return missing(getRow[Registered](r.r, tabRegistry, endpointKey(a)))
}

// PutAddress writes an endpoint and takes it over in the registry, with a new
// generation when the owner changes. The generation of the row handed in is
// passed too, so that after a rotation nothing learned about the old token is
// taken for news of the new one. It returns the address as stored.
func (t *Tx) PutAddress(a push.Address) (push.Address, error) {
	key := endpointKey(a)
	owner, found, err := getRow[Registered](t.r, tabRegistry, key)
	if err != nil {
		return a, err
	}
	if !found || owner.Account != t.account || owner.Address != a.ID {
		owner = Registered{Account: t.account, Installation: a.Installation, Address: a.ID, Generation: max(owner.Generation, a.Generation) + 1}
		if err := putRow(t.w, tabRegistry, key, owner); err != nil {
			return a, err
		}
	}
	a.Generation = owner.Generation
	return a, putRow(t.w, tabAddress, accountKey(t.account, a.ID), a)
}

// UpdateAddress writes what was learned about an endpoint: its state or its
// environment, never its owner.
func (t *Tx) UpdateAddress(a push.Address) error {
	return putRow(t.w, tabAddress, accountKey(t.account, a.ID), a)
}

// DeleteAddress forgets an endpoint, and its ownership if it still has it.
func (t *Tx) DeleteAddress(a push.Address) error {
	key := endpointKey(a)
	owner, found, err := getRow[Registered](t.r, tabRegistry, key)
	if err != nil {
		return err
	}
	if found && owner.Account == t.account && owner.Address == a.ID {
		// The generation stays in the registry so that it never repeats.
		if err := putRow(t.w, tabRegistry, key, Registered{Generation: owner.Generation}); err != nil {
			return err
		}
	}
	return deleteRow(t.w, tabAddress, accountKey(t.account, a.ID))
}

func endpointKey(a push.Address) []byte {
	h := sha256.Sum256([]byte(string(a.Kind) + "\x00" + a.App + "\x00" + a.Token))
	return h[:]
}

// Delivery reads an outbox row of this account.
func (r *Read) Delivery(id string) (push.Delivery, error) {
	return missing(getRow[push.Delivery](r.r, tabOutbox, accountKey(r.account, id)))
}

// Deliveries lists the account's outbox rows.
func (r *Read) Deliveries() ([]push.Delivery, error) {
	var out []push.Delivery
	err := scanRows(r.r, tabOutbox, append([]byte(r.account), 0), func(_ []byte, d push.Delivery) bool {
		out = append(out, d)
		return true
	})
	return out, err
}

// PutDelivery writes an outbox row in the transaction of its cause. A row that
// exists already stays as it is: a replayed cause says nothing twice.
func (t *Tx) PutDelivery(d push.Delivery) error {
	have, err := t.r.Get(Table(tabOutbox), accountKey(t.account, d.ID))
	if err != nil || have != nil {
		return err
	}
	t.commit.Outbox = append(t.commit.Outbox, d.Lane)
	if err := t.indexDelivery(d); err != nil {
		return err
	}
	return putDelivery(t.w, push.Delivery{}, d)
}

// UpdateDelivery writes a row whose address or subject is gone.
func (t *Tx) UpdateDelivery(d push.Delivery) error {
	old, _, err := getRow[push.Delivery](t.r, tabOutbox, accountKey(t.account, d.ID))
	if err != nil {
		return err
	}
	return putDelivery(t.w, old, d)
}

// putDelivery writes a row and the pointer a worker finds it by. Where the row
// stood before tells where its pointer is; a new row was zero.
func putDelivery(w Writer, old, d push.Delivery) error {
	if err := putRow(w, tabOutbox, accountKey(d.Account, d.ID), d); err != nil {
		return err
	}
	was, next := deliveryPointer(old), deliveryPointer(d)
	if bytes.Equal(was, next) {
		return nil
	}
	if was != nil {
		if err := w.Delete(tabPointOut, was); err != nil {
			return err
		}
	}
	if next == nil {
		return nil
	}
	return w.Put(tabPointOut, next, []byte{1})
}

// deliveryPointer is the key of a row's pointer, nil where it has none.
func deliveryPointer(d push.Delivery) []byte {
	at := deliveryDue(d)
	if at.IsZero() {
		return nil
	}
	return accountKey(d.Lane, beTime(at), d.Account, d.ID)
}

// deliveryDue is when somebody has to look at a row: zero once it is final.
func deliveryDue(d push.Delivery) time.Time {
	switch {
	case d.State.Final():
		return time.Time{}
	case d.State == push.Leased:
		return d.LeaseUntil
	default:
		return d.DueAt
	}
}

// claimLook bounds how many rows one claim looks at beyond those it was asked
// for, so that a backlog of rows that are over does not make one long command.
const claimLook = 1024

// ClaimDeliveries hands due rows of a lane to fn, earliest first, until n of
// them are claimed, and stores what fn returns. Rows that are not claimed are
// looked past. It touches outbox tables only.
func (s *Store) ClaimDeliveries(ctx context.Context, lane string, now time.Time, n int, fn func(push.Delivery) (push.Delivery, bool)) ([]push.Delivery, error) {
	var out []push.Delivery
	err := s.engine.Update(ctx, "", func(w Writer) error {
		out = nil
		var from []byte
		for looked := 0; len(out) < n && looked < n+claimLook; {
			keys, last, err := dueDeliveries(w, lane, from, now, n-len(out))
			if err != nil || len(keys) == 0 {
				return err
			}
			claimed, err := handDeliveries(w, keys, fn)
			if err != nil {
				return err
			}
			out, looked, from = append(out, claimed...), looked+len(keys), slices.Concat(last, []byte{0})
		}
		return nil
	})
	return out, err
}

// handDeliveries hands rows to fn, stores those it changed and returns those it
// claimed.
func handDeliveries(w Writer, keys []deliveryKey, fn func(push.Delivery) (push.Delivery, bool)) ([]push.Delivery, error) {
	var out []push.Delivery
	for _, k := range keys {
		d, found, err := getRow[push.Delivery](w, tabOutbox, accountKey(k.account, k.id))
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		next, claimed := fn(d)
		if next != d {
			if err := putDelivery(w, d, next); err != nil {
				return nil, err
			}
		}
		if claimed {
			out = append(out, next)
		}
	}
	return out, nil
}

type deliveryKey struct{ account, id string }

// dueDeliveries reads pointers from a key on, or from the start of the lane,
// and the last key it read.
func dueDeliveries(r Reader, lane string, from []byte, now time.Time, n int) (keys []deliveryKey, last []byte, err error) {
	prefix := append([]byte(lane), 0)
	if from == nil {
		from = prefix
	}
	to := []byte(lane + "\x00" + beTime(now.Add(time.Microsecond)))
	err = r.Scan(tabPointOut, from, to, func(k, _ []byte) bool {
		parts := strings.SplitN(string(k[len(prefix)+9:]), "\x00", 2)
		keys, last = append(keys, deliveryKey{parts[0], parts[1]}), append(last[:0], k...)
		return len(keys) < n
	})
	return keys, last, err
}

// UpdateDeliveries hands named rows to fn and stores what it returns; a row
// that is gone is skipped. It touches outbox tables only.
func (s *Store) UpdateDeliveries(ctx context.Context, rows []push.Delivery, fn func(i int, d push.Delivery) (push.Delivery, bool)) error {
	return s.engine.Update(ctx, "", func(w Writer) error {
		for i, row := range rows {
			d, found, err := getRow[push.Delivery](w, tabOutbox, accountKey(row.Account, row.ID))
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			next, changed := fn(i, d)
			if !changed {
				continue
			}
			if err := putDelivery(w, d, next); err != nil {
				return err
			}
		}
		return nil
	})
}

// NextDelivery is when a lane has its next row, zero when there is none.
func (s *Store) NextDelivery(ctx context.Context, lane string) (time.Time, error) {
	var at time.Time
	err := s.engine.View(ctx, "", func(r Reader) error {
		at = time.Time{}
		prefix := append([]byte(lane), 0)
		return r.Scan(tabPointOut, prefix, after(prefix), func(k, _ []byte) bool {
			at = parseTime(k[len(prefix):])
			return false
		})
	})
	return at, err
}
