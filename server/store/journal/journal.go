package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/internal/disk"
)

const (
	witnessFile    = "witness"
	revocationFile = "revocations"
	folderMode     = 0o700
	fileMode       = 0o600
	// syncEvery bounds how far a loss of power may set the witness back.
	syncEvery = 5 * time.Second
	// lockWait is how long a predecessor that is closing is waited for, and
	// lockEvery how often it is looked for.
	lockWait, lockEvery = time.Second, 10 * time.Millisecond
)

// ErrDamaged: a file of the journal cannot be read as one.
var ErrDamaged = errors.New("journal: damaged")

// Witness is how far a store has come, as far as anybody was told.
type Witness struct {
	// ServerID is whose store it is.
	ServerID string
	// Epoch is the last one, and Number its number.
	Epoch  [16]byte
	Number uint64
	// Commit is the engine's number of the last commit.
	Commit uint64
}

// Journal is an open folder. It is safe for concurrent use and owns no
// goroutine.
type Journal struct {
	mu      sync.Mutex
	witness *os.File
	known   bool // the witness has said something
	state   Witness
	synced  time.Time

	lines   *os.File
	last    map[string][]store.Revocation // by account, the last word on each right
	pending []byte
}

// Exists reports whether a folder holds a journal.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, witnessFile))
	return err == nil
}

// Open opens the folder, making it where it is missing, for this process alone.
// Errors: store.ErrLocked, ErrDamaged, store.ErrDiskFull, and the system's.
func Open(dir string) (*Journal, error) {
	j := &Journal{last: map[string][]store.Revocation{}}
	if err := j.open(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("journal: open: %w", classify(err)), j.Close())
	}
	return j, nil
}

func (j *Journal) open(dir string) error {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	var err error
	if j.witness, err = os.OpenFile(filepath.Join(dir, witnessFile), os.O_RDWR|os.O_CREATE, fileMode); err != nil {
		return err
	}
	if err := lock(j.witness); err != nil {
		return err
	}
	if j.lines, err = os.OpenFile(filepath.Join(dir, revocationFile), os.O_RDWR|os.O_CREATE, fileMode); err != nil {
		return err
	}
	if err := errors.Join(j.readWitness(), j.readLines()); err != nil {
		return err
	}
	return errors.Join(disk.SyncFolder(dir), disk.SyncFolder(filepath.Dir(filepath.Clean(dir))))
}

// lock takes the lock of the folder, which ends with the process.
func lock(f *os.File) error {
	for end := time.Now().Add(lockWait); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if time.Now().After(end) {
			return store.ErrLocked
		}
		<-time.After(lockEvery)
	}
}

// Close ends it.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	for _, f := range []*os.File{j.witness, j.lines} {
		if f != nil {
			err = errors.Join(err, f.Sync(), f.Close())
		}
	}
	j.witness, j.lines = nil, nil
	return err
}

// line is a revocation as it lies in the file.
type line struct {
	Account string    `json:"account"`
	Kind    string    `json:"kind"`
	ID      string    `json:"id,omitempty"`
	Undone  bool      `json:"undone,omitempty"`
	Time    time.Time `json:"time"`
}

// readLines reads all revocations. What a crash left of a last line, nobody was
// told; it is cut off.
func (j *Journal) readLines() error {
	all, err := io.ReadAll(j.lines)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(all, '\n') + 1
	for raw := range bytes.Lines(all[:whole]) {
		var l line
		if err := json.Unmarshal(raw, &l); err != nil || l.Account == "" || l.Kind == "" {
			return fmt.Errorf("%w: %s", ErrDamaged, revocationFile)
		}
		j.note(store.Revocation{Account: l.Account, Kind: store.RevocationKind(l.Kind), ID: l.ID, Undone: l.Undone, Time: l.Time})
	}
	if err := j.lines.Truncate(int64(whole)); err != nil {
		return err
	}
	_, err = j.lines.Seek(int64(whole), io.SeekStart)
	return err
}

// note keeps the last word on a right.
func (j *Journal) note(r store.Revocation) {
	of := j.last[r.Account]
	for i, have := range of {
		if have.Kind == r.Kind && have.ID == r.ID {
			of[i] = r
			return
		}
	}
	j.last[r.Account] = append(of, r)
}

// Record appends entries and returns once they last. What could not be written
// is kept and written before the next ones. Errors: store.ErrDiskFull, and the
// system's.
func (j *Journal) Record(entries []store.Revocation) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range entries {
		raw, err := json.Marshal(line{Account: r.Account, Kind: string(r.Kind), ID: r.ID, Undone: r.Undone, Time: r.Time})
		if err != nil {
			return err
		}
		j.pending = append(append(j.pending, raw...), '\n')
		j.note(r)
	}
	if err := j.write(); err != nil {
		return fmt.Errorf("journal: record: %w", classify(err))
	}
	return nil
}

// write appends what is pending, whole: half of it would be read as damage once
// more came behind it.
func (j *Journal) write() error {
	if j.lines == nil {
		return fs.ErrClosed
	}
	end, err := j.lines.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err = j.lines.Write(j.pending); err == nil {
		err = j.lines.Sync()
	}
	if err != nil {
		return errors.Join(err, j.lines.Truncate(end))
	}
	j.pending = nil
	return nil
}

// Revoked lists what is taken away in an account, by its last word.
func (j *Journal) Revoked(account string) []store.Revocation {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []store.Revocation
	for _, r := range j.last[account] {
		if !r.Undone {
			out = append(out, r)
		}
	}
	return out
}

func classify(err error) error {
	if disk.IsFull(err) {
		return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
	}
	return err
}
