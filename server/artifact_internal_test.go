package server

import (
	"context"
	"crypto/sha256"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect/v2"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// artifacts is the service with the key of the bubble's agent.
func (b *bubbled) artifacts(t *testing.T) beckonv1connect.ArtifactServiceClient {
	t.Helper()
	account, _ := store.AccountKey(b.phone.Account)
	me := policy.Principal{Kind: policy.Installation, Account: account, Installation: b.phone.Installation.ID}
	issued, err := b.app.IssueKey(t.Context(), me, b.agent.Agent, 0)
	must(t, err)
	return beckonv1connect.NewArtifactServiceClient(b.client(issued.Secret.Reveal()))
}

// begun sends the first message of an upload of so many bytes.
func (b *bubbled) begun(ctx context.Context, t *testing.T, size int) beckonv1connect.ArtifactServiceUploadArtifactClientStream {
	t.Helper()
	up, err := b.artifacts(t).UploadArtifact(ctx)
	must(t, err)
	sum := sha256.Sum256(make([]byte, size))
	must(t, up.Send(&v1.UploadArtifactRequest{Part: &v1.UploadArtifactRequest_Artifact{Artifact: &v1.ArtifactWrite{
		TaskId: b.work.Task, LeaseId: b.work.Lease, Sha256: sum[:], Size: uint64(size),
	}}}))
	synctest.Wait()
	if n := b.app.OpenStreams(); n != 1 {
		t.Fatalf("%d transfers are open", n)
	}
	return up
}

// A client that sends nothing more holds its upload for the time of one
// message; one that sends a byte now and then, for that of the whole.
func TestUpload_ASlowClientIsCutOff(t *testing.T) {
	t.Parallel()
	for name, choose := range plainProtocols() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("silent", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBubbled(t, choose)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					up := b.begun(ctx, t, 1<<20)
					time.Sleep(10*time.Second - time.Millisecond)
					synctest.Wait()
					if n := b.app.OpenStreams(); n != 1 {
						t.Error("ended before its time")
					}
					time.Sleep(2 * time.Millisecond)
					synctest.Wait()
					if n := b.app.OpenStreams(); n != 0 {
						t.Error("a silent client holds the upload")
					}
					_, _ = up.CloseAndReceive() // it is over
				})
			})
			t.Run("a byte now and then", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBubbled(t, choose)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					up := b.begun(ctx, t, 1<<20)
					began := time.Now()
					for b.app.OpenStreams() == 1 && time.Since(began) < time.Hour {
						_ = up.Send(&v1.UploadArtifactRequest{Part: &v1.UploadArtifactRequest_Chunk{Chunk: []byte{0}}}) // until it is over
						time.Sleep(9 * time.Second)
						synctest.Wait()
					}
					if took := time.Since(began); took < 40*time.Second || took > time.Minute {
						t.Errorf("it was held for %v, 46 s are enough for 1 MiB", took)
					}
					_, err := up.CloseAndReceive()
					if err == nil || connect.CodeOf(err) == connect.CodeInvalidArgument {
						t.Errorf("it ended with %v", err)
					}
				})
			})
		})
	}
}
