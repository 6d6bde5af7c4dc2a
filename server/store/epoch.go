package store

import "github.com/beckon-dev/beckon/sync/changelog"

// EpochCount is how many histories this store has had: one, and one more for
// each restore. It only grows, so it can end what was signed before.
func (s *Store) EpochCount() uint64 { return uint64(len(s.meta.Epochs)) }

// Epoch names the history that is being written.
func (s *Store) Epoch() changelog.Epoch { return s.epoch() }
