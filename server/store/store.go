package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/beckon-dev/beckon/sync/changelog"
)

// Store is the typed store over one engine. It is safe for concurrent use.
type Store struct {
	engine Engine
	clock  func() time.Time
	random io.Reader
	own    atomic.Pointer[meta]
}

func (s *Store) meta() *meta { return s.own.Load() }

// meta is the store's own row.
type meta struct {
	ServerID string
	Epochs   []changelog.Epoch
	// KeyCheck tells whether a master key is this store's.
	KeyCheck []byte
	// EpochNumber is that of the last epoch; 0 stands for how many there are.
	EpochNumber uint64
	// OldestEpoch is changelog.History.Oldest.
	OldestEpoch int
	// EpochTime and CopyTime are those of [EpochState].
	EpochTime, CopyTime time.Time
}

// foreign reports whether a key is another than the one it was written with.
func (m *meta) foreign(keyCheck []byte) bool {
	return len(m.KeyCheck) > 0 && len(keyCheck) > 0 && !bytes.Equal(m.KeyCheck, keyCheck)
}

// Config is what a store needs besides its engine.
type Config struct {
	// Clock is the wall clock; default time.Now.
	Clock func() time.Time
	// Random makes the server id and epochs; default crypto/rand.
	Random io.Reader
	// KeyCheck follows from the master key. The first one shown is kept, and
	// another is ErrForeignKey; without one nothing is checked.
	KeyCheck []byte
}

// Open reads the store's own row, and writes it on first use.
func Open(ctx context.Context, engine Engine, cfg Config) (*Store, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	s := &Store{engine: engine, clock: cfg.Clock, random: cfg.Random}
	key, err := NewAccountKey(cfg.Random)
	if err != nil {
		return nil, err
	}
	var epoch changelog.Epoch
	if _, err := io.ReadFull(cfg.Random, epoch[:]); err != nil {
		return nil, err
	}
	err = engine.Update(ctx, "", func(w Writer) error {
		m, found, err := getRow[meta](w, tabMeta, []byte("store"))
		if err != nil {
			return err
		}
		if !found {
			m = meta{ServerID: "srv_" + key, Epochs: []changelog.Epoch{epoch}}
		}
		if m.foreign(cfg.KeyCheck) {
			return ErrForeignKey
		}
		if !found || len(m.KeyCheck) == 0 && len(cfg.KeyCheck) > 0 {
			m.KeyCheck = cfg.KeyCheck
			err = putRow(w, tabMeta, []byte("store"), m)
		}
		s.own.Store(&m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	return s, nil
}

// ServerID names this store's server; proofs are bound to it.
func (s *Store) ServerID() string { return s.meta().ServerID }

// Close closes the engine.
func (s *Store) Close() error { return s.engine.Close() }

// View runs fn on one snapshot of an account.
func (s *Store) View(ctx context.Context, account string, fn func(*Read) error) error {
	return s.engine.View(ctx, account, func(r Reader) error {
		read, err := s.read(r, account)
		if err != nil {
			return err
		}
		return fn(read)
	})
}

// Update runs fn as one command of an account: all it wrote or nothing. The
// commit says whom to wake; losing a wake costs latency, never truth.
func (s *Store) Update(ctx context.Context, account string, fn func(*Tx) error) (Commit, error) {
	var commit Commit
	err := s.engine.Update(ctx, account, func(w Writer) error {
		read, err := s.read(w, account)
		if err != nil {
			return err
		}
		commit = Commit{Account: account, Time: read.now}
		tx := &Tx{Read: read, w: w, commit: &commit, scopes: map[changelog.Scope]scopeRow{}}
		if err := fn(tx); err != nil {
			return err
		}
		return tx.finish()
	})
	return commit, err
}

func (s *Store) read(r Reader, account string) (*Read, error) {
	read := &Read{r: r, account: account, store: s, meta: s.meta()}
	var found bool
	var err error
	if read.head, found, err = getRow[head](r, tabHead, []byte(account)); err != nil {
		return nil, err
	}
	if !found {
		read.head.EpochNumber = read.meta.number() // no copy holds it
	}
	// Commit order is time order, whatever the wall clock does.
	read.now = s.clock().UTC().Truncate(time.Microsecond)
	if read.now.Before(read.head.LastCommit) {
		read.now = read.head.LastCommit
	}
	return read, nil
}

// Commit is what a committed command touched: names to wake, no data.
type Commit struct {
	Account string
	Time    time.Time
	// Topics are what may be waited for: "account:…", "thread:…", "task:…",
	// "decision:…", "offer:…".
	Topics []string
	// Ready are tasks that became claimable.
	Ready []ReadyTask
	// Outbox are the lanes that got work.
	Outbox []string
	// Due: something has to happen at a time.
	Due bool
	// Revoked are installations that are none any more.
	Revoked []string
	// Revocations are for the journal outside of the store.
	Revocations []Revocation
}

// ReadyTask is a task that a worker may claim.
type ReadyTask struct {
	Agent   string
	Account string
	Task    string
	Labels  map[string]string
	Since   time.Time
}

// Read is one account in one snapshot.
type Read struct {
	r       Reader
	account string
	store   *Store
	meta    *meta // one for the whole transaction
	head    head
	now     time.Time
}

// Account is the key of the account.
func (r *Read) Account() string { return r.account }

// Now is the one time of this transaction: the wall clock, never before the
// account's last commit.
func (r *Read) Now() time.Time { return r.now }

// Counters are what the badge shows.
func (r *Read) Counters() Counters { return r.head.Counters }

// Tx is one command of an account.
type Tx struct {
	*Read
	w        Writer
	commit   *Commit
	scopes   map[changelog.Scope]scopeRow
	counters bool
	// origin is the mutation that writes, written what has a new version.
	origin  string
	written []EntityRef
}

// Touch names something that waiters of this commit should look at again.
func (t *Tx) Touch(topic string) {
	if !slices.Contains(t.commit.Topics, topic) {
		t.commit.Topics = append(t.commit.Topics, topic)
	}
}

// finish writes what follows from everything else: counters, scope rows and
// the account's head.
func (t *Tx) finish() error {
	if t.counters {
		if err := publishAs(t, changelog.AccountScope, entCounters, "counters", t.head.Counters); err != nil {
			return err
		}
	}
	for scope, row := range t.scopes {
		if err := putRow(t.w, tabScope, accountKey(t.account, scope.String()), row); err != nil {
			return err
		}
	}
	t.head.LastCommit = t.now
	return putRow(t.w, tabHead, []byte(t.account), t.head)
}

// missing turns an absent row into ErrNotFound.
func missing[T any](v T, found bool, err error) (T, error) {
	if err == nil && !found {
		err = ErrNotFound
	}
	return v, err
}
