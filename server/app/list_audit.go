package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// ListAudit asks for entries above a number.
type ListAudit struct {
	After uint64
	// Size is how many at most; 0 means 100.
	Size int
}

// AuditPage is a part of an account's chain: the bytes that were hashed, and
// the number and hash of the newest entry.
type AuditPage struct {
	Entries  [][]byte
	HeadSeq  uint64
	HeadHash []byte
}

const auditPage = 100

// ListAudit reads the audit of the caller's account, from the oldest entry on.
// By any device. Errors: ErrWrongPrincipal, ErrRevoked.
func (a *App) ListAudit(ctx context.Context, p policy.Principal, c ListAudit) (AuditPage, error) {
	if c.Size == 0 {
		c.Size = auditPage
	}
	var page AuditPage
	err := a.readAccount(ctx, p, func(tx *store.Read, _ store.Installation) error {
		var err error
		_, page.Entries, err = tx.AuditEntries(c.After+1, c.Size)
		page.HeadSeq, page.HeadHash = tx.AuditHead()
		return err
	})
	return page, err
}
