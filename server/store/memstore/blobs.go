package memstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/server/store"
)

// Blobs keeps the bytes of artifacts in memory. It is safe for concurrent use.
type Blobs struct {
	clock func() time.Time

	mu   sync.Mutex
	kept map[string]map[store.Sum]blob
	open map[*blobWriter]time.Time
}

// blob is bytes that never change.
type blob struct {
	data []byte
	at   time.Time
}

var _ store.Blobs = (*Blobs)(nil)

// NewBlobs returns an empty one; clock is what files get their times by.
func NewBlobs(clock func() time.Time) *Blobs {
	return &Blobs{clock: clock, kept: map[string]map[store.Sum]blob{}, open: map[*blobWriter]time.Time{}}
}

// Create implements store.Blobs.
func (b *Blobs) Create(account string) (store.BlobWriter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &blobWriter{blobs: b, account: account}
	b.open[w] = b.clock()
	return w, nil
}

func (b *Blobs) find(account string, sum store.Sum) (blob, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.kept[account][sum]
	if !ok {
		return found, store.ErrNotFound
	}
	return found, nil
}

// Open implements store.Blobs.
func (b *Blobs) Open(account string, sum store.Sum, offset uint64) (io.ReadCloser, error) {
	found, err := b.find(account, sum)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(found.data[min(offset, uint64(len(found.data))):])), nil
}

// Size implements store.Blobs.
func (b *Blobs) Size(account string, sum store.Sum) (uint64, error) {
	found, err := b.find(account, sum)
	return uint64(len(found.data)), err
}

// Remove implements store.Blobs.
func (b *Blobs) Remove(account string, sum store.Sum) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.kept[account], sum)
	return nil
}

// RemoveUnfinished implements store.Blobs.
func (b *Blobs) RemoveUnfinished(ctx context.Context, before time.Time) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for w, at := range b.open {
		if at.Before(before) {
			delete(b.open, w)
			n++
		}
	}
	return n, ctx.Err()
}

// List implements store.Blobs.
func (b *Blobs) List(ctx context.Context, before time.Time, fn func(account string, sums []store.Sum) error) error {
	b.mu.Lock()
	found := map[string][]store.Sum{}
	for account, kept := range b.kept {
		for sum, blob := range kept {
			if blob.at.Before(before) {
				found[account] = append(found[account], sum)
			}
		}
	}
	b.mu.Unlock()
	for account, sums := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(account, sums); err != nil {
			return err
		}
	}
	return nil
}

// blobWriter is bytes on their way in.
type blobWriter struct {
	blobs   *Blobs
	account string
	data    []byte
	sum     store.Sum
}

// Write implements io.Writer.
func (w *blobWriter) Write(p []byte) (int, error) {
	w.data = append(w.data, p...)
	w.blobs.mu.Lock()
	defer w.blobs.mu.Unlock()
	w.blobs.open[w] = w.blobs.clock()
	return len(p), nil
}

// Seal implements store.BlobWriter.
func (w *blobWriter) Seal(sum store.Sum) error {
	if sha256.Sum256(w.data) != sum {
		return store.ErrBlobDiffers
	}
	w.sum = sum
	return nil
}

// Keep implements store.BlobWriter.
func (w *blobWriter) Keep() error {
	w.blobs.mu.Lock()
	defer w.blobs.mu.Unlock()
	delete(w.blobs.open, w)
	if w.blobs.kept[w.account] == nil {
		w.blobs.kept[w.account] = map[store.Sum]blob{}
	}
	w.blobs.kept[w.account][w.sum] = blob{w.data, w.blobs.clock()}
	return nil
}

// Discard implements store.BlobWriter.
func (w *blobWriter) Discard() error {
	w.blobs.mu.Lock()
	defer w.blobs.mu.Unlock()
	delete(w.blobs.open, w)
	return nil
}
