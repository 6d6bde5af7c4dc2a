package phone

import (
	"bytes"
	"context"
	"encoding/base64"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/replica"
)

// Sync reads what changed in the account, takes alerts off the screen that nobody
// needs to look at any more, and sets the badge.
func (a *App) Sync(ctx context.Context) error { return a.SyncTo(ctx, "") }

// SyncTo is Sync that reaches the stamp a push named, "" for none.
func (a *App) SyncTo(ctx context.Context, asOf string) error {
	a.reading.Lock()
	defer a.reading.Unlock()
	if err := a.read(ctx, "", asOf); err != nil {
		return err
	}
	e := Event{Kind: Synced, Removed: a.tidy()}
	if err := a.countBadge(); err != nil {
		return err
	}
	a.list()
	badge := a.cfg.Device.Badge(a.cfg.Topic)
	e.Badge = &badge
	a.tell(e)
	return nil
}

// tidy removes the alerts of this app whose subject is handled; a.reading is held.
func (a *App) tidy() int {
	removed := 0
	for _, s := range a.cfg.Device.Shown(a.cfg.Topic) {
		p, err := a.mine(s.Notification)
		if err != nil || a.handled(p) {
			removed += a.cfg.Device.Remove(a.cfg.Topic, s.Key)
		}
	}
	return removed
}

// handled reports what the account says about the subject of a push.
func (a *App) handled(p *v1.PushPayload) bool {
	switch p.GetKind() {
	case v1.PushKind_PUSH_KIND_DECISION_REQUIRED:
		var d v1.DecisionHeader
		return !a.held("", changelog.DecisionHeader, p.GetDecision(), &d) || d.GetState() != v1.DecisionState_DECISION_STATE_PENDING
	case v1.PushKind_PUSH_KIND_WITHDRAW:
		return true
	case v1.PushKind_PUSH_KIND_TEST:
		return false // it is about the phone itself: the person puts it away
	default:
		return a.seen(p.GetThread(), p.GetTask())
	}
}

// seen reports whether the person has read how a task ended: what else is new in
// its thread does not keep a result on the screen.
func (a *App) seen(thread, task string) bool {
	var t v1.Thread
	if !a.held("", changelog.ThreadHeader, thread, &t) || t.GetUnread() == 0 {
		return true
	}
	var h v1.TaskHeader
	return a.held("", changelog.TaskHeader, task, &h) && h.GetEndPosition() > 0 &&
		t.GetReadMark().GetNotablePosition() >= h.GetEndPosition()
}

// countBadge applies the account's counters under the same rule as a push's.
func (a *App) countBadge() error {
	for e := range a.views[""].All() {
		var c v1.Counters
		if e.Kind != changelog.Counters || proto.Unmarshal(e.Body, &c) != nil {
			continue
		}
		next := Badge{Count: int(c.GetBadge()), Epoch: base64.RawURLEncoding.EncodeToString(a.views[""].Snapshot().Epoch), Version: uint64(e.Version)}
		return a.keepBadge(next)
	}
	a.showBadge()
	return nil
}

// held decodes an entity of a view and reports whether it is there.
func (a *App) held(thread string, kind changelog.Kind, id string, into proto.Message) bool {
	v, ok := a.views[thread]
	if !ok {
		return false
	}
	e, ok := v.Get(changelog.Key{Kind: kind, ID: id})
	return ok && proto.Unmarshal(e.Body, into) == nil
}

// read brings the view of a scope up to date, and up to a stamp where one is
// named. "" is the account. a.reading is held.
func (a *App) read(ctx context.Context, thread, asOf string) error {
	v, ok := a.views[thread]
	if !ok {
		v = replica.New()
		a.views[thread] = v
	}
	want, err := base64.RawURLEncoding.DecodeString(asOf)
	if err != nil {
		want = nil // a stamp is opaque; one that cannot be read names nothing
	}
	resets := 0
	for waited := false; ; {
		if page, running := v.Bootstrap(); running {
			err := a.bootstrap(ctx, v, thread, page)
			if refusedPage(err) && len(page) > 0 && resets < maxResets {
				resets++
				v.ApplyReset(page)
				continue
			}
			if err != nil {
				return err
			}
			continue
		}
		var wait time.Duration
		if waited {
			wait = pairWait
		}
		more, err := a.pull(ctx, v, thread, wait)
		if err != nil {
			return err
		}
		_, horizon := v.At()
		_, again := v.Bootstrap()
		switch {
		case more || again:
		case bytes.Compare(horizon, want) < 0 && !waited:
			waited = true // the push was ahead of this read
		default:
			return nil
		}
	}
}

// maxResets is how often one read begins again after a refused page token: a
// server that gives out tokens and refuses them is not asked for ever.
const maxResets = 3

// refusedPage reports that the server does not know a page token any more, which
// means the same as a Reset, at once; see PROTOCOL.md §5.
func refusedPage(err error) bool {
	info := infoOf(err)
	return info.GetReason() == "INVALID" && info.GetField() == "page"
}

func scopeOf(thread string) *v1.Scope {
	if thread == "" {
		return &v1.Scope{Scope: &v1.Scope_Account{Account: true}}
	}
	return &v1.Scope{Scope: &v1.Scope_ThreadId{ThreadId: thread}}
}

func (a *App) bootstrap(ctx context.Context, v *replica.View, thread string, page []byte) error {
	var res *v1.BootstrapResponse
	err := a.do(ctx, func(ctx context.Context, srv *server) error {
		var err error
		res, err = srv.sync.Bootstrap(ctx, &v1.BootstrapRequest{Scope: scopeOf(thread), Page: page})
		return err
	})
	if err != nil {
		return err
	}
	applied := v.ApplyBootstrap(page, replica.BootstrapPage{
		Put: entities(res.GetPut()), Page: res.GetPage(), Cursor: res.GetCursor(),
		Complete: res.GetComplete(), AsOf: res.GetAsOf(), Epoch: res.GetEpoch(),
	})
	if !applied {
		v.ApplyReset(page)
	}
	return nil
}

// pull applies one page of changes and reports whether there is more.
func (a *App) pull(ctx context.Context, v *replica.View, thread string, wait time.Duration) (bool, error) {
	cursor, horizon := v.At()
	var res *v1.PullResponse
	err := a.do(ctx, func(ctx context.Context, srv *server) error {
		var err error
		res, err = srv.sync.Pull(ctx, &v1.PullRequest{
			At: []*v1.At{{Scope: scopeOf(thread), Cursor: cursor, Horizon: horizon}}, Wait: durationpb.New(wait),
		})
		return err
	})
	if err != nil || len(res.GetDeltas()) != 1 {
		return false, err
	}
	delta := res.GetDeltas()[0]
	if reset := delta.GetReset_(); reset != nil {
		v.ApplyReset(cursor)
		return true, pause(ctx, reset.GetAfter().AsDuration())
	}
	c := delta.GetChanges()
	v.ApplyChanges(cursor, horizon, replica.ChangesPage{
		Put: entities(c.GetPut()), Del: tombstones(c.GetDel()), Next: c.GetNext(), More: c.GetMore(),
		AsOf: c.GetAsOf(), Epoch: c.GetEpoch(),
	})
	return c.GetMore(), nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func entities(in []*v1.Entity) []changelog.Entity {
	out := make([]changelog.Entity, 0, len(in))
	for _, e := range in {
		out = append(out, changelog.Entity{
			Key: changelog.Key{Kind: changelog.Kind(e.GetKind()), ID: e.GetId()}, Version: changelog.Seq(e.GetVersion()), Body: e.GetBody(),
		})
	}
	return out
}

func tombstones(in []*v1.Tombstone) []changelog.Tombstone {
	out := make([]changelog.Tombstone, 0, len(in))
	for _, t := range in {
		out = append(out, changelog.Tombstone{
			Key: changelog.Key{Kind: changelog.Kind(t.GetKind()), ID: t.GetId()}, Version: changelog.Seq(t.GetVersion()), Evicted: t.GetEvicted(),
		})
	}
	return out
}
