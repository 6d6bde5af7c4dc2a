package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/sync/changelog"
)

// EpochNumber is the number of the epoch that is being written: 1 at first,
// and higher in each one after a restore, so it can end what was signed before.
func (s *Store) EpochNumber() uint64 { return s.meta().number() }

// Epoch names the history that is being written.
func (s *Store) Epoch() changelog.Epoch { return s.meta().current() }

// EpochState is where the store stands in its histories.
type EpochState struct {
	// Epoch is being written.
	Epoch changelog.Epoch
	// Known are all epochs that this history goes through, oldest first.
	Known []changelog.Epoch
	// Number is that of Epoch.
	Number uint64
	// BeginTime is when it began; zero for the first one.
	BeginTime time.Time
	// CopyTime is when the copy was taken that it goes on from, where that is
	// known.
	CopyTime time.Time
}

// EpochState reads where the store stands.
func (s *Store) EpochState() EpochState {
	m := s.meta()
	return EpochState{
		Epoch: m.current(), Known: slices.Clone(m.Epochs), Number: m.number(),
		BeginTime: m.EpochTime, CopyTime: m.CopyTime,
	}
}

// NewEpoch is how another history of a store begins.
type NewEpoch struct {
	// From is the epoch that is over. If it is over already, nothing is done.
	From changelog.Epoch
	// Above is the highest number that any epoch of this store is known to have
	// had, also one that the store itself has lost.
	Above uint64
	// CutOff resets every cursor given so far: the store was written to since it
	// was restored, so nobody knows which of them are still good.
	CutOff bool
	// CopyTime is when the copy was taken that the new history goes on from, if
	// that is known.
	CopyTime time.Time
}

// BeginEpoch begins another history, after the store has been taken back to an
// earlier state. Every cursor whose client may have seen what was lost is no
// good any more, every token signed so far is over, and every account has to
// draw the consequences ([Read.Unsettled]). It reports whether it did.
func (s *Store) BeginEpoch(ctx context.Context, c NewEpoch) (bool, error) {
	var epoch changelog.Epoch
	if _, err := io.ReadFull(s.random, epoch[:]); err != nil {
		return false, err
	}
	var next meta
	began := false
	err := s.engine.Update(ctx, "", func(w Writer) error {
		var err error
		began = false
		if next, err = missing(getRow[meta](w, tabMeta, []byte("store"))); err != nil {
			return err
		}
		if next.current() != c.From {
			return nil
		}
		began = true
		next.EpochNumber = max(next.number(), c.Above) + 1
		next.Epochs = append(slices.Clip(next.Epochs), epoch)
		next.EpochTime, next.CopyTime = s.clock().UTC().Truncate(time.Microsecond), c.CopyTime
		if c.CutOff {
			next.OldestEpoch = len(next.Epochs) - 1
		}
		return putRow(w, tabMeta, []byte("store"), next)
	})
	if err != nil || !began {
		return false, err
	}
	s.own.Store(&next)
	return true, nil
}

// ErrNoStore: the engine holds no store.
var ErrNoStore = errors.New("store: empty")

// Peek reads where the store in an engine stands, and whose it is, without
// making one. Errors: ErrNoStore, ErrForeignKey for a key check that is not the
// one it was written with, and those of reading.
func Peek(ctx context.Context, engine Engine, keyCheck []byte) (serverID string, state EpochState, err error) {
	s := &Store{engine: engine}
	err = engine.View(ctx, "", func(r Reader) error {
		m, found, err := getRow[meta](r, tabMeta, []byte("store"))
		switch {
		case err != nil:
			return err
		case !found:
			return ErrNoStore
		case m.foreign(keyCheck):
			return ErrForeignKey
		}
		s.own.Store(&m)
		return nil
	})
	if err != nil {
		return "", EpochState{}, fmt.Errorf("store: peek: %w", err)
	}
	return s.ServerID(), s.EpochState(), nil
}

// Unsettled reports whether the account has not yet drawn the consequences of
// the present epoch: it was alive in a copy that the store was restored from.
func (r *Read) Unsettled() bool { return max(r.head.EpochNumber, 1) < r.meta.number() }

// Settle notes that it has.
func (t *Tx) Settle() { t.head.EpochNumber = t.meta.number() }

// number is that of the last epoch.
func (m *meta) number() uint64 { return max(m.EpochNumber, uint64(len(m.Epochs))) }

// current is the epoch that is being written.
func (m *meta) current() changelog.Epoch { return changelog.History{Epochs: m.Epochs}.Current() }

// EachArtifact hands every artifact whose bytes have to be there to fn.
func EachArtifact(ctx context.Context, engine Engine, fn func(account string, sum Sum) error) error {
	return engine.View(ctx, "", func(r Reader) error {
		var failed error
		err := scanRange(r.Scan, tabArtifact, nil, nil, func(k []byte, a Artifact) bool {
			account, name, _ := bytes.Cut(k, []byte{0})
			sum, ok := ParseSum(string(name))
			switch {
			case !ok:
				failed = ErrCorrupt
			case a.State != ArtifactDeleting:
				failed = fn(string(account), sum)
			}
			return failed == nil
		})
		return errors.Join(err, failed)
	})
}
