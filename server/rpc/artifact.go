package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
)

type artifactService struct{ app *app.App }

var _ beckonv1connect.ArtifactServiceHandler = artifactService{}

func (s artifactService) PutArtifact(ctx context.Context, r *v1.PutArtifactRequest) (*v1.PutArtifactResponse, error) {
	var body io.Reader
	if len(r.GetData()) > 0 || r.GetArtifact().GetSize() == 0 {
		body = bytes.NewReader(r.GetData())
	}
	view, err := s.app.PutArtifact(ctx, principalOf(ctx), artifactIn(r.GetArtifact()), body)
	if err != nil {
		return nil, err
	}
	return &v1.PutArtifactResponse{Artifact: artifactOut(view)}, nil
}

func (s artifactService) UploadArtifact(ctx context.Context, stream beckonv1connect.ArtifactServiceUploadArtifactServerStream) (*v1.UploadArtifactResponse, error) {
	body := &chunks{next: stream.Receive, deadline: controllerOf(ctx)}
	body.end = time.Now().Add(frameTime)
	first, err := body.receive()
	if err != nil {
		return nil, err
	}
	if first.GetArtifact() == nil {
		return nil, &app.FieldError{Field: "artifact", Reason: reasonMissing}
	}
	c := artifactIn(first.GetArtifact())
	within := transferTime(c.Size)
	body.end = time.Now().Add(within)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	view, err := s.app.PutArtifact(ctx, principalOf(ctx), c, body)
	if err != nil {
		body.drain(refusedTime)
		return nil, err
	}
	body.drain(within)
	return &v1.UploadArtifactResponse{Artifact: artifactOut(view)}, nil
}

func (s artifactService) DownloadArtifact(ctx context.Context, r *v1.DownloadArtifactRequest, stream beckonv1connect.ArtifactServiceDownloadArtifactServerStream) error {
	sum := sumIn(r.GetSha256())
	to := &download{pace: newPace(ctx), stream: stream}
	defer to.end(endTime)
	return s.app.DownloadArtifact(ctx, principalOf(ctx), app.DownloadArtifact{Task: r.GetTaskId(), Sum: sum, Offset: r.GetOffset()}, to)
}

func (s artifactService) GetArtifact(ctx context.Context, r *v1.GetArtifactRequest) (*v1.GetArtifactResponse, error) {
	view, err := s.app.GetArtifact(ctx, principalOf(ctx), r.GetTaskId(), sumIn(r.GetSha256()))
	if err != nil {
		return nil, err
	}
	return &v1.GetArtifactResponse{Artifact: artifactOut(view)}, nil
}

const (
	// transferLeast is what any transfer may take, and slowest the bytes a
	// second below which it is not worth a stream: it can be begun again.
	transferLeast = 30 * time.Second
	slowest       = 64 << 10
	// refusedTime is how long a refused upload may go on to send.
	refusedTime = 5 * time.Second
)

// transferTime bounds a transfer of so many bytes.
func transferTime(size uint64) time.Duration {
	return transferLeast + time.Duration(min(size, 1<<32)/slowest)*time.Second
}

// chunks reads the bytes of an upload. Each message has a time of its own, and
// all of them have one together, so that nobody holds a stream by sending a
// byte now and then.
type chunks struct {
	next func() (*v1.UploadArtifactRequest, error)
	// deadline is nil in process.
	deadline *http.ResponseController
	end      time.Time
	rest     []byte
	// ended is what the last message was, where it was none.
	ended error
}

// Read implements io.Reader.
func (c *chunks) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		m, err := c.receive()
		if err != nil {
			return 0, err
		}
		if m.GetArtifact() != nil {
			return 0, &app.FieldError{Field: "artifact", Reason: "REPEATED"}
		}
		c.rest = m.GetChunk()
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// drain lets a client send what it still has, for a while: many hear no answer
// that comes before, over HTTP/1.1 and in process. Nothing of it is kept.
func (c *chunks) drain(within time.Duration) {
	if by := time.Now().Add(within); by.Before(c.end) {
		c.end = by
	}
	for c.ended == nil {
		_, _ = c.receive() // it ends with the first error
	}
}

// receive takes the next message in its time; io.EOF when there are no more.
func (c *chunks) receive() (*v1.UploadArtifactRequest, error) {
	if c.deadline != nil {
		until := time.Now().Add(frameTime)
		if until.After(c.end) {
			until = c.end
		}
		_ = c.deadline.SetReadDeadline(until) // it fails on a connection that is gone
	}
	m, err := c.next()
	c.ended = err
	switch {
	case err == nil:
		return m, nil
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%w: %w", errSlow, err)
	default:
		return nil, err
	}
}

// download sends an artifact, each message in a time of its own.
type download struct {
	*pace

	stream beckonv1connect.ArtifactServiceDownloadArtifactServerStream
	// by is when all of it has to be sent.
	by time.Time
}

var _ app.ArtifactReader = (*download)(nil)

// Begin implements app.ArtifactReader.
func (d *download) Begin(v app.ArtifactView) error {
	d.by = time.Now().Add(transferTime(v.Size))
	return d.put(&v1.DownloadArtifactResponse{Part: &v1.DownloadArtifactResponse_Artifact{Artifact: artifactOut(v)}})
}

// Chunk implements app.ArtifactReader.
func (d *download) Chunk(b []byte) error {
	// In process the message goes over as it is, and the buffer is used again.
	return d.put(&v1.DownloadArtifactResponse{Part: &v1.DownloadArtifactResponse_Chunk{Chunk: bytes.Clone(b)}})
}

func (d *download) put(m *v1.DownloadArtifactResponse) error {
	if time.Now().After(d.by) {
		return errStalled
	}
	return d.send(func() error { return d.stream.Send(m) })
}

func artifactIn(w *v1.ArtifactWrite) app.PutArtifact {
	return app.PutArtifact{
		Held: app.Held{Task: w.GetTaskId(), Lease: w.GetLeaseId()}, Sum: sumIn(w.GetSha256()),
		Size: w.GetSize(), Name: w.GetName(), MediaType: w.GetMediaType(),
	}
}

func artifactOut(v app.ArtifactView) *v1.Artifact {
	return &v1.Artifact{
		Sha256: v.Sum[:], Size: v.Size, MediaType: v.MediaType, Name: v.Name, TaskId: v.Task, CreateTime: timeOut(v.CreateTime),
	}
}

// sumIn reads a digest, whose length the contract's rules have checked.
func sumIn(b []byte) (sum store.Sum) {
	copy(sum[:], b)
	return sum
}
