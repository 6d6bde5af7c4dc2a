package store

import (
	"bytes"
	"slices"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/thread"
)

// setMoved keeps the order of the threads by what clients have seen of them.
func (t *Tx) setMoved(s *thread.State, show bool) error {
	old, _, err := getRow[thread.State](t.r, tabThread, accountKey(t.account, s.ID))
	if err != nil {
		return err
	}
	s.MoveTime = old.MoveTime
	if !show || s.UpdateTime.Equal(old.MoveTime) {
		return nil
	}
	if !old.MoveTime.IsZero() {
		if err := t.w.Delete(tabMoved, movedKey(t.account, old)); err != nil {
			return err
		}
	}
	s.MoveTime = s.UpdateTime
	return t.w.Put(tabMoved, movedKey(t.account, *s), []byte{1})
}

func movedKey(account string, s thread.State) []byte {
	return accountKey(account, beTime(s.MoveTime), s.ID)
}

// MovedBefore lists threads by their last move, the latest first, from behind
// one of them; the zero State means from the start. At most n.
func (r *Read) MovedBefore(last thread.State, n int) ([]string, error) {
	prefix := append([]byte(r.account), 0)
	to := after(prefix)
	if last.ID != "" {
		to = movedKey(r.account, last)
	}
	var ids []string
	err := r.r.ScanBack(tabMoved, prefix, to, func(k, _ []byte) bool {
		ids = append(ids, string(k[len(prefix)+9:]))
		return len(ids) < n
	})
	return ids, err
}

// Living reads those of the named entities of a scope that are alive, in the
// order of their first mention.
func (r *Read) Living(scope changelog.Scope, keys []changelog.Key) ([]changelog.Entity, error) {
	var out []changelog.Entity
	seen := map[changelog.Key]bool{}
	for _, key := range keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		e, found, err := getEntity(r.r, entityKey(r.account, scope, key))
		if err != nil {
			return nil, err
		}
		if found && !e.Deleted {
			out = append(out, changelog.Entity{Key: key, Version: e.Version, Origin: e.Origin, Body: bytes.Clone(e.Body)})
		}
	}
	return out, nil
}

// VersionOf is the position of an entity's last change, also where that took it
// away; 0 where it never was.
func (r *Read) VersionOf(scope changelog.Scope, key changelog.Key) (changelog.Seq, error) {
	e, _, err := getEntity(r.r, entityKey(r.account, scope, key))
	return e.Version, err
}

// OpenHeaders reads the headers of open questions: at most n, those that end
// first at the front, those without an end behind them, the oldest first.
func (r *Read) OpenHeaders(n int) ([]DecisionHeader, error) {
	var ids []string
	prefix := append([]byte(r.account), 0)
	err := r.r.Scan(tabOpen, prefix, after(prefix), func(k, _ []byte) bool {
		ids = append(ids, string(k[bytes.LastIndexByte(k, 0)+1:]))
		return true
	})
	if err != nil {
		return nil, err
	}
	var open []DecisionHeader
	for _, id := range ids {
		row, found, err := getEntity(r.r, entityKey(r.account, changelog.AccountScope, changelog.Key{Kind: changelog.DecisionHeader, ID: id}))
		if err != nil {
			return nil, err
		}
		if !found || row.Deleted {
			continue
		}
		h, err := decodeEntity(entDecisionHeader, row.Body)
		if err != nil {
			return nil, err
		}
		if h.Open() {
			open = append(open, h)
		}
	}
	slices.SortFunc(open, DecisionHeader.compare)
	return open[:min(n, len(open))], nil
}
