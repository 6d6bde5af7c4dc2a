package beckon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectinprocess"
	"github.com/google/go-cmp/cmp"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
)

// pagesOf answers a bootstrap with one thread and pulls with the deltas given.
func pagesOf(t *testing.T, deltas ...*v1.Delta) *scripted {
	t.Helper()
	return &scripted{
		pages: []any{&v1.BootstrapResponse{
			Put:    []*v1.Entity{entity(t, v1.EntityKind_ENTITY_KIND_THREAD_HEADER, "thr", 1, &v1.Thread{Id: "thr", Title: "kept"})},
			Cursor: []byte("c1"), Complete: true, AsOf: []byte("c1"), Epoch: []byte("e"),
		}},
		pulls: deltas,
	}
}

// openInbox opens the file as a program does that has just been started.
func openInbox(t *testing.T, profile, file string, s beckonv1connect.SyncServiceHandler) *beckon.Inbox {
	t.Helper()
	srv := connect.NewServer()
	beckonv1connect.RegisterSyncServiceHandler(srv, s)
	if r, ok := s.(refusing); ok {
		beckonv1connect.RegisterTokenServiceHandler(srv, refusingTokens{err: r.err})
	}
	p := must(beckon.OpenPerson(profile, beckon.Options{Transport: connectinprocess.New(srv)}))(t)
	t.Cleanup(p.Close)
	return must(p.OpenInbox(file))(t)
}

func threadsOf(i *beckon.Inbox) (out []string) {
	for _, th := range i.Threads() {
		out = append(out, th.GetTitle())
	}
	return out
}

// A program that is started again shows at once what it knew, asks only for what
// has changed, and keeps that; nobody else may read it.
func TestOpenInbox_GoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	f := newFake()
	_, profile := f.claim(t, f.serve(t, "h1"))
	file := filepath.Join(t.TempDir(), "inbox")

	first := openInbox(t, profile, file, pagesOf(t, changes("c2", false)))
	if len(first.Threads()) > 0 || !first.LevelTime().IsZero() {
		t.Error("an inbox without a file knows something")
	}
	before := time.Now()
	if err := first.Sync(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if info := must(os.Stat(file))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}

	s := pagesOf(t, changes("c3", false, entity(t, v1.EntityKind_ENTITY_KIND_THREAD_HEADER, "new", 2, &v1.Thread{Id: "new", Title: "new"})))
	second := openInbox(t, profile, file, s)
	if diff := cmp.Diff([]string{"kept"}, threadsOf(second)); diff != "" {
		t.Errorf("before anything was asked:\n%s", diff)
	}
	if at := second.LevelTime(); at.Before(before) || at.After(time.Now()) {
		t.Errorf("level at %v", at)
	}
	if err := second.Sync(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"after c2"}, s.asked); diff != "" {
		t.Errorf("asked:\n%s", diff)
	}
	if third := openInbox(t, profile, file, pagesOf(t)); len(third.Threads()) != 2 {
		t.Errorf("third: %v", threadsOf(third))
	}
}

// Following writes the file seldom, and once more at its end: what came last is
// in it.
func TestOpenInbox_FollowKeepsWhatCameLast(t *testing.T) {
	t.Parallel()
	f := newFake()
	_, profile := f.claim(t, f.serve(t, "h1"))
	file := filepath.Join(t.TempDir(), "inbox")
	last := entity(t, v1.EntityKind_ENTITY_KIND_THREAD_HEADER, "last", 2, &v1.Thread{Id: "last", Title: "last"})
	inbox := openInbox(t, profile, file, pagesOf(t, changes("c2", false), changes("c3", false, last)))
	enough := errors.New("enough")
	err := inbox.Follow(t.Context(), func() error {
		if len(inbox.Threads()) == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(threadsOf(inbox), threadsOf(openInbox(t, profile, file, pagesOf(t)))); diff != "" {
		t.Errorf("held (-) and kept (+):\n%s", diff)
	}
}

// What cannot be read as this device's own is an empty inbox, and the next Sync
// makes a good file of it.
func TestOpenInbox_OfNoUse(t *testing.T) {
	t.Parallel()
	f := newFake()
	_, profile := f.claim(t, f.serve(t, "h1"))
	other := filepath.Join(t.TempDir(), "other.profile.json")
	who := profileAt(t, profile)
	who.Installation += "x"
	if err := os.WriteFile(other, must(json.Marshal(who))(t), 0o600); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(t.TempDir(), "inbox")
	if err := openInbox(t, profile, good, pagesOf(t, changes("c2", false))).Sync(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	raw := must(os.ReadFile(good))(t)
	changed := bytes.Clone(raw)
	changed[len(changed)/2]++
	for name, c := range map[string]struct {
		profile string
		raw     []byte
	}{
		"empty":      {profile, nil},
		"noise":      {profile, []byte("no inbox at all")},
		"cut":        {profile, raw[:len(raw)-1]},
		"only begun": {profile, raw[:20]},
		"changed":    {profile, changed},
		"another's":  {other, raw},
	} {
		file := filepath.Join(t.TempDir(), "inbox")
		if err := os.WriteFile(file, c.raw, 0o600); err != nil {
			t.Fatal(err)
		}
		inbox := openInbox(t, c.profile, file, pagesOf(t, changes("c2", false)))
		if len(inbox.Threads()) > 0 {
			t.Errorf("%s: shows %v", name, threadsOf(inbox))
		}
		if err := inbox.Sync(t.Context(), 0); err != nil || len(inbox.Threads()) != 1 {
			t.Errorf("%s: %v, %v", name, err, threadsOf(inbox))
		}
		if again := openInbox(t, c.profile, file, pagesOf(t)); len(again.Threads()) != 1 {
			t.Errorf("%s: the file was not made good", name)
		}
	}
}

// refusing answers as a server that has revoked the device.
type refusing struct {
	beckonv1connect.UnimplementedSyncServiceHandler
	err error
}

func (r refusing) Pull(context.Context, *v1.PullRequest) (*v1.PullResponse, error) { return nil, r.err }

func (r refusing) Watch(context.Context, *v1.WatchRequest, beckonv1connect.SyncServiceWatchServerStream) error {
	return r.err
}

// refusingTokens is the same server, asked for new tokens.
type refusingTokens struct {
	beckonv1connect.UnimplementedTokenServiceHandler
	err error
}

func (r refusingTokens) RefreshToken(context.Context, *v1.RefreshTokenRequest) (*v1.RefreshTokenResponse, error) {
	return nil, r.err
}

// A device that was removed keeps nothing of the account; one whose server is
// away keeps it all.
func TestOpenInbox_RemovedWithItsDevice(t *testing.T) {
	t.Parallel()
	revoked := refusal(connect.CodeUnauthenticated, &v1.ErrorInfo{Reason: beckon.ReasonRevoked})
	away := refusal(connect.CodeInternal, &v1.ErrorInfo{Reason: "INTERNAL"})
	read := map[string]func(*beckon.Inbox) error{
		"sync":   func(i *beckon.Inbox) error { return i.Sync(context.Background(), 0) },
		"follow": func(i *beckon.Inbox) error { return i.Follow(context.Background(), func() error { return nil }) },
	}
	for name, c := range map[string]struct {
		err  error
		by   string
		kept bool
	}{
		"revoked, sync":   {revoked, "sync", false},
		"revoked, follow": {revoked, "follow", false},
		"away, sync":      {away, "sync", true},
	} {
		f := newFake()
		_, profile := f.claim(t, f.serve(t, "h1"))
		file := filepath.Join(t.TempDir(), "inbox")
		if err := openInbox(t, profile, file, pagesOf(t, changes("c2", false))).Sync(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		inbox := openInbox(t, profile, file, refusing{err: c.err})
		if err := read[c.by](inbox); err == nil {
			t.Errorf("%s: no error", name)
		}
		_, err := os.Stat(file)
		if gone := errors.Is(err, fs.ErrNotExist); gone == c.kept || len(inbox.Threads()) > 0 != c.kept {
			t.Errorf("%s: file gone %v, shows %v", name, gone, threadsOf(inbox))
		}
	}
}
