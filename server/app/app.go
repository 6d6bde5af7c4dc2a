package app

import (
	"context"
	"crypto/rand"
	"io"
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/failpoint"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/feed"
)

// Tokens makes the signed credentials that verbs hand out.
type Tokens interface {
	// Access makes an access token for an installation.
	Access(g AccessGrant) (credential.Secret, time.Time, error)
	// Tap makes the token of one button on one device.
	Tap(g TapGrant) (string, error)
	// Permit makes the token by which a tool gateway knows that an effect got
	// GO, with its end.
	Permit(g PermitGrant) (string, time.Time, error)
}

// AccessGrant is whom an access token stands for.
type AccessGrant struct {
	Account, Installation string
	AuthEpoch             uint64
	Now                   time.Time
}

// TapGrant is the one thing a tap token is good for.
type TapGrant struct {
	Account, Installation string
	Decision              string
	Revision              uint32
	Asked                 [32]byte
	Verb                  string
	ExpireTime            time.Time
}

// PermitGrant is the one attempt that a permit is good for.
type PermitGrant struct {
	Account, Agent, Task, Effect string
	Generation                   uint32
	App, Connection, Operation   string
	Digest                       [32]byte
	Now                          time.Time
}

// PushApp is a client program that may register push endpoints.
type PushApp struct {
	ID string
	// Topics are its bundle ids and package names.
	Topics []string
}

// Config is what the verbs stand on.
type Config struct {
	Store *store.Store
	// Blobs keep the bytes of artifacts.
	Blobs  store.Blobs
	Keys   credential.Keys
	Tokens Tokens
	Limits policy.Limits
	Apps   []PushApp
	// Clock is the wall clock; default time.Now.
	Clock func() time.Time
	// Random makes ids and secrets; default crypto/rand.
	Random io.Reader
	// WakePush is told which lanes got work. It must not block.
	WakePush func(lane string)
	// Journal remembers what a restore must not bring back; default none.
	Journal Journal
	// BeginEpoch begins another history of the store; default that of Store.
	BeginEpoch func(context.Context, store.NewEpoch) (bool, error)
	// Alarm is told what an operator has to know at once. It must not block;
	// default nobody.
	Alarm func(Alarm)
	// PushPaused tells whether nothing is sent on a lane for now. It must not
	// block; default never.
	PushPaused func(lane string) bool
}

// App is every verb of the server. It is safe for concurrent use and owns no
// goroutine.
type App struct {
	store    *store.Store
	blobs    store.Blobs
	locks    *artifactLocks
	keys     credential.Keys
	tokens   Tokens
	limits   policy.Limits
	apps     map[string]PushApp
	clock    func() time.Time
	random   io.Reader
	wakePush func(string)
	journal  Journal
	alarm    func(Alarm)
	// beginEpoch is Config.BeginEpoch.
	beginEpoch func(context.Context, store.NewEpoch) (bool, error)
	// pushPaused is Config.PushPaused.
	pushPaused func(string) bool

	stamps   changelog.Codec
	hub      *feed.Hub
	queue    *feed.Queue
	attempts *attempts
	workers  *workers
	screens  *screens
	streams  *streams
	pages    *pages
	started  time.Time
}

// New wires the verbs.
func New(cfg Config) *App {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if cfg.WakePush == nil {
		cfg.WakePush = func(string) {}
	}
	if cfg.Journal == nil {
		cfg.Journal = noJournal{}
	}
	if cfg.BeginEpoch == nil {
		cfg.BeginEpoch = cfg.Store.BeginEpoch
	}
	if cfg.Alarm == nil {
		cfg.Alarm = func(Alarm) {}
	}
	if cfg.PushPaused == nil {
		cfg.PushPaused = func(string) bool { return false }
	}
	apps := map[string]PushApp{}
	for _, a := range cfg.Apps {
		apps[a.ID] = a
	}
	return &App{
		store: cfg.Store, blobs: cfg.Blobs, locks: newArtifactLocks(), keys: cfg.Keys, tokens: cfg.Tokens, limits: cfg.Limits, apps: apps,
		clock: cfg.Clock, random: cfg.Random, wakePush: cfg.WakePush, pushPaused: cfg.PushPaused,
		journal: cfg.Journal, alarm: cfg.Alarm, beginEpoch: cfg.BeginEpoch,
		stamps: changelog.NewCodec(cfg.Keys.Stamp.Reveal()),
		hub:    feed.NewHub(), queue: feed.NewQueue(), attempts: newAttempts(), workers: newWorkers(), screens: newScreens(),
		streams: newStreams(cfg.Limits), pages: newPages(), started: cfg.Clock(),
	}
}

// TopicDue is woken when the earliest due time may have changed.
const TopicDue = "due"

// Hub is where maintenance and streams wait.
func (a *App) Hub() *feed.Hub { return a.hub }

// ServerID names this server; proofs are bound to it.
func (a *App) ServerID() string { return a.store.ServerID() }

// update runs one command of an account and wakes whoever waits for what it
// changed.
func (a *App) update(ctx context.Context, account string, fn func(*store.Tx) error) error {
	return a.updateAt(ctx, account, "", fn)
}

// updateAt is update with a named place between commit and wakes, where tests
// let the process die. Nothing is written to an account that came out of a
// backup before the consequences are drawn, and nothing is said to be revoked
// before that is journalled.
func (a *App) updateAt(ctx context.Context, account, point string, fn func(*store.Tx) error) error {
	commit, err := a.store.Update(ctx, account, func(tx *store.Tx) error {
		if tx.Unsettled() {
			if err := a.afterRestore(tx); err != nil {
				return err
			}
		}
		return fn(tx)
	})
	if err != nil {
		return err
	}
	var unsaid error
	if len(commit.Revocations) > 0 {
		failpoint.Hit("revocation.committed")
		unsaid = a.journal.Record(commit.Revocations)
	}
	if point != "" {
		failpoint.Hit(point)
	}
	a.wake(commit)
	return unsaid
}

func (a *App) wake(c store.Commit) {
	a.streams.revoke(c.Revoked)
	a.hub.Wake(c.Topics...)
	for _, r := range c.Ready {
		a.queue.Offer(r.Agent, func(line map[string]string) bool { return mayWake(r, line) })
	}
	for _, lane := range c.Outbox {
		a.wakePush(lane)
	}
	if c.Due {
		a.hub.Wake(TopicDue)
	}
}

func labelsMatch(task, worker map[string]string) bool {
	for k, v := range task {
		if got, ok := worker[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// newID draws an id for a new thing of an account.
func (a *App) newID(tx *store.Read, kind string) (string, error) {
	return store.NewID(kind, tx.Account(), tx.Now(), a.random)
}

// asOf is the account stamp that includes what tx wrote. Ask last.
func (a *App) asOf(tx *store.Tx) ([]byte, error) {
	pos, err := tx.AsOf(changelog.AccountScope)
	if err != nil {
		return nil, err
	}
	return a.stamps.Stamp(tx.Account(), changelog.AccountScope, pos), nil
}
