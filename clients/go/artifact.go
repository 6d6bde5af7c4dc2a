package beckon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

const (
	// smallArtifact goes in one message, chunkBytes is one of a stream.
	smallArtifact = 256 << 10
	chunkBytes    = 64 << 10
	// largeArtifact is what a server takes unless it was told otherwise; more is
	// not even read into memory.
	largeArtifact = 64 << 20
)

var (
	// ErrArtifactSize is returned for an artifact that no server takes.
	ErrArtifactSize = errors.New("beckon: the artifact is too large")
	// ErrArtifactDiffers is returned for bytes that are not those of the digest.
	// What was written of them must not be used.
	ErrArtifactDiffers = errors.New("beckon: the bytes are not those of the digest")
)

// Upload stores what r gives as an artifact of the task, under a file name
// without a path and a media type; both may be empty. It goes on while the
// server is away. What this agent has uploaded to the account before is not
// sent again. An [io.ReadSeeker] is read twice from where it stands, anything
// else is read into memory, at most 64 MiB. Errors: [*Error],
// [ErrArtifactSize], and those of r.
func (w *Work) Upload(ctx context.Context, name, mediaType string, r io.Reader) (*v1.Artifact, error) {
	body, err := seekable(r)
	if err != nil {
		return nil, err
	}
	start, err := body.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, io.LimitReader(body, largeArtifact+1))
	if err != nil {
		return nil, err
	}
	if size > largeArtifact {
		return nil, ErrArtifactSize
	}
	write := &v1.ArtifactWrite{
		TaskId: w.ID(), LeaseId: w.Lease, Sha256: sum.Sum(nil), Size: uint64(size), MediaType: mediaType, Name: name,
	}
	for n := 0; ; n++ {
		if _, err := body.Seek(start, io.SeekStart); err != nil {
			return nil, err
		}
		stored, err := w.upload(ctx, write, io.LimitReader(body, size))
		if err == nil || ReasonOf(err) == ReasonQuota {
			return stored, err // waiting makes no room
		}
		if err := w.agent.hold(ctx, err, n); err != nil {
			return nil, err
		}
	}
}

func seekable(r io.Reader) (io.ReadSeeker, error) {
	if s, ok := r.(io.ReadSeeker); ok {
		if _, err := s.Seek(0, io.SeekCurrent); err == nil { // a pipe is a file too
			return s, nil
		}
	}
	data, err := io.ReadAll(io.LimitReader(r, largeArtifact+1))
	return bytes.NewReader(data), err
}

// upload makes one try: a small one in one call, a large one only where the
// server has not got the bytes.
func (w *Work) upload(ctx context.Context, write *v1.ArtifactWrite, body io.Reader) (*v1.Artifact, error) {
	req := &v1.PutArtifactRequest{Artifact: write}
	if write.GetSize() <= smallArtifact {
		data, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		req.Data = data
	}
	res, err := w.agent.Artifacts.PutArtifact(ctx, req)
	if ReasonOf(err) != ReasonUnknownArtifact {
		return res.GetArtifact(), err
	}
	return w.stream(ctx, write, body)
}

func (w *Work) stream(ctx context.Context, write *v1.ArtifactWrite, body io.Reader) (*v1.Artifact, error) {
	ctx, cancel := context.WithCancel(ctx) // gives up what is not ended
	defer cancel()
	s, err := w.agent.Artifacts.UploadArtifact(ctx)
	if err != nil {
		return nil, err
	}
	err = s.Send(&v1.UploadArtifactRequest{Part: &v1.UploadArtifactRequest_Artifact{Artifact: write}})
	for err == nil {
		chunk := make([]byte, chunkBytes)
		var n int
		if n, err = io.ReadFull(body, chunk); n == 0 {
			break
		}
		// A server that has answered already makes this io.EOF; the answer says why.
		err = s.Send(&v1.UploadArtifactRequest{Part: &v1.UploadArtifactRequest_Chunk{Chunk: chunk[:n]}})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	res, err := s.CloseAndReceive()
	return res.GetArtifact(), err
}

// Download writes an artifact of the account to w and checks its digest. Where
// the connection breaks it goes on where it was. After an error what was
// written must not be used. Errors: [*Error], [ErrArtifactDiffers], and those
// of w.
func (p *Person) Download(ctx context.Context, sum []byte, w io.Writer) (*v1.Artifact, error) {
	return p.download(ctx, &v1.DownloadArtifactRequest{Sha256: sum}, w)
}

// Download is [Person.Download] for an artifact that the task has.
func (w *Work) Download(ctx context.Context, sum []byte, to io.Writer) (*v1.Artifact, error) {
	return w.agent.download(ctx, &v1.DownloadArtifactRequest{Sha256: sum, TaskId: w.ID()}, to)
}

// fetch is one download over its connections.
type fetch struct {
	to   io.Writer
	hash hash.Hash
	got  uint64
	// local is what ended it on this side.
	local error
}

// Write implements io.Writer.
func (f *fetch) Write(b []byte) (int, error) {
	n, err := f.to.Write(b)
	f.hash.Write(b[:n])
	f.got += uint64(n)
	f.local = err
	return n, err
}

func (a *API) download(ctx context.Context, req *v1.DownloadArtifactRequest, to io.Writer) (*v1.Artifact, error) {
	f := &fetch{to: to, hash: sha256.New()}
	for tries := 1; ; tries++ {
		before := f.got
		req.Offset = f.got
		stored, err := a.receive(ctx, req, f)
		if f.local != nil {
			return nil, f.local
		}
		if err == nil {
			if f.got != stored.GetSize() || !bytes.Equal(f.hash.Sum(nil), req.GetSha256()) {
				return nil, ErrArtifactDiffers
			}
			return stored, nil
		}
		if f.got > before {
			tries = 1 // it gets on
		}
		if e, ok := errors.AsType[*Error](err); !ok || e.verdict() || tries >= a.retry.Attempts || ctx.Err() != nil {
			return nil, err
		}
		if pause(ctx, a.retry.wait(tries-1)) != nil {
			return nil, err
		}
	}
}

// receive reads one stream.
func (a *API) receive(ctx context.Context, req *v1.DownloadArtifactRequest, to *fetch) (*v1.Artifact, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := a.Artifacts.DownloadArtifact(ctx, req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // it was only read
	var stored *v1.Artifact
	for {
		m, err := s.Receive()
		switch {
		case errors.Is(err, io.EOF) && stored != nil:
			return stored, nil
		case err != nil:
			return nil, err
		case m.GetArtifact() != nil:
			stored = m.GetArtifact()
		default:
			if _, err := to.Write(m.GetChunk()); err != nil {
				return nil, fmt.Errorf("beckon: download: %w", err)
			}
		}
	}
}
