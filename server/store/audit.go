package store

import (
	"crypto/sha256"
	"encoding/json"
)

// Audit appends an entry to the account's chain. Actor comes from the
// credential, never from the request; no content enters the chain.
func (t *Tx) Audit(actor, kind, subject, outcome string) error {
	e := AuditEntry{
		Seq: t.head.AuditSeq + 1, Prev: t.head.AuditHash, Time: t.now,
		Actor: actor, Kind: kind, Subject: subject, Outcome: outcome,
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
	err = scanRange(r.r.Scan, tabAudit, accountKey(r.account, be(from)), after(prefix), func(_ []byte, b json.RawMessage) bool {
		var e AuditEntry
		if json.Unmarshal(b, &e) != nil {
			return false
		}
		entries, raw = append(entries, e), append(raw, append([]byte(nil), b...))
		return len(entries) < n
	})
	return entries, raw, err
}

// AuditHead is the last entry's number and hash.
func (r *Read) AuditHead() (uint64, []byte) { return r.head.AuditSeq, r.head.AuditHash }
