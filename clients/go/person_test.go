package beckon_test

import (
	"crypto/ecdsa"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/proof"
)

func TestClaimStoresTheDevice(t *testing.T) {
	t.Parallel()
	f := newFake()
	opts := f.serve(t, "h1")
	p, path := f.claim(t, opts)
	if p.AccountID() != "acc" || p.InstallationID() != "ins" || p.ServerID() != "srv" {
		t.Errorf("is %s of %s at %s", p.InstallationID(), p.AccountID(), p.ServerID())
	}
	info := must(os.Stat(path))(t)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("stored with %v", info.Mode())
	}
	if _, err := beckon.Claim(t.Context(), path, opts.Server+"/claim#bk_own_good", beckon.Device{}, opts); !errors.Is(err, beckon.ErrProfileExists) {
		t.Errorf("claimed over it: %v", err)
	}
	again := must(beckon.OpenPerson(path, beckon.Options{}))(t)
	defer again.Close()
	if _, err := again.Account.GetAccount(t.Context(), &v1.GetAccountRequest{}); err != nil {
		t.Error(err)
	}
	if n, _ := f.family(); n != 0 {
		t.Errorf("a good token was renewed %d times", n)
	}
}

// What cannot be stored spends nothing.
func TestClaimNeedsAPlace(t *testing.T) {
	t.Parallel()
	f := newFake()
	opts := f.serve(t, "h1")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := beckon.Claim(t.Context(), filepath.Join(file, "p.json"), opts.Server+"/claim#bk_own_good", beckon.Device{}, opts)
	f.with(func() {
		if err == nil || len(f.calls) != 0 {
			t.Errorf("%v after %v", err, f.calls)
		}
	})
	// A refused claim leaves a place that can be used again.
	path := filepath.Join(t.TempDir(), "p.json")
	if _, err := beckon.Claim(t.Context(), path, opts.Server+"/claim#bk_own_bad", beckon.Device{}, opts); beckon.ReasonOf(err) != "BAD_SECRET" {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left %v", err)
	}
	p := must(beckon.Claim(t.Context(), path, opts.Server+"/claim#bk_own_good", beckon.Device{}, opts))(t)
	p.Close()
}

// Many processes over one profile renew once, and never look like a theft.
func TestRefreshTogether(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.life = 10 * time.Second // about to end from the first moment on
	opts := f.serve(t, "h2c")
	_, path := f.claim(t, opts)
	f.with(func() {
		f.life = time.Hour
	})
	var group sync.WaitGroup
	for range 12 {
		group.Go(func() {
			p, err := beckon.OpenPerson(path, opts) // as a process of its own would
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			for range 3 {
				if _, err := p.Account.GetAccount(t.Context(), &v1.GetAccountRequest{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if n, dead := f.family(); dead || n != 1 {
		t.Errorf("%d rotations, dead: %v", n, dead)
	}
}

// The same under answers that get lost and tokens that live for a moment.
func TestRefreshUnderTrouble(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.life = time.Second // always to be renewed
	opts := f.serve(t, "h1")
	_, path := f.claim(t, opts)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 10 {
				p, err := beckon.OpenPerson(path, opts)
				if err != nil {
					t.Error(err)
					return
				}
				f.with(func() { f.lose += 2 })
				if err := p.Refresh(t.Context()); err != nil && beckon.ReasonOf(err) != beckon.ReasonUnreachable {
					t.Error(err)
				}
				p.Close()
			}
		})
	}
	group.Wait()
	f.with(func() { f.lose = 0 })
	p := must(beckon.OpenPerson(path, opts))(t)
	defer p.Close()
	err := p.Refresh(t.Context())
	if _, dead := f.family(); err != nil || dead {
		t.Errorf("logged out: %v", err)
	}
}

// A process that dies between sending and storing leaves the attempt, and the
// next one takes the same exchange up.
func TestAttemptIsOnDiskFirst(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.life = time.Second
	opts := f.serve(t, "h1")
	opts.Retry.Attempts = 1
	p, path := f.claim(t, opts)
	f.with(func() {
		f.lose = 1
	})
	before := profileAt(t, path)
	if _, err := p.Account.GetAccount(t.Context(), &v1.GetAccountRequest{}); err == nil {
		t.Fatal("the answer was lost and yet there is one")
	}
	after := profileAt(t, path)
	if n, _ := f.family(); after.Attempt == "" || after.RefreshToken != before.RefreshToken || n != 1 {
		t.Fatalf("attempt %q, %d rotations", after.Attempt, n)
	}
	again := must(beckon.OpenPerson(path, opts))(t)
	defer again.Close()
	if err := again.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := profileAt(t, path)
	if n, dead := f.family(); done.Attempt != "" || done.RefreshToken == before.RefreshToken || n != 1 || dead {
		t.Errorf("attempt %q, %d rotations", done.Attempt, n)
	}
}

// A token that the server does not know any more is renewed once.
func TestRefusedTokenIsRenewed(t *testing.T) {
	t.Parallel()
	f := newFake()
	p, _ := f.claim(t, f.serve(t, "h2c"))
	f.with(func() {
		clear(f.access)
	})
	_, err := p.Account.GetAccount(t.Context(), &v1.GetAccountRequest{})
	if n, _ := f.family(); err != nil || n != 1 {
		t.Errorf("%d rotations, %v", n, err)
	}
	f.with(func() {
		f.dead = true
		clear(f.access)
	})
	if _, err := p.Account.GetAccount(t.Context(), &v1.GetAccountRequest{}); !beckon.Ended(err) {
		t.Errorf("revoked, and yet %v", err)
	}
}

func TestAnswerIsSigned(t *testing.T) {
	t.Parallel()
	f := newFake()
	p, _ := f.claim(t, f.serve(t, "h2c"))
	asked := proof.Sum([]byte("asked"))
	d := &v1.Decision{Id: "dec", Revision: 2, AskedDigest: asked[:], Items: []*v1.DecisionItem{{
		Id: "q", Options: []*v1.Option{{Id: "yes"}, {Id: "no"}},
	}}}
	if _, err := beckon.Choose(d, "maybe", ""); !errors.Is(err, beckon.ErrNoOption) {
		t.Errorf("chose %v", err)
	}
	items := must(beckon.Choose(d, "yes", "words"))(t)
	must(p.Answer(t.Context(), d, beckon.Answer{Items: items, Surface: v1.Surface_SURFACE_TERMINAL, Interactive: true}))(t)
	var got *v1.AnswerDecisionRequest
	var key *ecdsa.PublicKey
	f.with(func() { got, key = f.answered, f.key })
	tuple := proof.AnswerTuple{
		ServerID: "srv", Account: "acc", Installation: "ins", Decision: "dec", Revision: 2, Asked: asked,
		View:      must(proof.ViewDigest("dec", 2, nil))(t),
		Answer:    must(proof.AnswerDigest([]proof.AnswerItem{{ItemID: "q", OptionIDs: []string{"yes"}, Text: "words"}}))(t),
		AnswerKey: got.GetAnswerKey(),
	}
	if err := proof.VerifyAnswer(key, tuple, got.GetProof()); err != nil {
		t.Error(err)
	}
	if !got.GetInteractive() || got.GetSurface() != v1.Surface_SURFACE_TERMINAL || len(got.GetAnswerKey()) < 20 {
		t.Errorf("sent %v", got)
	}
	if _, err := p.Answer(t.Context(), d, beckon.Answer{Items: items, Approval: true}); !errors.Is(err, beckon.ErrNoApprovalKey) {
		t.Errorf("signed with a key that is not there: %v", err)
	}
}

func TestProfilePath(t *testing.T) {
	t.Setenv("BECKON_CONFIG", "/etc/x")
	for name, want := range map[string]string{"": "/etc/x/default.profile.json", "work-2": "/etc/x/work-2.profile.json"} {
		if got := must(beckon.ProfilePath(name))(t); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
	for _, name := range []string{"../x", "a/b", ".", "a b", "-x"} {
		if _, err := beckon.ProfilePath(name); !errors.Is(err, beckon.ErrProfileName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAcknowledge(t *testing.T) {
	t.Parallel()
	f := newFake()
	p, _ := f.claim(t, f.serve(t, "h1"))
	for id, want := range map[string]time.Time{"dec_waits": time.Unix(60, 0), "dec_rang": {}} {
		if got, err := p.Acknowledge(t.Context(), &v1.Decision{Id: id}); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", id, got, err)
		}
	}
}
