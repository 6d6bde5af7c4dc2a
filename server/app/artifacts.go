package app

import (
	"context"
	"errors"
	"sync"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// ArtifactView is an artifact as a task has it.
type ArtifactView struct {
	store.ArtifactRef
	Size uint64
}

// artifactLocks keep one digest of one account to one act at a time, where an
// act is more than a transaction: bytes that get their name and then a row, or
// lose their row and then their name. Only this process works in the folder.
type artifactLocks struct {
	mu   sync.Mutex
	held map[string]*artifactLock
}

// artifactLock is a lock with the number of those who have or want it.
type artifactLock struct {
	turn chan struct{}
	n    int
}

func newArtifactLocks() *artifactLocks { return &artifactLocks{held: map[string]*artifactLock{}} }

// lock waits for its turn; unlock gives it on.
func (l *artifactLocks) lock(ctx context.Context, account string, sum store.Sum) (unlock func(), err error) {
	key := account + sum.String()
	l.mu.Lock()
	k := l.held[key]
	if k == nil {
		k = &artifactLock{turn: make(chan struct{}, 1)}
		l.held[key] = k
	}
	k.n++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.n--; k.n == 0 {
			delete(l.held, key)
		}
	}
	select {
	case k.turn <- struct{}{}:
		return func() { <-k.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// hasArtifacts refuses digests that a task does not have: what is named as
// evidence or as part of a result has to be there to be read.
func hasArtifacts(tx *store.Read, task string, sums [][32]byte) error {
	for _, sum := range sums {
		if _, err := tx.ArtifactOf(task, sum); errors.Is(err, store.ErrNotFound) {
			return ErrUnknownArtifact
		} else if err != nil {
			return err
		}
	}
	return nil
}

// hasEvidence refuses evidence that the task does not have, or has in another
// size than it says.
func hasEvidence(tx *store.Read, task string, evidence []decision.Evidence) error {
	for _, e := range evidence {
		v, err := viewArtifact(tx, task, store.Sum(e.SHA256))
		if errors.Is(err, store.ErrNotFound) || err == nil && v.Size != e.Bytes {
			return ErrUnknownArtifact
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findArtifact reads an artifact for whoever may see it: by its task, or, for a
// person, by whichever task has it. What may not be seen is not there.
func findArtifact(tx *store.Read, p policy.Principal, task string, sum store.Sum) (ArtifactView, error) {
	if task == "" {
		if err := tx.ArtifactHolders(sum, func(id string) bool { task = id; return false }); err != nil {
			return ArtifactView{}, err
		}
	}
	if _, err := readTask(tx, p, task); err != nil {
		return ArtifactView{}, err
	}
	return viewArtifact(tx, task, sum)
}

func viewArtifact(tx *store.Read, task string, sum store.Sum) (ArtifactView, error) {
	ref, err := tx.ArtifactOf(task, sum)
	if err != nil {
		return ArtifactView{}, err
	}
	row, err := tx.Artifact(sum)
	return ArtifactView{ArtifactRef: ref, Size: row.Size}, err
}

// artifactAccount is whose artifacts a caller means.
func artifactAccount(p policy.Principal, task string) (string, error) {
	if task != "" || !p.Person() {
		return ownAccount(p, store.KindTask, task)
	}
	return p.Account, nil
}

// transfer counts a transfer of bytes among the streams of whoever calls, so
// that there are not too many and a revoked device's end. The function that
// it gives says that it is over. Errors: *StreamsError, ErrLeaving.
func (a *App) transfer(ctx context.Context, p policy.Principal, account string) (context.Context, func(), error) {
	ctx, cancel := context.WithCancelCause(ctx)
	in, err := a.streams.enter(policy.Principal{Installation: p.ID(), Account: account}, cancel)
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	return ctx, func() {
		a.streams.exit(in)
		cancel(nil)
	}, nil
}
