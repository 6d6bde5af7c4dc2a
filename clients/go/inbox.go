package beckon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/replica"
)

// Inbox holds the account as its person's clients see it: threads, tasks, open
// and recent decisions, devices, agents, settings, counters. But for
// [Inbox.Resume] it is not safe for concurrent use.
type Inbox struct {
	// Trouble, where it is set, is called on the goroutine of [Inbox.Follow]: with
	// an error when the server could not be reached twice in a row, which goes on
	// being tried, and with nil once it is there again.
	Trouble func(error)

	api  *API
	who  Profile
	view *replica.View
	// file is where it is kept, as of savedAt; empty where it lives in memory only.
	file      string
	savedAt   time.Time
	levelTime time.Time
	// waking is how Resume reaches Follow.
	waking waking
}

// Inbox is a new, empty one, which lives in memory. See [Person.OpenInbox].
func (p *Person) Inbox() *Inbox { return &Inbox{api: p.API, who: p.who, view: replica.New()} }

// Sync reads until nothing is left to read. With a wait it stays open until
// something has changed, once it is level; the server cuts it to 25 s.
func (i *Inbox) Sync(ctx context.Context, wait time.Duration) error {
	if err := i.read(ctx, wait); err != nil {
		return i.forget(err)
	}
	return i.level()
}

func (i *Inbox) read(ctx context.Context, wait time.Duration) error {
	for {
		page, running := i.view.Bootstrap()
		var err error
		more := true
		if running {
			err = i.bootstrap(ctx, page)
		} else {
			more, err = i.pull(ctx, wait)
			wait = 0
		}
		if err != nil || !more {
			return err
		}
	}
}

func accountScope() *v1.Scope { return &v1.Scope{Scope: &v1.Scope_Account{Account: true}} }

func (i *Inbox) bootstrap(ctx context.Context, page []byte) error {
	res, err := i.api.Sync.Bootstrap(ctx, &v1.BootstrapRequest{Scope: accountScope(), Page: page})
	if ReasonOf(err) == "INVALID" && len(page) > 0 {
		i.view.ApplyReset(page) // the server has forgotten the page: start over
		return nil
	}
	if err != nil {
		return err
	}
	applied := i.view.ApplyBootstrap(page, replica.BootstrapPage{
		Put: entities(res.GetPut()), Page: res.GetPage(), Cursor: res.GetCursor(),
		Complete: res.GetComplete(), AsOf: res.GetAsOf(), Epoch: res.GetEpoch(),
	})
	if !applied {
		i.view.ApplyReset(page)
	}
	return nil
}

func (i *Inbox) pull(ctx context.Context, wait time.Duration) (more bool, err error) {
	cursor, horizon := i.view.At()
	res, err := i.api.Sync.Pull(ctx, &v1.PullRequest{
		At: []*v1.At{{Scope: accountScope(), Cursor: cursor, Horizon: horizon}}, Wait: durationpb.New(min(wait, 25*time.Second)),
	})
	if err != nil {
		return false, err
	}
	if len(res.GetDeltas()) != 1 {
		return false, fmt.Errorf("beckon: %d answers to one cursor", len(res.GetDeltas()))
	}
	if reset := res.GetDeltas()[0].GetReset_(); reset != nil {
		i.view.ApplyReset(cursor)
		return true, pause(ctx, reset.GetAfter().AsDuration())
	}
	changes := res.GetDeltas()[0].GetChanges()
	i.view.ApplyChanges(cursor, horizon, changesPage(changes))
	return changes.GetMore(), nil
}

func entities(in []*v1.Entity) []changelog.Entity {
	out := make([]changelog.Entity, len(in))
	for i, e := range in {
		out[i] = changelog.Entity{Key: keyOf(e.GetKind(), e.GetId()), Version: changelog.Seq(e.GetVersion()), Body: e.GetBody()}
	}
	return out
}

func tombstones(in []*v1.Tombstone) []changelog.Tombstone {
	out := make([]changelog.Tombstone, len(in))
	for i, t := range in {
		out[i] = changelog.Tombstone{Key: keyOf(t.GetKind(), t.GetId()), Version: changelog.Seq(t.GetVersion()), Evicted: t.GetEvicted()}
	}
	return out
}

func keyOf(kind v1.EntityKind, id string) changelog.Key {
	return changelog.Key{Kind: changelog.Kind(kind), ID: id}
}

// Decisions are the questions the account scope holds, open ones first and the
// newest of each first.
func (i *Inbox) Decisions() []*v1.DecisionHeader {
	out := all[v1.DecisionHeader](i.view, changelog.DecisionHeader)
	slices.SortStableFunc(out, func(a, b *v1.DecisionHeader) int {
		return cmp.Or(cmp.Compare(closed(a), closed(b)), b.GetCreateTime().AsTime().Compare(a.GetCreateTime().AsTime()))
	})
	return out
}

func closed(d *v1.DecisionHeader) int {
	if d.GetState() == v1.DecisionState_DECISION_STATE_PENDING {
		return 0
	}
	return 1
}

// Threads are the conversations, the one that changed last first.
func (i *Inbox) Threads() []*v1.Thread {
	out := all[v1.Thread](i.view, changelog.ThreadHeader)
	slices.SortStableFunc(out, func(a, b *v1.Thread) int {
		return b.GetUpdateTime().AsTime().Compare(a.GetUpdateTime().AsTime())
	})
	return out
}

// Tasks are the tasks, the newest first.
func (i *Inbox) Tasks() []*v1.TaskHeader {
	out := all[v1.TaskHeader](i.view, changelog.TaskHeader)
	slices.SortStableFunc(out, func(a, b *v1.TaskHeader) int {
		return b.GetCreateTime().AsTime().Compare(a.GetCreateTime().AsTime())
	})
	return out
}

// Agents are the links by which agents work in this account.
func (i *Inbox) Agents() []*v1.AgentLink { return all[v1.AgentLink](i.view, changelog.AgentLink) }

// Settings are the person's choices; the kill switch is one of them.
func (i *Inbox) Settings() *v1.Settings {
	for _, s := range all[v1.Settings](i.view, changelog.Settings) {
		return s
	}
	return &v1.Settings{ContentLevel: v1.ContentLevel_CONTENT_LEVEL_IDS}
}

// Counters is what the badge shows.
func (i *Inbox) Counters() *v1.Counters {
	for _, c := range all[v1.Counters](i.view, changelog.Counters) {
		return c
	}
	return &v1.Counters{}
}

// all decodes the entities of one kind. A body that cannot be read was made by
// a newer server; it is left out, as an unknown kind is.
func all[T any, M interface {
	*T
	proto.Message
}](v *replica.View, kind changelog.Kind) []M {
	var out []M
	for e := range v.All() {
		if e.Kind != kind {
			continue
		}
		var m M = new(T)
		if proto.Unmarshal(e.Body, m) == nil {
			out = append(out, m)
		}
	}
	return out
}
