package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// DownloadArtifact names an artifact and where to go on.
type DownloadArtifact struct {
	// Task may be left out by a person.
	Task   string
	Sum    store.Sum
	Offset uint64
}

// ArtifactReader takes a download; an error of it ends the download.
type ArtifactReader interface {
	// Begin comes first.
	Begin(v ArtifactView) error
	// Chunk is called with the bytes in order, at most ArtifactChunk at a time.
	// It must not keep them.
	Chunk(b []byte) error
}

// ArtifactChunk is the most bytes of one message.
const ArtifactChunk = 64 << 10

// DownloadArtifact sends an artifact from an offset on, to its person or the
// agent of a task that has it. Errors: store.ErrNotFound, *FieldError,
// *StreamsError, ErrLeaving, ErrArtifactDamaged.
func (a *App) DownloadArtifact(ctx context.Context, p policy.Principal, c DownloadArtifact, to ArtifactReader) error {
	view, err := a.GetArtifact(ctx, p, c.Task, c.Sum)
	if err != nil {
		return err
	}
	if c.Offset > view.Size {
		return &FieldError{Field: "offset", Reason: "LIMIT", Max: int64(min(view.Size, 1<<62))}
	}
	account, err := artifactAccount(p, c.Task)
	if err != nil {
		return err
	}
	ctx, end, err := a.transfer(ctx, p, account)
	if err != nil {
		return err
	}
	defer end()
	bytes, err := a.blobs.Open(account, c.Sum, c.Offset)
	if errors.Is(err, store.ErrNotFound) {
		// The row stands for the bytes, so this is damage, unless both went now.
		if _, gone := a.GetArtifact(ctx, p, c.Task, c.Sum); gone != nil {
			return gone
		}
		return fmt.Errorf("%w: there are none", ErrArtifactDamaged)
	}
	if err != nil {
		return err
	}
	defer func() { _ = bytes.Close() }() // it was only read
	if err := to.Begin(view); err != nil {
		return err
	}
	return send(ctx, bytes, view.Size-c.Offset, to)
}

// send copies exactly so many bytes, until the context ends.
func send(ctx context.Context, from io.Reader, left uint64, to ArtifactReader) error {
	buffer := make([]byte, ArtifactChunk)
	for left > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, err := io.ReadFull(from, buffer[:min(left, ArtifactChunk)])
		if err != nil {
			return fmt.Errorf("%w: %w", ErrArtifactDamaged, err)
		}
		if err := to.Chunk(buffer[:n]); err != nil {
			return err
		}
		left -= uint64(n)
	}
	return nil
}
