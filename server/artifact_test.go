package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

func artifactOf(c *v1.Claim, data []byte) *v1.ArtifactWrite {
	sum := sha256.Sum256(data)
	return &v1.ArtifactWrite{
		TaskId: c.GetTask().GetId(), LeaseId: c.GetLeaseId(), Sha256: sum[:], Size: uint64(len(data)), Name: "a.bin", MediaType: "text/plain",
	}
}

// upload sends what an artifact is to be and then chunks, as far as the server
// listens.
func upload(ctx context.Context, agent api, w *v1.ArtifactWrite, chunks ...[]byte) (*v1.Artifact, error) {
	s, err := agent.UploadArtifact(ctx)
	if err != nil {
		return nil, err
	}
	err = s.Send(&v1.UploadArtifactRequest{Part: &v1.UploadArtifactRequest_Artifact{Artifact: w}})
	for _, chunk := range chunks {
		if err == nil {
			err = s.Send(&v1.UploadArtifactRequest{Part: &v1.UploadArtifactRequest_Chunk{Chunk: chunk}})
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	res, err := s.CloseAndReceive()
	return res.GetArtifact(), err
}

func download(ctx context.Context, who api, r *v1.DownloadArtifactRequest) (*v1.Artifact, []byte, error) {
	s, err := who.DownloadArtifact(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = s.Close() }()
	var got *v1.Artifact
	var data []byte
	for {
		m, err := s.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return got, data, nil
		case err != nil:
			return got, data, err
		case m.GetArtifact() != nil:
			got = m.GetArtifact()
		default:
			data = append(data, m.GetChunk()...)
		}
	}
}

func pieces(data []byte, n int) [][]byte { return slices.Collect(slices.Chunk(data, n)) }

// files are what the server holds for artifacts.
func files(t *testing.T, s *running) (names []string) {
	t.Helper()
	check(t, filepath.WalkDir(filepath.Join(s.cfg.Data, "artifacts"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, e.Name())
		}
		return err
	}))
	return names
}

// TestArtifacts: over every transport alike.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	for _, tr := range transports(t) {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tr.options...)
			wire := tr.connect(t, s)
			me := claim(t, s, wire)
			agent := me.agent(t, wire)
			c := held(t, agent, "artifacts")
			data := bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16) // more than any other call may send
			w := artifactOf(c, data)
			stored, err := upload(t.Context(), agent, w, pieces(data, 64<<10)...)
			check(t, err)
			again, err := upload(t.Context(), agent, w, pieces(data, 64<<10)...) // answered early
			check(t, err)
			probed, err := agent.PutArtifact(t.Context(), &v1.PutArtifactRequest{Artifact: w})
			check(t, err)
			for _, got := range []*v1.Artifact{stored, again, probed.GetArtifact()} {
				if got.GetSize() != uint64(len(data)) || got.GetName() != "a.bin" || !bytes.Equal(got.GetSha256(), w.GetSha256()) {
					t.Errorf("stored: %v", got)
				}
			}
			for _, offset := range []uint64{0, 5<<20 - 1, 5 << 20} {
				_, got, err := download(t.Context(), me.api, &v1.DownloadArtifactRequest{Sha256: w.GetSha256(), Offset: offset})
				if err != nil || !bytes.Equal(got, data[offset:]) {
					t.Errorf("from %d: %d bytes, %v", offset, len(got), err)
				}
			}
			refusedUploads(t, agent, c)
			small := bytes.Repeat([]byte{0xff}, 256<<10)
			_, err = agent.PutArtifact(t.Context(), &v1.PutArtifactRequest{Artifact: artifactOf(c, small), Data: small})
			check(t, err)
			if left := files(t, s); len(left) != 2 {
				t.Errorf("files: %v", left)
			}
		})
	}
}

func refusedUploads(t *testing.T, agent api, c *v1.Claim) {
	t.Helper()
	whole := bytes.Repeat([]byte("x"), 100_000)
	change := func(fn func(*v1.ArtifactWrite)) *v1.ArtifactWrite {
		w := artifactOf(c, whole)
		fn(w)
		return w
	}
	for name, tc := range map[string]struct {
		write  *v1.ArtifactWrite
		chunks [][]byte
		reason string
		field  string
	}{
		"other bytes":        {artifactOf(c, whole), pieces(bytes.Repeat([]byte("y"), 100_000), 60_000), "DIGEST_MISMATCH", "sha256"},
		"too few":            {artifactOf(c, whole), pieces(whole[1:], 60_000), "DIGEST_MISMATCH", "size"},
		"too many":           {artifactOf(c, whole), append(pieces(whole, 60_000), []byte("x")), "DIGEST_MISMATCH", "size"},
		"far too many":       {change(func(w *v1.ArtifactWrite) { w.Size = 1 }), slices.Repeat([][]byte{whole[:64<<10]}, 64), "DIGEST_MISMATCH", "size"},
		"too large":          {change(func(w *v1.ArtifactWrite) { w.Size = 32<<20 + 1 }), slices.Repeat([][]byte{whole[:64<<10]}, 64), "LIMIT", "size"},
		"above the contract": {change(func(w *v1.ArtifactWrite) { w.Size = 64<<20 + 1 }), nil, "LIMIT", "artifact.size"},
		"a chunk too large":  {artifactOf(c, whole), [][]byte{whole[:64<<10+1]}, "LIMIT", "chunk"},
		"an empty chunk":     {artifactOf(c, whole), [][]byte{{}}, "MISSING", "chunk"},
		"a path as a name":   {change(func(w *v1.ArtifactWrite) { w.Name = "../x" }), nil, "INVALID", "artifact.name"},
		"no media type":      {change(func(w *v1.ArtifactWrite) { w.MediaType = "text" }), nil, "INVALID", "artifact.media_type"},
		"half a digest":      {change(func(w *v1.ArtifactWrite) { w.Sha256 = w.GetSha256()[:16] }), nil, "INVALID", "artifact.sha256"},
	} {
		_, err := upload(t.Context(), agent, tc.write, tc.chunks...)
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		if _, info := infoOf(t, err); info.GetReason() != tc.reason || info.GetField() != tc.field {
			t.Errorf("%s: %s at %s, want %s at %s", name, info.GetReason(), info.GetField(), tc.reason, tc.field)
		}
	}
	s, err := agent.UploadArtifact(t.Context())
	check(t, err)
	check(t, s.Send(&v1.UploadArtifactRequest{Part: &v1.UploadArtifactRequest_Chunk{Chunk: []byte("x")}}))
	_, err = s.CloseAndReceive()
	if _, info := infoOf(t, err); info.GetReason() != "MISSING" || info.GetField() != "artifact" {
		t.Errorf("a chunk at first: %v", info)
	}
}

// TestArtifacts_CutInTheMiddle leaves nothing, however the client goes away.
func TestArtifacts_CutInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, tr := range transports(t) {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tr.options...)
			wire := tr.connect(t, s)
			me := claim(t, s, wire)
			agent := me.agent(t, wire)
			c := held(t, agent, "cut")
			data := bytes.Repeat([]byte("x"), 200_000)
			ctx, cancel := context.WithCancel(t.Context())
			up, err := agent.UploadArtifact(ctx)
			check(t, err)
			check(t, up.Send(&v1.UploadArtifactRequest{Part: &v1.UploadArtifactRequest_Artifact{Artifact: artifactOf(c, data)}}))
			check(t, up.Send(&v1.UploadArtifactRequest{Part: &v1.UploadArtifactRequest_Chunk{Chunk: data[:64<<10]}}))
			eventually(t, func() bool { return len(files(t, s)) == 1 }) // it has begun
			cancel()
			_, _ = up.CloseAndReceive() // it was cut
			eventually(t, func() bool { return len(files(t, s)) == 0 })
			_, _, err = download(t.Context(), me.api, &v1.DownloadArtifactRequest{Sha256: artifactOf(c, data).GetSha256()})
			if connect.CodeOf(err) != connect.CodeNotFound {
				t.Errorf("download = %v", err)
			}
			_, err = upload(t.Context(), agent, artifactOf(c, data), pieces(data, 64<<10)...)
			check(t, err)
		})
	}
}

// eventually looks until something is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); !so(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("it never came to be so")
		}
	}
}

// TestArtifacts_AnyChunks: however the bytes are cut, whole and right uploads
// are taken, and no other. The seed is printed.
func TestArtifacts_AnyChunks(t *testing.T) {
	t.Parallel()
	tr := transports(t)[2]
	s := start(t, tr.options...)
	wire := tr.connect(t, s)
	me := claim(t, s, wire)
	agent := me.agent(t, wire)
	c := held(t, agent, "chunks")
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	taken := 0
	for n := range 60 {
		data := make([]byte, 1+r.IntN(150_000))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		var chunks [][]byte
		for rest := data; len(rest) > 0; {
			cut := min(len(rest), 1+r.IntN(64<<10))
			chunks, rest = append(chunks, rest[:cut]), rest[cut:]
		}
		sent := slices.Clone(chunks)
		switch r.IntN(5) {
		case 0:
			r.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
		case 1:
			sent = slices.Delete(sent, 0, 1)
		case 2:
			sent = append(sent, sent[r.IntN(len(sent))])
		}
		_, err := upload(t.Context(), agent, artifactOf(c, data), sent...)
		if whole := bytes.Equal(bytes.Join(sent, nil), data); whole != (err == nil) {
			t.Fatalf("upload %d: whole %v, %v", n, whole, err)
		}
		if err == nil {
			taken++
		} else if _, info := infoOf(t, err); info.GetReason() != "DIGEST_MISMATCH" {
			t.Fatalf("upload %d: %v", n, info)
		}
	}
	if left := files(t, s); len(left) != taken || strings.Contains(strings.Join(left, " "), ".part") {
		t.Errorf("%d were taken, files: %v", taken, left)
	}
}
