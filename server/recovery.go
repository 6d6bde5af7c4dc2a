package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/beckon-dev/beckon/server/admin"
	"github.com/beckon-dev/beckon/server/backup"
	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/server/store/journal"
)

// Backup copies the data folder of a server that does not run. One that runs
// is asked by its socket, see [admin.Client.Backup]. What an operator can repair
// is a StartError.
func Backup(ctx context.Context, c config.Config, to string) (admin.Backup, error) {
	if err := unfinishedRestore(c.Data); err != nil {
		return admin.Backup{}, dataError(c.Data, err)
	}
	if !exists(filepath.Join(c.Data, boltstore.FileName)) {
		return admin.Backup{}, &StartError{Flag: "--data", Value: c.Data, Problem: "there is no database in it", Cause: fs.ErrNotExist}
	}
	engine, err := boltstore.Open(c.Data, boltstore.Options{})
	if err != nil {
		return admin.Backup{}, dataError(c.Data, err)
	}
	made, err := makeBackup(ctx, c.Data, engine, to)
	return made, errors.Join(err, engine.Close())
}

func makeBackup(ctx context.Context, data string, engine *boltstore.Engine, to string) (admin.Backup, error) {
	made, err := backup.Make(ctx, backup.Source{Data: data, Engine: engine, Clock: time.Now}, to)
	if err != nil {
		return admin.Backup{}, backupError(to, err)
	}
	m := made.Manifest
	return admin.Backup{Path: made.Path, Time: m.Time, Files: len(m.Files), Bytes: m.Bytes(), Damaged: m.Damaged}, nil
}

func backupError(at string, err error) error {
	problem := plain(err)
	switch {
	case errors.Is(err, backup.ErrBusy):
		problem = "another backup or restore is under way there"
	case errors.Is(err, backup.ErrInside):
		problem = "a backup does not belong into the data folder"
	case errors.Is(err, backup.ErrIncomplete):
		problem = "bytes of an artifact are missing in the data folder"
	case errors.Is(err, store.ErrDiskFull):
		problem = "the disk is full"
	}
	return &StartError{Flag: "backup", Value: at, Problem: problem, Cause: err}
}

// backup is what the operator's socket asks for.
func (s *Server) backup(ctx context.Context, to string) (admin.Backup, error) {
	if s.bolt == nil {
		return admin.Backup{}, errors.New("server: no data folder")
	}
	return makeBackup(ctx, s.cfg.Data, s.bolt, to)
}

// Restore puts a backup into a data folder that has no database but the master
// key it was made under, and begins an epoch. journalLost: there is no journal
// any more. What an operator can repair is a StartError.
func Restore(ctx context.Context, c config.Config, from string, journalLost bool) (backup.Restored, error) {
	check, err := masterCheck(c.Data)
	if err != nil {
		return backup.Restored{}, dataError(c.Data, err)
	}
	out, err := backup.Restore{
		From: from, Data: c.Data, Journal: c.JournalFolder(), JournalLost: journalLost, KeyCheck: check,
	}.Run(ctx)
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, backup.ErrBad):
		return out, &StartError{Flag: "restore", Value: from, Problem: err.Error(), Cause: err}
	case errors.Is(err, backup.ErrOccupied):
		return out, &StartError{Flag: "--data", Value: c.Data, Problem: "it has a database, which is not overwritten; stop the server, move the folder away and make a new one with master.key in it", Cause: err}
	case errors.Is(err, backup.ErrNoJournal):
		return out, &StartError{Flag: "--journal", Value: c.JournalFolder(), Problem: "there is no journal; put it back, or say --journal-lost, after which what was revoked since the backup is good again", Cause: err}
	case errors.Is(err, backup.ErrOtherServer):
		return out, &StartError{Flag: "--journal", Value: c.JournalFolder(), Problem: "it is the journal of another server than the backup", Cause: err}
	case errors.Is(err, journal.ErrDamaged), errors.Is(err, store.ErrLocked):
		return out, journalError(c.JournalFolder(), err)
	case errors.Is(err, backup.ErrBusy):
		return out, backupError(c.Data, err)
	default:
		return out, dataError(c.Data, err)
	}
}

// masterCheck reads the master key, and makes none.
func masterCheck(data string) ([]byte, error) {
	master, err := credential.LoadMaster(filepath.Join(data, masterFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errNoKeyToRestore
	}
	if err != nil {
		return nil, err
	}
	keys, err := credential.DeriveKeys(master, keyVersion)
	return keyCheck(keys), err
}

var errNoKeyToRestore = errors.New("put the master.key in it that the backup was made under; it is in no backup")

// NewEpoch begins an epoch in the data folder of a server that does not run,
// for operators who have taken it back by other means. resetAll resets every
// device, also those that saw nothing of what was lost: for a folder that a
// server has written to since. What an operator can repair is a StartError.
func NewEpoch(ctx context.Context, c config.Config, resetAll bool) (state store.EpochState, err error) {
	s := &Server{cfg: Config{Config: c}.withDefaults(), lanes: &lanes{}}
	if err := unfinishedRestore(c.Data); err != nil {
		return state, dataError(c.Data, err)
	}
	if !exists(filepath.Join(c.Data, boltstore.FileName)) {
		return state, &StartError{Flag: "--data", Value: c.Data, Problem: "there is no database in it", Cause: fs.ErrNotExist}
	}
	check, err := masterCheck(c.Data)
	if err != nil {
		return state, dataError(c.Data, err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if s.bolt, err = boltstore.Open(c.Data, boltstore.Options{}); err != nil {
		return state, dataError(c.Data, err)
	}
	if s.journal, err = journal.Open(c.JournalFolder()); err != nil {
		return state, errors.Join(journalError(c.JournalFolder(), err), s.bolt.Close())
	}
	if s.store, err = store.Open(ctx, s.bolt, store.Config{KeyCheck: check}); err != nil {
		return state, errors.Join(dataError(c.Data, err), s.bolt.Close())
	}
	if w, known := s.journal.Witness(); known && w.ServerID != s.store.ServerID() {
		return state, journalError(c.JournalFolder(), errForeignJournal)
	}
	_, err = s.beginEpoch(ctx, store.NewEpoch{From: s.store.Epoch(), CutOff: resetAll})
	return s.store.EpochState(), err
}
