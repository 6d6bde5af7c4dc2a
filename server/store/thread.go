package store

import (
	"encoding/binary"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/thread"
)

// Thread reads a thread.
func (r *Read) Thread(id string) (thread.State, error) {
	return missing(getRow[thread.State](r.r, tabThread, accountKey(r.account, id)))
}

// PutThread writes a thread and whether it asks for attention. show says that
// lists should see its head now.
func (t *Tx) PutThread(s thread.State, show bool) error {
	if show {
		s.HeaderTime = t.now
	}
	if err := t.setMoved(&s, show); err != nil {
		return err
	}
	if err := putRow(t.w, tabThread, accountKey(t.account, s.ID), s); err != nil {
		return err
	}
	if err := t.setAttention(attentionThread, s.ID, s.Unread() > 0); err != nil {
		return err
	}
	if !show {
		return nil
	}
	return publishAs(t, changelog.AccountScope, entThreadHeader, s.ID, HeaderOf(s))
}

// PutItem writes an item of a thread's timeline.
func (t *Tx) PutItem(it thread.Item) error {
	if err := t.w.Put(tabItemID, accountKey(t.account, it.Thread, be(it.Position)), []byte(it.ID)); err != nil {
		return err
	}
	return publishAs(t, changelog.ThreadScope(it.Thread), entItem, it.ID, it)
}

// Items reads the items of a thread before a position, newest first; 0 means
// from the end. At most n, and at most maxBytes of them but at least one.
func (r *Read) Items(id string, before uint64, n, maxBytes int) (items []thread.Item, more bool, err error) {
	prefix := append(accountKey(r.account, id), 0)
	to := after(prefix)
	if before > 0 {
		to = accountKey(r.account, id, be(before))
	}
	var failed error
	size := 0
	err = r.r.ScanBack(tabItemID, prefix, to, func(k, v []byte) bool {
		if len(k) != len(prefix)+8 || binary.BigEndian.Uint64(k[len(prefix):]) == 0 {
			return true
		}
		row, _, err := getEntity(r.r, entityKey(r.account, changelog.ThreadScope(id), changelog.Key{Kind: changelog.Item, ID: string(v)}))
		if err != nil {
			failed = err
			return false
		}
		if row.Deleted {
			return true
		}
		if len(items) == n || len(items) > 0 && size+len(row.Body) > maxBytes {
			more = true
			return false
		}
		size += len(row.Body)
		it, err := decodeEntity(entItem, row.Body)
		if err != nil {
			failed = err
			return false
		}
		items = append(items, it)
		return true
	})
	if err == nil {
		err = failed
	}
	return items, more, err
}

// ItemOf finds the item that a task's agent appended under its own name.
func (r *Read) ItemOf(task, client string) (string, bool, error) {
	b, err := r.r.Get(tabAskKey, accountKey(r.account, task, "item", client))
	return string(b), b != nil, err
}

// PutItemOf remembers the item that an agent's own name stands for.
func (t *Tx) PutItemOf(task, client, item string) error {
	return t.w.Put(tabAskKey, accountKey(t.account, task, "item", client), []byte(item))
}

type attention string

const (
	attentionThread   attention = "thread"
	attentionDecision attention = "decision"
)

// setAttention keeps the set whose size is the badge, and its count, in step.
func (t *Tx) setAttention(kind attention, id string, in bool) error {
	key := accountKey(t.account, string(kind), id)
	have, err := t.r.Get(tabAttention, key)
	if err != nil || (have != nil) == in {
		return err
	}
	counter := &t.head.Counters.OpenDecisions
	if kind == attentionThread {
		counter = &t.head.Counters.UnreadThreads
	}
	t.counters = true
	if !in {
		*counter--
		return t.w.Delete(tabAttention, key)
	}
	*counter++
	return t.w.Put(tabAttention, key, []byte{1})
}

// Attention recounts the attention set from its rows; tests compare it with
// the counters.
func (r *Read) Attention() (Counters, error) {
	var c Counters
	prefix := append([]byte(r.account), 0)
	err := r.r.Scan(tabAttention, prefix, after(prefix), func(k, _ []byte) bool {
		if k[len(prefix)] == attentionThread[0] {
			c.UnreadThreads++
		} else {
			c.OpenDecisions++
		}
		return true
	})
	return c, err
}
