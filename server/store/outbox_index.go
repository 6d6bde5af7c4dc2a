package store

import (
	"slices"
	"time"

	"github.com/beckon-dev/beckon/push"
)

// indexDelivery writes the two ways to find a row again: by what it is about,
// for whoever closes that, and by time, for whoever asks why a phone rang.
// Neither ever changes, so claiming and finishing leave them alone.
func (t *Tx) indexDelivery(d push.Delivery) error {
	if err := t.w.Put(tabRecent, accountKey(t.account, beTime(d.CreatedAt), d.ID), []byte{1}); err != nil {
		return err
	}
	if d.Key() == "" {
		return nil
	}
	return t.w.Put(tabAbout, accountKey(t.account, d.Key(), d.ID), []byte{1})
}

// DeliveriesAbout lists the rows of one subject: a decision, or a task's end.
// Those of a task are not those of its decisions.
func (r *Read) DeliveriesAbout(subject string) ([]push.Delivery, error) {
	prefix := append(accountKey(r.account, subject), 0)
	var ids []string
	err := r.r.Scan(tabAbout, prefix, after(prefix), func(k, _ []byte) bool {
		ids = append(ids, string(k[len(prefix):]))
		return true
	})
	if err != nil {
		return nil, err
	}
	return r.deliveries(ids)
}

// DeliveryPlace is where a list of rows by time goes on; the zero value is its
// newest end.
type DeliveryPlace struct {
	Time time.Time
	ID   string
}

// RecentDeliveries lists rows of the account, newest first, at most n, from a
// place on without the row at it.
func (r *Read) RecentDeliveries(from DeliveryPlace, n int) ([]push.Delivery, error) {
	prefix := append([]byte(r.account), 0)
	end := after(prefix)
	if !from.Time.IsZero() {
		end = accountKey(r.account, beTime(from.Time), from.ID)
	}
	var ids []string
	err := r.r.ScanBack(tabRecent, prefix, end, func(k, _ []byte) bool {
		ids = append(ids, string(k[len(prefix)+9:]))
		return len(ids) < n
	})
	if err != nil {
		return nil, err
	}
	return r.deliveries(ids)
}

func (r *Read) deliveries(ids []string) ([]push.Delivery, error) {
	out := make([]push.Delivery, 0, len(ids))
	for _, id := range ids {
		d, err := r.Delivery(id)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// PutUnread notes that the end of a task, at this notable position of its
// thread, called the person and was not read yet.
func (t *Tx) PutUnread(thread, task string, position uint64) error {
	return t.w.Put(tabUnread, accountKey(t.account, thread, task), []byte(be(position)))
}

// TakeRead lists the tasks of a thread whose ends are read now that everything
// up to a notable position is, and forgets that they were not.
func (t *Tx) TakeRead(thread string, upTo uint64) ([]string, error) {
	prefix := append(accountKey(t.account, thread), 0)
	var tasks []string
	err := t.r.Scan(tabUnread, prefix, after(prefix), func(k, v []byte) bool {
		if slices.Compare(v, []byte(be(upTo))) <= 0 {
			tasks = append(tasks, string(k[len(prefix):]))
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		if err := t.w.Delete(tabUnread, accountKey(t.account, thread, task)); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// Quiet is what was planned for an address that shows nothing; zero at first.
func (r *Read) Quiet(address string) (push.Quiet, error) {
	q, _, err := getRow[push.Quiet](r.r, tabQuiet, accountKey(r.account, address))
	return q, err
}

// PutQuiet writes it; the zero value forgets it.
func (t *Tx) PutQuiet(address string, q push.Quiet) error {
	key := accountKey(t.account, address)
	if len(q.Sweeps) == 0 && q.Badge == "" {
		return deleteRow(t.w, tabQuiet, key)
	}
	return putRow(t.w, tabQuiet, key, q)
}
