package store

import (
	"context"
	"time"
)

// CredentialKind says whom a stored credential stands for.
type CredentialKind uint8

// Kinds of stored credentials, as on disk.
const (
	CredentialAgent   CredentialKind = 1
	CredentialTask    CredentialKind = 2
	CredentialClaim   CredentialKind = 3
	CredentialRefresh CredentialKind = 4
)

// Credential is the global row by which an opaque credential is found: the
// hash of the whole string, never the string.
type Credential struct {
	ID         string
	Kind       CredentialKind
	Account    string
	Agent      string
	Hash       []byte
	ExpireTime time.Time
	Revoked    bool
	// Key is the agent key a task token was minted under; Task and Lease are
	// what it is good for.
	Key, Task, Lease string
	// Installation is the owner of a refresh token.
	Installation string
}

// Credential finds a credential by its public part.
func (s *Store) Credential(ctx context.Context, id string) (Credential, error) {
	var c Credential
	err := s.engine.View(ctx, "", func(r Reader) error {
		var err error
		c, err = missing(getRow[Credential](r, tabCredential, []byte(id)))
		return err
	})
	return c, err
}

// CredentialRow reads a credential inside a transaction.
func (r *Read) CredentialRow(id string) (Credential, error) {
	return missing(getRow[Credential](r.r, tabCredential, []byte(id)))
}

// PutCredential writes a credential of this account.
func (t *Tx) PutCredential(c Credential) error {
	return putRow(t.w, tabCredential, []byte(c.ID), c)
}

// DeleteCredential forgets one.
func (t *Tx) DeleteCredential(id string) error { return t.w.Delete(tabCredential, []byte(id)) }

// AccountRow is an account as the server knows it without opening it.
type AccountRow struct {
	Key        string
	Claimed    bool
	CreateTime time.Time
}

// Accounts lists the accounts of this server, at most n.
func (s *Store) Accounts(ctx context.Context, n int) ([]AccountRow, error) {
	var out []AccountRow
	err := s.engine.View(ctx, "", func(r Reader) error {
		out = nil
		return scanRange(r.Scan, tabAccount, nil, nil, func(_ []byte, a AccountRow) bool {
			out = append(out, a)
			return len(out) < n
		})
	})
	return out, err
}

// AccountRow reads the account's own row.
func (r *Read) AccountRow() (AccountRow, error) {
	return missing(getRow[AccountRow](r.r, tabAccount, []byte(r.account)))
}

// PutAccountRow writes the account's own row.
func (t *Tx) PutAccountRow(a AccountRow) error {
	return putRow(t.w, tabAccount, []byte(t.account), a)
}

// Once reads the remembered result of a write.
func (r *Read) Once(principal, method, key string) (Idempotent, bool, error) {
	row, found, err := getRow[Idempotent](r.r, tabOnce, accountKey(r.account, principal, method, key))
	if found && !r.now.Before(row.ExpireTime) {
		return Idempotent{}, false, err
	}
	return row, found, err
}

// PutOnce remembers the result of a write.
func (t *Tx) PutOnce(principal, method, key string, row Idempotent) error {
	return putRow(t.w, tabOnce, accountKey(t.account, principal, method, key), row)
}
