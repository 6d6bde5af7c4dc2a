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
	// StartTime, when set, is when a claim link begins to be good.
	StartTime time.Time
	Revoked   bool
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
func (t *Tx) DeleteCredential(id string) error { return deleteRow(t.w, tabCredential, []byte(id)) }

// PutTaskToken writes a credential for one task of this account. Tokens of the
// task that cannot be good any more are forgotten, so that a task that lives
// long leaves no trail. It returns how many are left with the new one.
func (t *Tx) PutTaskToken(k TaskToken) (int, error) {
	prefix := append(accountKey(t.account, k.Task), 0)
	live, stale := 1, []string(nil)
	err := t.r.Scan(tabTokenOf, prefix, after(prefix), func(key, v []byte) bool {
		if lease := string(v[8:]); lease == k.Lease && t.now.Before(parseTime(v)) {
			live++
		} else {
			stale = append(stale, string(key[len(prefix):]))
		}
		return true
	})
	if err != nil {
		return 0, err
	}
	for _, id := range stale {
		if err := t.w.Delete(tabTokenOf, accountKey(t.account, k.Task, id)); err != nil {
			return 0, err
		}
		if err := t.DeleteCredential(id); err != nil {
			return 0, err
		}
	}
	if err := t.w.Put(tabTokenOf, accountKey(t.account, k.Task, k.ID), []byte(beTime(k.ExpireTime)+k.Lease)); err != nil {
		return 0, err
	}
	return live, t.PutCredential(Credential{
		ID: k.ID, Kind: CredentialTask, Account: t.account, Agent: k.Agent, Hash: k.Hash,
		ExpireTime: k.ExpireTime, Key: k.Key, Task: k.Task, Lease: k.Lease,
	})
}

// AccountRow is an account as the server knows it without opening it.
type AccountRow struct {
	Key        string
	Claimed    bool
	CreateTime time.Time
	// Link is the credential id of the claim link that is out, if there is one.
	Link string
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

// AccountsAfter lists up to n accounts past one in the order of their keys; the
// empty key stands before the first.
func (s *Store) AccountsAfter(ctx context.Context, key string, n int) ([]AccountRow, error) {
	var out []AccountRow
	err := s.engine.View(ctx, "", func(r Reader) error {
		out = nil
		return scanRange(r.Scan, tabAccount, append([]byte(key), 0), nil, func(_ []byte, row AccountRow) bool {
			out = append(out, row)
			return len(out) < n
		})
	})
	return out, err
}

// Claimed reports whether anybody owns an account of this server.
func (s *Store) Claimed(ctx context.Context) (bool, error) {
	claimed := false
	err := s.engine.View(ctx, "", func(r Reader) error {
		claimed = false
		return scanRange(r.Scan, tabAccount, nil, nil, func(_ []byte, a AccountRow) bool {
			claimed = a.Claimed
			return !claimed
		})
	})
	return claimed, err
}

// AnyAccount reads the first account of the server, in the order of keys.
func (r *Read) AnyAccount() (a AccountRow, found bool, err error) {
	err = scanRange(r.r.Scan, tabAccount, nil, nil, func(_ []byte, row AccountRow) bool {
		a, found = row, true
		return false
	})
	return a, found, err
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
