package store

// EpochCount is how many histories this store has had: one, and one more for
// each restore. It only grows, so it can end what was signed before.
func (s *Store) EpochCount() uint64 { return uint64(len(s.meta.Epochs)) }
