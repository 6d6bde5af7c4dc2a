package beckon

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/beckon-dev/beckon/sync/replica"
)

// What stands in front of a snapshot: its form, and the digest of all behind it.
const (
	snapshotMagic = "beckon inbox 1\n"
	snapshotBytes = 256 << 20
	// saveEvery bounds how often following writes the file.
	saveEvery = 2 * time.Second
)

// keptInbox is an inbox in its file.
type keptInbox struct {
	// ServerID, Account and Installation are whose it is: what another one left
	// in the same place is not shown.
	ServerID, Account, Installation string
	// LevelTime is when it was level with the server last.
	LevelTime time.Time
	View      replica.Snapshot
}

// OpenInbox is the inbox as the file at path has it, so that a program shows at
// once what it knew, and asks only for what has changed since. Every Sync and
// Follow keeps the file; it is replaced as a whole, so page and cursor are never
// apart. A file that is missing, damaged or of another device is an empty inbox:
// whatever is in it is on the server too. It holds what people wrote, and only
// its owner may read it; once the device is no part of the account any more, it
// is removed. Error: that of a file that cannot be read.
func (p *Person) OpenInbox(path string) (*Inbox, error) {
	i := p.Inbox()
	i.file = path
	s, err := loadSnapshot(path)
	if err != nil {
		return nil, err
	}
	if s.of(p.who) {
		i.view, i.levelTime = replica.Open(s.View), s.LevelTime
	}
	return i, nil
}

// LevelTime is when the inbox was level with the server last, by the clock of
// this machine; zero where it never was.
func (i *Inbox) LevelTime() time.Time { return i.levelTime }

func (s keptInbox) of(who Profile) bool {
	return s.ServerID == who.ServerID && s.Account == who.Account && s.Installation == who.Installation
}

// level notes that the inbox is level, and keeps it.
func (i *Inbox) level() error {
	i.levelTime = time.Now()
	return i.save()
}

// save writes the file, where there is one and anything to keep.
func (i *Inbox) save() error {
	if cursor, _ := i.view.At(); i.file == "" || cursor == nil {
		return nil
	}
	var body bytes.Buffer
	err := gob.NewEncoder(&body).Encode(keptInbox{
		ServerID: i.who.ServerID, Account: i.who.Account, Installation: i.who.Installation,
		LevelTime: i.levelTime, View: i.view.Snapshot(),
	})
	if err != nil {
		return fmt.Errorf("beckon: store inbox: %w", err)
	}
	sum := sha256.Sum256(body.Bytes())
	if err := writePrivate(i.file, bytes.Join([][]byte{[]byte(snapshotMagic), sum[:], body.Bytes()}, nil)); err != nil {
		return fmt.Errorf("beckon: store inbox: %w", err)
	}
	i.savedAt = time.Now()
	return nil
}

// saveSometimes is save for a caller that is level many times a second.
func (i *Inbox) saveSometimes() error {
	if i.levelTime = time.Now(); i.levelTime.Sub(i.savedAt) < saveEvery {
		return nil
	}
	return i.save()
}

// forget removes the file of a device that has left the account, and gives the
// error that says so.
func (i *Inbox) forget(err error) error {
	if i.file == "" || !Ended(err) {
		return err
	}
	i.view, i.levelTime = replica.New(), time.Time{}
	if gone := os.Remove(i.file); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		return errors.Join(err, gone)
	}
	return err
}

// loadSnapshot reads a file; what is no snapshot is an empty one.
func loadSnapshot(path string) (keptInbox, error) {
	var s keptInbox
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, snapshotBytes+1))
	if err != nil {
		return s, err
	}
	rest, ok := bytes.CutPrefix(raw, []byte(snapshotMagic))
	if !ok || len(raw) > snapshotBytes || len(rest) < sha256.Size {
		return keptInbox{}, nil
	}
	sum, body := rest[:sha256.Size], rest[sha256.Size:]
	if have := sha256.Sum256(body); !bytes.Equal(have[:], sum) {
		return keptInbox{}, nil
	}
	if gob.NewDecoder(bytes.NewReader(body)).Decode(&s) != nil {
		return keptInbox{}, nil
	}
	return s, nil
}
