package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// artifact says what a text is to be.
func artifact(held app.Held, text string) app.PutArtifact {
	return app.PutArtifact{Held: held, Sum: sha256.Sum256([]byte(text)), Size: uint64(len(text)), Name: "a.txt", MediaType: "text/plain"}
}

// put stores a text.
func (h *harness) put(held app.Held, text string) app.ArtifactView {
	h.t.Helper()
	v, err := h.app.PutArtifact(h.t.Context(), h.agent, artifact(held, text), strings.NewReader(text))
	check(h.t, err)
	return v
}

// taken is a download in memory.
type taken struct {
	app.ArtifactView

	bytes.Buffer
}

func (d *taken) Begin(v app.ArtifactView) error {
	d.ArtifactView = v
	return nil
}

func (d *taken) Chunk(b []byte) error {
	_, err := d.Write(b)
	return err
}

func (h *harness) download(p policy.Principal, c app.DownloadArtifact) (string, error) {
	var d taken
	err := h.app.DownloadArtifact(h.t.Context(), p, c, &d)
	return d.String(), err
}

// stored is what the medium holds: whole bytes, and unfinished ones.
func (h *harness) stored() (whole, unfinished int) {
	h.t.Helper()
	later := h.clock.Now().AddDate(1, 0, 0)
	check(h.t, h.config.Blobs.List(h.t.Context(), later, func(_ string, sums []store.Sum) error {
		whole += len(sums)
		return nil
	}))
	unfinished, err := h.config.Blobs.RemoveUnfinished(h.t.Context(), later)
	check(h.t, err)
	return whole, unfinished
}

func (h *harness) storedIs(whole int) {
	h.t.Helper()
	if w, u := h.stored(); w != whole || u != 0 {
		h.t.Errorf("the medium holds %d whole and %d unfinished, want %d and 0", w, u, whole)
	}
}

// unread fails a test in which it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("bytes were read that are there already")
	return 0, io.ErrUnexpectedEOF
}

func TestPutArtifact_ReadBack(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("a")
	text := strings.Repeat("0123456789", 20_000)
	v := h.put(held, text)
	if v.Task != s.ID || v.Size != 200_000 || v.Name != "a.txt" || v.MediaType != "text/plain" {
		t.Errorf("stored: %+v", v)
	}
	token := policy.Principal{Kind: policy.TaskToken, Agent: h.agent.Agent, Task: s.ID, Lease: held.Lease}
	for name, c := range map[string]struct {
		p    policy.Principal
		task string
	}{
		"person": {h.phone.Principal, ""}, "person by task": {h.phone.Principal, s.ID},
		"agent": {h.agent, s.ID}, "task token": {token, s.ID},
	} {
		for _, offset := range []uint64{0, 1, app.ArtifactChunk, 199_999, 200_000} {
			got, err := h.download(c.p, app.DownloadArtifact{Task: c.task, Sum: v.Sum, Offset: offset})
			if err != nil || got != text[offset:] {
				t.Errorf("%s from %d: %d bytes, %v", name, offset, len(got), err)
			}
		}
	}
	_, err := h.download(h.phone.Principal, app.DownloadArtifact{Sum: v.Sum, Offset: 200_001})
	sameError(t, err, &app.FieldError{Field: "offset", Reason: "LIMIT", Max: 200_000})
	h.storedIs(1)
}

// TestPutArtifact_Again: a repeat reads nothing and changes nothing, also for
// another task of the same agent.
func TestPutArtifact_Again(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("a")
	first := h.put(held, "text")
	renamed := artifact(held, "text")
	renamed.Name = "b.txt"
	again, err := h.app.PutArtifact(t.Context(), h.agent, renamed, unread{t})
	check(t, err)
	if again != first {
		t.Errorf("again: %+v, first: %+v", again, first)
	}
	other, second := h.startTask("b")
	got, err := h.app.PutArtifact(t.Context(), h.agent, artifact(second, "text"), nil)
	check(t, err)
	if got.Task != other.ID {
		t.Errorf("the other task got %+v", got)
	}
	h.view(h.account, func(tx *store.Read) error {
		if tx.ArtifactBytes() != 4 {
			t.Errorf("%d bytes are counted", tx.ArtifactBytes())
		}
		return nil
	})
	h.storedIs(1)
}

// TestPutArtifact_KnowingADigestProvesNothing: another agent gets at bytes only
// by having them.
func TestPutArtifact_KnowingADigestProvesNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("a")
	h.put(held, "secret")
	thief, _ := h.newAgent(h.account, "Thief")
	r, err := h.app.CreateTask(t.Context(), thief, app.CreateTask{Key: "k", Title: "t", Claim: &app.ClaimOptions{ID: "c"}})
	check(t, err)
	own := app.Held{Task: r.Task.ID, Lease: r.Task.Lease.ID}
	c := artifact(own, "secret")
	_, err = h.app.PutArtifact(t.Context(), thief, c, nil)
	sameError(t, err, app.ErrUnknownArtifact)
	_, err = h.app.PutArtifact(t.Context(), thief, c, strings.NewReader("guess!"))
	sameError(t, err, &app.FieldError{Field: "sha256", Reason: "DIGEST_MISMATCH"})
	_, err = h.download(thief, app.DownloadArtifact{Task: own.Task, Sum: c.Sum})
	sameError(t, err, store.ErrNotFound)
	_, err = h.app.PutArtifact(t.Context(), thief, c, strings.NewReader("secret"))
	check(t, err)
	got, err := h.download(thief, app.DownloadArtifact{Task: own.Task, Sum: c.Sum})
	if err != nil || got != "secret" {
		t.Errorf("%q, %v", got, err)
	}
	h.storedIs(1)
}

// TestPutArtifact_RefusedLeavesNothing: no row, no bytes, nothing unfinished.
func TestPutArtifact_RefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	cut := errors.New("the connection is gone")
	text := strings.Repeat("x", 1000)
	for name, tc := range map[string]struct {
		change func(h *harness, c *app.PutArtifact)
		body   io.Reader
		want   error
	}{
		"cut in the middle": {nil, io.MultiReader(strings.NewReader(text[:500]), iotest.ErrReader(cut)), cut},
		"ends too soon":     {nil, strings.NewReader(text[:999]), &app.FieldError{Field: "size", Reason: "DIGEST_MISMATCH", Max: 1000}},
		"no bytes at all":   {nil, strings.NewReader(""), &app.FieldError{Field: "size", Reason: "DIGEST_MISMATCH", Max: 1000}},
		"goes on too long":  {nil, io.MultiReader(strings.NewReader(text), strings.NewReader("x")), &app.FieldError{Field: "size", Reason: "DIGEST_MISMATCH", Max: 1000}},
		"never ends":        {nil, endless{}, &app.FieldError{Field: "size", Reason: "DIGEST_MISMATCH", Max: 1000}},
		"other bytes":       {nil, strings.NewReader(strings.Repeat("y", 1000)), &app.FieldError{Field: "sha256", Reason: "DIGEST_MISMATCH"}},
		"said to be too large": {func(_ *harness, c *app.PutArtifact) { c.Size = 32<<20 + 1 }, unread{t},
			&app.FieldError{Field: "size", Reason: "LIMIT", Max: 32 << 20}},
		"another lease": {func(_ *harness, c *app.PutArtifact) { c.Lease = "lse_other" }, unread{t}, task.ErrLeaseLost},
		"the task ended": {func(h *harness, c *app.PutArtifact) {
			_, err := h.app.FailTask(t.Context(), h.agent, app.FailTask{Held: c.Held, Failure: task.Failure{Code: "x"}})
			check(t, err)
		}, unread{t}, app.ErrTaskEnded},
		"every agent is stopped": {func(h *harness, _ *app.PutArtifact) {
			h.update(h.account, func(tx *store.Tx) error {
				return tx.PutSettings(store.Settings{Level: store.LevelIDs, KillSwitch: store.KillSwitch{By: "ins", Since: tx.Now()}})
			})
		}, unread{t}, app.ErrKillSwitch},
		"another task's lease": {func(h *harness, c *app.PutArtifact) { c.Task = h.createTask("other").ID }, unread{t}, task.ErrLeaseLost},
		"no such task":         {func(_ *harness, c *app.PutArtifact) { c.Task = "tsk_nothing" }, unread{t}, store.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			_, held := h.startTask("a")
			c := artifact(held, text)
			if tc.change != nil {
				tc.change(h, &c)
			}
			_, err := h.app.PutArtifact(t.Context(), h.agent, c, tc.body)
			if !errors.Is(err, tc.want) {
				sameError(t, err, tc.want)
			}
			h.storedIs(0)
			h.view(h.account, func(tx *store.Read) error {
				if _, err := tx.Artifact(c.Sum); !errors.Is(err, store.ErrNotFound) || tx.ArtifactBytes() != 0 {
					t.Errorf("row: %v, %d bytes counted", err, tx.ArtifactBytes())
				}
				return nil
			})
		})
	}
}

// endless never ends.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestPutArtifact_Limits(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(func(l *policy.Limits) { l.ArtifactBytes, l.ArtifactsPerTask = 10, 3 }))
	_, held := h.startTask("a")
	h.put(held, "12345")
	_, err := h.app.PutArtifact(t.Context(), h.agent, artifact(held, "123456"), unread{t})
	sameError(t, err, &app.QuotaError{What: "artifact_bytes", Max: 10})
	h.put(held, "54321") // exactly full
	h.put(held, "12345") // and what is there costs nothing
	h.put(held, "")
	_, second := h.startTask("b")
	h.put(second, "12345")
	_, err = h.app.PutArtifact(t.Context(), h.agent, artifact(held, "1"), unread{t})
	sameError(t, err, &app.QuotaError{What: "artifacts_of_task", Max: 3})
	h.put(held, "12345")
	h.storedIs(3)
}

// TestPutArtifact_RefusedAtTheEnd: what changed while the bytes came is judged
// again, and the bytes that had their name already lose it.
func TestPutArtifact_RefusedAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		meanwhile func(h *harness, held app.Held)
		want      error
		left      int
	}{
		"the lease was lost": {func(h *harness, held app.Held) {
			_, err := h.app.ReleaseTask(h.t.Context(), h.agent, held)
			check(h.t, err)
		}, task.ErrLeaseLost, 0},
		"the room went": {func(h *harness, held app.Held) { h.put(held, "123456789") }, &app.QuotaError{What: "artifact_bytes", Max: 10}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, withLimits(func(l *policy.Limits) { l.ArtifactBytes = 10 }))
			_, held := h.startTask("a")
			body := io.MultiReader(strings.NewReader("te"), hook(func() { tc.meanwhile(h, held) }), strings.NewReader("xt"))
			_, err := h.app.PutArtifact(t.Context(), h.agent, artifact(held, "text"), body)
			if !errors.Is(err, tc.want) {
				sameError(t, err, tc.want)
			}
			h.storedIs(tc.left)
		})
	}
}

// hook runs in the middle of an upload.
type hook func()

func (f hook) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

// TestPutArtifact_AtOnce: many uploads of the same bytes are one artifact.
func TestPutArtifact_AtOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(func(l *policy.Limits) { l.StreamsPerDevice, l.StreamsPerAccount = 100, 100 }))
	_, held := h.startTask("a")
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() { h.put(held, "text") })
	}
	running.Wait()
	h.storedIs(1)
	h.view(h.account, func(tx *store.Read) error {
		if tx.ArtifactBytes() != 4 {
			t.Errorf("%d bytes are counted", tx.ArtifactBytes())
		}
		return nil
	})
}

// TestPutArtifact_Streams: only so many transfers are open at a time, and a
// server that goes away begins no more.
func TestPutArtifact_Streams(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(func(l *policy.Limits) { l.StreamsPerDevice = 1 }))
	_, held := h.startTask("a")
	body := io.MultiReader(hook(func() {
		_, err := h.app.PutArtifact(t.Context(), h.agent, artifact(held, "more"), unread{t})
		sameError(t, err, &app.StreamsError{What: "device", Max: 1})
	}), strings.NewReader("text"))
	_, err := h.app.PutArtifact(t.Context(), h.agent, artifact(held, "text"), body)
	check(t, err)
	check(t, h.app.GoAway(t.Context()))
	_, err = h.app.PutArtifact(t.Context(), h.agent, artifact(held, "more"), unread{t})
	sameError(t, err, app.ErrLeaving)
}

// TestArtifact_Foreign: what may not be seen is not there, in the same words.
func TestArtifact_Foreign(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("a")
	v := h.put(held, "text")
	account := h.newAccount()
	stranger := h.newDevice(account, store.PlatformIOS)
	foreign, _ := h.newAgent(account, "Foreign")
	other, _ := h.newAgent(h.account, "Other")
	second, _ := h.startTask("b")
	token := policy.Principal{Kind: policy.TaskToken, Agent: h.agent.Agent, Task: second.ID, Lease: second.Lease.ID}
	for name, c := range map[string]struct {
		p    policy.Principal
		task string
		sum  store.Sum
	}{
		"a stranger":                   {stranger.Principal, "", v.Sum},
		"a stranger by task":           {stranger.Principal, s.ID, v.Sum},
		"an agent of another account":  {foreign, s.ID, v.Sum},
		"another agent":                {other, s.ID, v.Sum},
		"an agent that names no task":  {h.agent, "", v.Sum},
		"the token of another task":    {token, s.ID, v.Sum},
		"by a task that has it not":    {h.phone.Principal, second.ID, v.Sum},
		"the agent by another task":    {h.agent, second.ID, v.Sum},
		"a digest of nothing":          {h.phone.Principal, "", store.Sum{1}},
		"a digest of nothing by agent": {h.agent, s.ID, store.Sum{1}},
	} {
		if _, err := h.app.GetArtifact(t.Context(), c.p, c.task, c.sum); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: GetArtifact = %v", name, err)
		}
		if _, err := h.download(c.p, app.DownloadArtifact{Task: c.task, Sum: c.sum}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: DownloadArtifact = %v", name, err)
		}
	}
}

// TestDownloadArtifact_Damage: bytes that the medium has lost are an error for
// the operator, and uploading them again heals it.
func TestDownloadArtifact_Damage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("a")
	v := h.put(held, "text")
	check(t, h.config.Blobs.Remove(h.account, v.Sum))
	_, err := h.download(h.phone.Principal, app.DownloadArtifact{Sum: v.Sum})
	if !errors.Is(err, app.ErrArtifactDamaged) {
		t.Errorf("download = %v", err)
	}
	h.put(held, "text")
	if got, err := h.download(h.phone.Principal, app.DownloadArtifact{Sum: v.Sum}); err != nil || got != "text" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestDownloadArtifact_Revoked: a device that is none any more gets no further.
func TestDownloadArtifact_Revoked(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("a")
	v := h.put(held, strings.Repeat("x", 3*app.ArtifactChunk))
	second := h.newDevice(h.account, store.PlatformIOS)
	d := &revoking{revoke: func() {
		check(t, h.app.RevokeInstallation(t.Context(), second.Principal, second.Installation))
	}}
	err := h.app.DownloadArtifact(t.Context(), second.Principal, app.DownloadArtifact{Sum: v.Sum}, d)
	if !errors.Is(err, app.ErrRevoked) || d.Len() != app.ArtifactChunk {
		t.Errorf("%d bytes, %v", d.Len(), err)
	}
}

// revoking revokes its reader with the first chunk.
type revoking struct {
	taken

	revoke func()
}

func (r *revoking) Chunk(b []byte) error {
	r.revoke()
	return r.taken.Chunk(b)
}

// TestCompleteTask_Artifacts: a result names files that are there.
func TestCompleteTask_Artifacts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, other := h.startTask("b")
	elsewhere := h.put(other, "elsewhere")
	s, held := h.startTask("a")
	v := h.put(held, "text")
	complete := func(sums ...[32]byte) error {
		_, err := h.app.CompleteTask(t.Context(), h.agent, app.CompleteTask{Held: held, Result: &task.Result{Summary: "Done", Artifacts: sums}})
		return err
	}
	sameError(t, complete(v.Sum, store.Sum{1}), app.ErrUnknownArtifact)
	sameError(t, complete(elsewhere.Sum), app.ErrUnknownArtifact)
	check(t, complete(v.Sum))
	check(t, complete(v.Sum)) // a repeat
	r, err := h.app.GetTask(t.Context(), h.phone.Principal, s.ID)
	check(t, err)
	if fmt.Sprint(r.Task.Result.Artifacts) != fmt.Sprint([][32]byte{v.Sum}) {
		t.Errorf("result: %+v", r.Task.Result)
	}
	if got, err := h.download(h.phone.Principal, app.DownloadArtifact{Sum: v.Sum}); err != nil || got != "text" {
		t.Errorf("after the end: %q, %v", got, err)
	}
}

// TestPutArtifact_WaitsWithItsContext: an upload that waits for its turn ends
// with its caller.
func TestPutArtifact_WaitsWithItsContext(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("a")
	ctx, cancel := context.WithCancel(t.Context())
	body := io.MultiReader(strings.NewReader("te"), hook(cancel), strings.NewReader("xt"))
	_, err := h.app.PutArtifact(ctx, h.agent, artifact(held, "text"), body)
	sameError(t, err, context.Canceled)
	h.storedIs(0)
}

// TestRequestDecision_EvidenceIsThere: what a person is to look at can be
// looked at, and is what the card says.
func TestRequestDecision_EvidenceIsThere(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, other := h.startTask("other")
	h.put(other, "+ elsewhere")
	_, held := h.startTask("one")
	h.put(held, "+ here")
	longer := diffOf("+ here")
	longer.Bytes++
	ask := func(e decision.Evidence) error {
		_, err := h.app.RequestDecision(t.Context(), h.agent, app.RequestDecision{
			Held: held, Name: "q", Kind: decision.ConfirmAction, Title: "May I?",
			Items: []decision.Item{{ID: "it", Evidence: []decision.Evidence{e}, Action: &decision.Action{App: "files", Operation: "write", ArgsJSON: []byte(`{}`)}}},
		})
		return err
	}
	for name, e := range map[string]decision.Evidence{"no such": diffOf("+ none"), "another task's": diffOf("+ elsewhere"), "of another size": longer} {
		if err := ask(e); !errors.Is(err, app.ErrUnknownArtifact) {
			t.Errorf("%s: %v", name, err)
		}
	}
	check(t, ask(diffOf("+ here")))
}
