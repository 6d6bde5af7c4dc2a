package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/thread"
)

// Pulls is one way to wait for changes.
type Pulls struct {
	// Accounts with Clients each, all blocked in a long poll.
	Accounts, Clients int
	// Rate is changes a second, spread over the accounts in turn.
	Rate int
	// Changes is how many.
	Changes int
}

func (p Pulls) name() string {
	if p.Clients > 1 {
		return fmt.Sprintf("commit to long poll, %d clients of one account, %d changes/s", p.Clients, p.Rate)
	}
	return fmt.Sprintf("commit to long poll, %d accounts with a client each, %d changes/s", p.Accounts, p.Rate)
}

// CommitToPull measures from the moment a change is durable to the moment a
// client has read the answer of its long poll, over HTTP. Every client has to
// see every change of its account, once.
func CommitToPull(ctx context.Context, folder string, c Pulls) (Result, error) {
	rig, err := openRig(ctx, folder, nil, 0)
	if err != nil {
		return Result{}, err
	}
	defer rig.close()
	p, err := rig.settle(ctx, c.Accounts, false)
	if err != nil {
		return Result{}, err
	}
	if err := p.begin(ctx, "work"); err != nil {
		return Result{}, err
	}
	rig.run(ctx)
	w := &watching{place: p, Pulls: c, line: openWire(rig.server.URL(), c.Accounts*c.Clients), pulled: make(chan pulled, 4*c.Accounts*c.Clients)}
	defer w.end()
	if err := w.start(ctx); err != nil {
		return Result{}, err
	}
	if err := w.quiet(ctx, c.Accounts*c.Clients); err != nil {
		return Result{}, err
	}
	span := w.measure(ctx)
	took, err := w.change(ctx)
	r := span.end(c.name(), c.Changes)
	r.P50, r.P99 = Percentile(took, 0.5), Percentile(took, 0.99)
	return r, err
}

// watching is clients in long polls.
type watching struct {
	*place
	Pulls

	line    *wire
	stop    context.CancelFunc
	running sync.WaitGroup
	pulled  chan pulled
}

// pulled is one change in the hands of one client. Changes are told apart by
// how many messages the thread has unread then.
type pulled struct {
	at      time.Time
	account int
	unread  int
	err     error
}

func (w *watching) start(ctx context.Context) error {
	ctx, w.stop = context.WithCancel(ctx)
	return each(w.Accounts*w.Clients, crowd, func(i int) error {
		account := i % w.Accounts
		caller := w.line.services(i, w.people[account].access)
		first, err := caller.Bootstrap(ctx, &v1.BootstrapRequest{Scope: accountScope()})
		if err != nil || !first.GetComplete() {
			return errors.Join(err, ctx.Err())
		}
		w.running.Go(func() { w.follow(ctx, caller, account, first) })
		return nil
	})
}

func (w *watching) end() {
	w.stop()
	w.running.Wait()
	w.line.close()
}

func accountScope() *v1.Scope { return &v1.Scope{Scope: &v1.Scope_Account{Account: true}} }

// follow pulls for ever.
func (w *watching) follow(ctx context.Context, caller services, account int, first *v1.BootstrapResponse) {
	at := &v1.At{Scope: accountScope(), Cursor: first.GetCursor(), Horizon: first.GetAsOf()}
	for seen := 0; ctx.Err() == nil; {
		got, err := caller.Pull(ctx, &v1.PullRequest{At: []*v1.At{at}, Wait: durationpb.New(25 * time.Second)})
		now := time.Now()
		if ctx.Err() != nil {
			return
		}
		if err == nil && got.GetDeltas()[0].GetChanges() == nil {
			err = errors.New("a cursor was refused")
		}
		if err != nil {
			w.pulled <- pulled{err: err}
			return
		}
		changes := got.GetDeltas()[0].GetChanges()
		at.Cursor, at.Horizon = changes.GetNext(), changes.GetAsOf()
		if len(changes.GetPut()) > 0 {
			unread, err := unreadIn(changes)
			if err != nil {
				w.pulled <- pulled{err: err}
				return
			}
			for seen < unread { // changes close together come as one
				seen++
				w.pulled <- pulled{at: now, account: account, unread: seen}
			}
		}
	}
}

// errNoThread: a page without the thread that changed.
var errNoThread = errors.New("a page without the thread that changed")

// unreadIn reads the one thread header of a page.
func unreadIn(changes *v1.Changes) (int, error) {
	for _, e := range changes.GetPut() {
		if e.GetKind() != v1.EntityKind_ENTITY_KIND_THREAD_HEADER {
			continue
		}
		var header v1.Thread
		if err := proto.Unmarshal(e.GetBody(), &header); err != nil {
			return 0, err
		}
		return int(header.GetUnread()), nil
	}
	return 0, errNoThread
}

// change lets the agent say something in one account after the other and takes
// what the clients get. The n-th change of an account makes n unread messages.
func (w *watching) change(ctx context.Context) ([]time.Duration, error) {
	var mu sync.Mutex
	committed := map[[2]int]time.Time{} // account, unread
	var all sync.WaitGroup
	var failed error
	done := make(chan error, 1)
	go func() {
		err := paced(ctx, w.Changes, w.Rate, func(i int) {
			all.Go(func() {
				account, nth := i%w.Accounts, i/w.Accounts+1
				err := w.say(ctx, w.people[account], nth)
				at := w.engine.committed(w.people[account].device.Account)
				mu.Lock()
				defer mu.Unlock()
				committed[[2]int{account, nth}], failed = at, errors.Join(failed, err)
			})
		})
		all.Wait()
		done <- errors.Join(err, failed)
	}()
	got, err := w.collect(ctx, done)
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	took := make([]time.Duration, 0, len(got))
	seen := map[[2]int]int{}
	for _, p := range got {
		key := [2]int{p.account, p.unread}
		at, known := committed[key]
		if seen[key]++; !known || seen[key] > w.Clients {
			return nil, errors.New("a client saw a change that was not made, or twice")
		}
		took = append(took, p.at.Sub(at))
	}
	return took, nil
}

// collect takes one answer for each change and client, while the changes are
// made.
func (w *watching) collect(ctx context.Context, done <-chan error) ([]pulled, error) {
	var got []pulled
	for made := false; !made || len(got) < w.Changes*w.Clients; {
		select {
		case p := <-w.pulled:
			if p.err != nil {
				return nil, p.err
			}
			got = append(got, p)
		case err := <-done:
			if err != nil {
				return nil, err
			}
			made = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return got, nil
}

func (w *watching) say(ctx context.Context, who *person, nth int) error {
	_, err := w.app.AppendItems(ctx, w.agent, app.AppendItems{Held: who.work, Items: []app.ItemDraft{{
		ClientID: fmt.Sprintf("m%d", nth), Role: thread.RoleAgent, Kind: thread.Message, Notable: true,
		Parts: []thread.Part{{Text: "Half of the inbox is sorted."}},
	}}})
	return err
}
