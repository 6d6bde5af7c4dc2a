package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"time"
)

// The witness is one record at the beginning of its file: mark, length of the
// id, id, epoch, number, commit, checksum. It is far below a sector, so it is
// written whole.
var witnessMark = []byte("beckon-witness-1")

const maxID = 64

func (j *Journal) readWitness() error {
	all, err := io.ReadAll(io.LimitReader(j.witness, 512))
	if err != nil || len(all) == 0 {
		return err
	}
	damaged := fmt.Errorf("%w: %s", ErrDamaged, witnessFile)
	rest, ok := bytes.CutPrefix(all, witnessMark)
	if !ok || len(rest) < 1 || len(rest) < 1+int(rest[0])+16+8+8+4 {
		return damaged
	}
	n := 1 + int(rest[0]) + 16 + 8 + 8
	if crc32.ChecksumIEEE(rest[:n]) != binary.BigEndian.Uint32(rest[n:]) {
		return damaged
	}
	j.state.ServerID = string(rest[1 : 1+rest[0]])
	fixed := rest[1+rest[0]:]
	copy(j.state.Epoch[:], fixed)
	j.state.Number, j.state.Commit = binary.BigEndian.Uint64(fixed[16:]), binary.BigEndian.Uint64(fixed[24:])
	j.known = true
	return nil
}

func (w Witness) marshal() []byte {
	id := w.ServerID[:min(len(w.ServerID), maxID)]
	body := append([]byte{byte(len(id))}, id...)
	body = append(body, w.Epoch[:]...)
	body = binary.BigEndian.AppendUint64(body, w.Number)
	body = binary.BigEndian.AppendUint64(body, w.Commit)
	body = binary.BigEndian.AppendUint32(body, crc32.ChecksumIEEE(body))
	return append(bytes.Clone(witnessMark), body...)
}

// Witness is what was witnessed last; known is false for a new journal.
func (j *Journal) Witness() (w Witness, known bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state, j.known
}

// Set begins to witness from where a store stands, also where that is behind
// what was witnessed before. It returns once that lasts. Errors:
// store.ErrDiskFull, and the system's.
func (j *Journal) Set(w Witness) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state, j.known, j.synced = w, true, time.Time{}
	if err := j.put(); err != nil {
		return fmt.Errorf("journal: witness: %w", classify(err))
	}
	return nil
}

// Committed witnesses a commit. Before the first Set, and for commits behind
// the witness, it does nothing. What cannot be written is made up for by the
// next one: the commit itself stands.
func (j *Journal) Committed(id uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.known || id <= j.state.Commit {
		return
	}
	j.state.Commit = id
	_ = j.put() // see above
}

func (j *Journal) put() error {
	if j.witness == nil {
		return fs.ErrClosed
	}
	if _, err := j.witness.WriteAt(j.state.marshal(), 0); err != nil {
		return err
	}
	if now := time.Now(); now.Sub(j.synced) >= syncEvery {
		j.synced = now
		return j.witness.Sync()
	}
	return nil
}
