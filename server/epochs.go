package server

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/backup"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/journal"
	"github.com/beckon-dev/beckon/sync/changelog"
)

var (
	errForeignJournal = errors.New("server: the journal of another server")
	errUnfinished     = errors.New("server: a restore was cut short")
)

// unfinishedRestore refuses a folder in which a restore was cut short.
func unfinishedRestore(data string) error {
	if exists(filepath.Join(data, backup.MarkFile)) {
		return errUnfinished
	}
	return nil
}

// witnessed is how far a store stands.
func witnessed(st *store.Store, commit uint64) journal.Witness {
	e := st.EpochState()
	return journal.Witness{ServerID: st.ServerID(), Epoch: e.Epoch, Number: e.Number, Commit: commit}
}

// behind reports whether a store stands before what was witnessed of it.
func behind(w journal.Witness, e store.EpochState, commit uint64) bool {
	return commit < w.Commit || !slices.Contains(e.Known, changelog.Epoch(w.Epoch))
}

// holdAgainstWitness begins an epoch where the database was taken back without
// a word. Nothing has been written since, so devices that saw nothing of what
// was lost go on.
func (s *Server) holdAgainstWitness(ctx context.Context) error {
	commit, err := s.bolt.CommitID()
	if err != nil {
		return err
	}
	w, known := s.journal.Witness()
	switch {
	case !known:
		if s.store.EpochNumber() > 1 || s.hasAccounts(ctx) {
			s.log.WarnContext(ctx, "the journal is new: a restore before now would go unnoticed", slog.String("kind", "restore"))
		}
	case w.ServerID != s.store.ServerID():
		return journalError(s.cfg.JournalFolder(), errForeignJournal)
	case behind(w, s.store.EpochState(), commit):
		if _, err := s.store.BeginEpoch(ctx, store.NewEpoch{From: s.store.Epoch(), Above: w.Number}); err != nil {
			return err
		}
		s.alarm(app.AlarmUnnoticedRestore)
		if commit, err = s.bolt.CommitID(); err != nil {
			return err
		}
	}
	if err := s.journal.Set(witnessed(s.store, commit)); err != nil {
		return journalError(s.cfg.JournalFolder(), err)
	}
	return nil
}

func (s *Server) hasAccounts(ctx context.Context) bool {
	rows, err := s.store.Accounts(ctx, 1)
	return err != nil || len(rows) > 0
}

// beginEpoch is that of the store, above every number that was ever witnessed.
func (s *Server) beginEpoch(ctx context.Context, c store.NewEpoch) (bool, error) {
	if s.journal == nil {
		return s.store.BeginEpoch(ctx, c)
	}
	w, _ := s.journal.Witness()
	c.Above = max(c.Above, w.Number)
	began, err := s.store.BeginEpoch(ctx, c)
	if err != nil || !began {
		return began, err
	}
	commit, err := s.bolt.CommitID()
	if err != nil {
		return true, err
	}
	return true, s.journal.Set(witnessed(s.store, commit))
}

// revocations is the journal as the verbs see it; nil where there is none.
func (s *Server) revocations() app.Journal {
	if s.journal == nil {
		return nil
	}
	return s.journal
}

// alarm tells the operator, loudly.
func (s *Server) alarm(what app.Alarm) {
	s.counted.restores.Inc()
	s.log.Error("the database was taken back to an earlier state, and nobody said so: a new epoch begins",
		slog.String("kind", "restore"), slog.String("reason", string(what)))
}
