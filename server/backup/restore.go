package backup

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/beckon-dev/beckon/server/failpoint"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/server/store/journal"
)

// MarkFile lies in a data folder while a restore of it is under way. A server
// does not start there.
const MarkFile = "restore.incomplete"

const stageFolder = ".restore"

var (
	// ErrOccupied: the data folder has a database, which is not overwritten.
	ErrOccupied = errors.New("backup: the data folder has a database")
	// ErrNoJournal: the journal is not there, and nobody said that it is lost.
	ErrNoJournal = errors.New("backup: there is no journal")
	// ErrOtherServer: backup and journal are of different servers.
	ErrOtherServer = errors.New("backup: of another server than the journal")
)

// Restore is how a backup is put back.
type Restore struct {
	// From is the backup.
	From string
	// Data is the data folder: without a database, with the master key.
	Data string
	// Journal is the folder of the journal. JournalLost: there is none any more,
	// so what was revoked since the backup comes back.
	Journal     string
	JournalLost bool
	// KeyCheck follows from the master key.
	KeyCheck []byte
}

// Restored is what came of it.
type Restored struct {
	Manifest Manifest
	State    store.EpochState
}

// Run puts a backup back, in a new epoch. What follows from that in the
// accounts, the server does before it serves. Errors: ErrOccupied, ErrBusy,
// ErrNoJournal, ErrOtherServer, ErrBad, store.ErrForeignKey, store.ErrDiskFull,
// and the system's.
func (r Restore) Run(ctx context.Context) (out Restored, err error) {
	mark := filepath.Join(r.Data, MarkFile)
	if there(filepath.Join(r.Data, boltstore.FileName)) && !there(mark) {
		return out, ErrOccupied
	}
	if !journal.Exists(r.Journal) && !r.JournalLost {
		return out, ErrNoJournal
	}
	if out.Manifest, err = Verify(ctx, r.From); err != nil {
		return out, err
	}
	unlock, err := lock(mark)
	if err != nil {
		return out, err
	}
	defer unlock()
	if err := syncFolder(r.Data); err != nil {
		return out, err
	}
	failpoint.Hit("restore.marked")
	stage := filepath.Join(r.Data, stageFolder)
	if err := os.RemoveAll(stage); err != nil {
		return out, err
	}
	if err := r.copyFiles(ctx, out.Manifest, stage); err != nil {
		return out, err
	}
	failpoint.Hit("restore.copied")
	if out.State, err = r.begin(ctx, stage, out.Manifest); err != nil {
		// Nothing was put in place, so nothing is half restored.
		if !there(filepath.Join(r.Data, boltstore.FileName)) {
			err = errors.Join(err, os.RemoveAll(stage), os.Remove(mark))
		}
		return out, err
	}
	failpoint.Hit("restore.begun")
	if err := os.Rename(filepath.Join(stage, boltstore.FileName), filepath.Join(r.Data, boltstore.FileName)); err != nil {
		return out, err
	}
	if err := syncFolder(r.Data); err != nil {
		return out, err
	}
	failpoint.Hit("restore.placed")
	return out, errors.Join(os.RemoveAll(stage), os.Remove(mark), syncFolder(r.Data))
}

// copyFiles puts the artifacts where they belong and the database aside.
func (r Restore) copyFiles(ctx context.Context, m Manifest, stage string) error {
	if err := os.MkdirAll(stage, folderMode); err != nil {
		return err
	}
	folders := map[string]bool{}
	for _, f := range m.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := filepath.Join(r.Data, filepath.FromSlash(f.Path))
		if f.Path == boltstore.FileName {
			to = filepath.Join(stage, boltstore.FileName)
		}
		if have, err := digest(to); err == nil && have == f.SHA256 {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), folderMode); err != nil {
			return err
		}
		folders[filepath.Dir(to)] = true
		if err := copyFile(filepath.Join(r.From, filepath.FromSlash(f.Path)), filepath.Join(stage, "file"), to); err != nil {
			return err
		}
	}
	for dir := range folders {
		if err := errors.Join(syncFolder(dir), syncFolder(filepath.Dir(dir))); err != nil {
			return err
		}
	}
	return nil
}

// copyFile gives a copy its name once it is whole.
func copyFile(from, by, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.OpenFile(by, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(by, to)
}

// begin begins the epoch in the copy, and has that witnessed before anybody can
// open it.
func (r Restore) begin(ctx context.Context, stage string, m Manifest) (state store.EpochState, err error) {
	engine, err := boltstore.Open(stage, boltstore.Options{})
	if err != nil {
		return state, err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, engine.Close())
		}
	}()
	if err := engine.Check(ctx); err != nil {
		return state, fmt.Errorf("%w: the database: %w", ErrBad, err)
	}
	if _, _, err := store.Peek(ctx, engine, r.KeyCheck); err != nil {
		return state, err
	}
	st, err := store.Open(ctx, engine, store.Config{KeyCheck: r.KeyCheck})
	if err != nil {
		return state, err
	}
	log, err := journal.Open(r.Journal)
	if err != nil {
		return state, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	w, known := log.Witness()
	if known && w.ServerID != st.ServerID() {
		return state, ErrOtherServer
	}
	above := w.Number
	if !known {
		if above, err = beyond(st.EpochNumber()); err != nil {
			return state, err
		}
	}
	if _, err := st.BeginEpoch(ctx, store.NewEpoch{From: st.Epoch(), Above: above, CopyTime: m.Time}); err != nil {
		return state, err
	}
	commit, err := engine.CommitID()
	if err != nil {
		return state, err
	}
	state, closed = st.EpochState(), true
	if err := engine.Close(); err != nil {
		return state, err
	}
	return state, log.Set(journal.Witness{ServerID: st.ServerID(), Epoch: state.Epoch, Number: state.Number, Commit: commit})
}

// beyond draws a number that epochs of lost futures are not likely to have had:
// without a journal nobody knows which those are.
func beyond(number uint64) (uint64, error) {
	var b [2]byte
	if _, err := io.ReadFull(rand.Reader, b[:]); err != nil {
		return 0, err
	}
	return number + 16 + uint64(binary.BigEndian.Uint16(b[:]))%1024, nil
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
