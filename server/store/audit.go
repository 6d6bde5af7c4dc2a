package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// Audit appends an entry to the account's chain. Actor comes from the
// credential, never from the request; no content enters the chain. Entries are
// JSON and no storage message: their very bytes are hashed, so they must read
// the same to whoever verifies the chain with other tools.
func (t *Tx) Audit(actor, kind, subject, outcome string) error {
	return t.AuditWith(actor, kind, subject, outcome, nil)
}

// AuditWith appends an entry that holds details besides.
func (t *Tx) AuditWith(actor, kind, subject, outcome string, detail map[string]string) error {
	e := AuditEntry{
		Seq: t.head.AuditSeq + 1, Prev: t.head.AuditHash, Time: t.now,
		Actor: actor, Kind: kind, Subject: subject, Outcome: outcome, Detail: detail,
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	t.head.AuditSeq, t.head.AuditHash = e.Seq, sum[:]
	return t.w.Put(tabAudit, accountKey(t.account, be(e.Seq)), b)
}

// AuditEntries reads the chain from an entry on, at most n, with the bytes
// that were hashed.
func (r *Read) AuditEntries(from uint64, n int) (entries []AuditEntry, raw [][]byte, err error) {
	prefix := append([]byte(r.account), 0)
	var failed error
	err = r.r.Scan(tabAudit, accountKey(r.account, be(from)), after(prefix), func(_, b []byte) bool {
		var e AuditEntry
		if json.Unmarshal(b, &e) != nil {
			failed = fmt.Errorf("%w: AuditEntry", ErrCorrupt)
			return false
		}
		entries, raw = append(entries, e), append(raw, bytes.Clone(b))
		return len(entries) < n
	})
	if err == nil {
		err = failed
	}
	return entries, raw, err
}

// AuditHead is the last entry's number and hash.
func (r *Read) AuditHead() (uint64, []byte) { return r.head.AuditSeq, r.head.AuditHash }
