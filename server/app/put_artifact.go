package app

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/beckon-dev/beckon/server/failpoint"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// PutArtifact says what an artifact is to be.
type PutArtifact struct {
	Held
	Sum  store.Sum
	Size uint64
	// Name and MediaType are the agent's words.
	Name, MediaType string
}

// defaultMediaType is what bytes are of which nobody says more.
const defaultMediaType = "application/octet-stream"

// PutArtifact stores the bytes that body gives, and gives them to the task:
// checked against size and digest, durable, and only then named by a row.
// Bytes that this agent has stored in the account before are not read again,
// so a repeat is cheap; those of another agent are, since knowing a digest
// proves nothing. A nil body stands for bytes that have to be there already:
// ErrUnknownArtifact. What fails leaves nothing.
//
// Further errors: *FieldError (size: LIMIT or DIGEST_MISMATCH, sha256:
// DIGEST_MISMATCH), *QuotaError, *StreamsError, ErrLeaving, ErrTaskEnded,
// task.ErrLeaseLost, store.ErrNotFound, store.ErrDiskFull, that of body.
func (a *App) PutArtifact(ctx context.Context, p policy.Principal, c PutArtifact, body io.Reader) (ArtifactView, error) {
	account, err := accountOf(store.KindTask, c.Task)
	if err != nil {
		return ArtifactView{}, err
	}
	if c.Lease, err = leaseFor(p, c.Lease); err != nil {
		return ArtifactView{}, err
	}
	if c.MediaType == "" {
		c.MediaType = defaultMediaType
	}
	known, err := a.admitArtifact(ctx, p, account, c)
	if err != nil {
		return ArtifactView{}, err
	}
	if known {
		view, err := a.giveArtifact(ctx, p, account, c, false)
		if !errors.Is(err, ErrUnknownArtifact) {
			return view, err
		}
	}
	if body == nil {
		return ArtifactView{}, ErrUnknownArtifact
	}
	ctx, end, err := a.transfer(ctx, p, account)
	if err != nil {
		return ArtifactView{}, err
	}
	defer end()
	return a.storeArtifact(ctx, p, account, c, body)
}

// admitArtifact refuses what could not be given to the task anyway, before any
// byte is read, and reports whether the bytes are there for it.
func (a *App) admitArtifact(ctx context.Context, p policy.Principal, account string, c PutArtifact) (known bool, err error) {
	err = a.store.View(ctx, account, func(tx *store.Read) error {
		known, err = a.mayPut(tx, p, c)
		return err
	})
	if err != nil || !known {
		return false, err
	}
	// Bytes that the medium has lost are taken again.
	size, err := a.blobs.Size(account, c.Sum)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && size == c.Size, err
}

// mayPut judges in a transaction whether a task may get an artifact, and
// whether the bytes are known: kept, and of this agent.
func (a *App) mayPut(tx *store.Read, p policy.Principal, c PutArtifact) (known bool, err error) {
	s, err := workTask(tx, p, c.Task, store.ScopeTaskWork)
	if err != nil {
		return false, err
	}
	if err := mayAct(tx, p); err != nil {
		return false, err
	}
	if s.Phase.Terminal() {
		return false, ErrTaskEnded
	}
	if s.Phase != task.Running || s.Lease.ID != c.Lease {
		return false, task.ErrLeaseLost
	}
	if limit := a.limits.ArtifactSize; c.Size > uint64(limit) {
		return false, &FieldError{Field: "size", Reason: "LIMIT", Max: limit}
	}
	if err := a.artifactRoom(tx, c); err != nil {
		return false, err
	}
	row, err := tx.Artifact(c.Sum)
	if errors.Is(err, store.ErrNotFound) {
		return false, a.artifactQuota(tx, c)
	}
	if err != nil || row.State != store.ArtifactKept || row.Size != c.Size {
		return false, err
	}
	return ownsArtifact(tx, s.Agent, c.Sum)
}

// artifactRoom refuses one more artifact to a task that has as many as it may.
func (a *App) artifactRoom(tx *store.Read, c PutArtifact) error {
	refs, err := tx.ArtifactsOf(c.Task)
	if err != nil {
		return err
	}
	limit := a.limits.ArtifactsPerTask
	if len(refs) < limit || slices.ContainsFunc(refs, func(r store.ArtifactRef) bool { return r.Sum == c.Sum }) {
		return nil
	}
	return &QuotaError{What: "artifacts_of_task", Max: int64(limit)}
}

// artifactQuota refuses new bytes for which the account has no room.
func (a *App) artifactQuota(tx *store.Read, c PutArtifact) error {
	limit := uint64(a.limits.ArtifactBytes)
	if used := tx.ArtifactBytes(); used > limit || c.Size > limit-used {
		return &QuotaError{What: "artifact_bytes", Max: a.limits.ArtifactBytes}
	}
	return nil
}

// ownsArtifact reports whether a task of the agent has the artifact.
func ownsArtifact(tx *store.Read, agent string, sum store.Sum) (owns bool, err error) {
	scanned := tx.ArtifactHolders(sum, func(id string) bool {
		var s task.State
		s, err = tx.Task(id)
		owns = err == nil && s.Agent == agent
		return err == nil && !owns
	})
	return owns, errors.Join(scanned, err)
}

// storeArtifact takes the bytes in and gives them to the task.
func (a *App) storeArtifact(ctx context.Context, p policy.Principal, account string, c PutArtifact, body io.Reader) (ArtifactView, error) {
	var view ArtifactView
	w, err := a.blobs.Create(account)
	if err != nil {
		return view, err
	}
	defer func() { _ = w.Discard() }() // what stays all the same is swept
	if err := receive(ctx, w, body, c.Size); err != nil {
		return view, err
	}
	failpoint.Hit("artifact.received")
	if err := w.Seal(c.Sum); errors.Is(err, store.ErrBlobDiffers) {
		return view, &FieldError{Field: "sha256", Reason: "DIGEST_MISMATCH"}
	} else if err != nil {
		return view, err
	}
	unlock, err := a.locks.lock(ctx, account, c.Sum)
	if err != nil {
		return view, err
	}
	defer unlock()
	failpoint.Hit("artifact.sealed")
	if err := w.Keep(); err != nil {
		return view, err
	}
	failpoint.Hit("artifact.placed")
	if view, err = a.giveArtifact(ctx, p, account, c, true); err == nil {
		failpoint.Hit("artifact.committed")
	}
	return view, err
}

// receive copies exactly as many bytes as were announced.
func receive(ctx context.Context, to io.Writer, body io.Reader, size uint64) error {
	buffer := make([]byte, ArtifactChunk)
	for got := uint64(0); ; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, err := body.Read(buffer)
		if got += uint64(n); got > size || errors.Is(err, io.EOF) && got < size {
			return &FieldError{Field: "size", Reason: "DIGEST_MISMATCH", Max: int64(size)}
		}
		if _, failed := to.Write(buffer[:n]); failed != nil {
			return failed
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// giveArtifact gives an artifact to the task in one transaction. placed says
// that the bytes have just got their name, under the lock of the digest; if the
// transaction then refuses, they lose it again where nothing else wants them.
func (a *App) giveArtifact(ctx context.Context, p policy.Principal, account string, c PutArtifact, placed bool) (ArtifactView, error) {
	var view ArtifactView
	refused := false
	err := a.update(ctx, account, func(tx *store.Tx) (err error) {
		defer func() { refused = err != nil }()
		known, err := a.mayPut(tx.Read, p, c)
		if err != nil {
			return err
		}
		if !known && !placed {
			return ErrUnknownArtifact
		}
		// A task that has it keeps it under the words it came with first.
		if view, err = viewArtifact(tx.Read, c.Task, c.Sum); !errors.Is(err, store.ErrNotFound) {
			return err
		}
		err = tx.PutArtifact(c.Size, store.ArtifactRef{
			Sum: c.Sum, Task: c.Task, Name: c.Name, MediaType: c.MediaType, CreateTime: tx.Now(),
		})
		if err != nil {
			return err
		}
		view, err = viewArtifact(tx.Read, c.Task, c.Sum)
		return err
	})
	if err != nil && placed && refused {
		// Only where the refusal was ours is it certain that nothing was
		// committed; what else lies there without a row is swept in time.
		_ = a.forgetBytes(context.WithoutCancel(ctx), account, c.Sum)
	}
	return view, err
}

// forgetBytes removes bytes that have no row. Call it under the lock.
func (a *App) forgetBytes(ctx context.Context, account string, sum store.Sum) error {
	err := a.store.View(ctx, account, func(tx *store.Read) error {
		_, err := tx.Artifact(sum)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return a.blobs.Remove(account, sum)
	}
	return err
}
