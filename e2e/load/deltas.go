package load

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/thread"
)

// Deltas is one way to read what changed out of much that did not.
type Deltas struct {
	// Stored entities are in the scope, Changed of them since the cursor.
	Stored, Changed int
	Samples         int
}

func (d Deltas) name() string {
	return fmt.Sprintf("delta read of %d entities, %d stored", d.Changed, d.Stored)
}

// fillBatch is how many entities one command stores.
const fillBatch = 5000

// DeltaRead measures a pull, in process, by a client that is a few changes
// behind in a thread of very many items. What changed lies anywhere among them;
// catching up has to cost what changed, whatever is stored.
func DeltaRead(ctx context.Context, folder string, d Deltas) (Result, error) {
	rig, err := openRig(ctx, folder, nil, 0)
	if err != nil {
		return Result{}, err
	}
	defer rig.close()
	p, err := rig.settle(ctx, 1, false)
	if err != nil {
		return Result{}, err
	}
	if err := p.begin(ctx, "work"); err != nil {
		return Result{}, err
	}
	// The same database by another door: a server would take weeks to say so much.
	rows, err := store.Open(ctx, rig.engine, store.Config{Clock: time.Now})
	if err != nil {
		return Result{}, err
	}
	who := p.people[0]
	made, err := rig.app.GetTask(ctx, who.device, who.work.Task)
	if err != nil {
		return Result{}, err
	}
	f := &filled{rows: rows, account: who.device.Account, thread: made.Task.Thread, chosen: mathrand.New(mathrand.NewPCG(1, 2))}
	if err := f.fill(ctx, d.Stored); err != nil {
		return Result{}, err
	}
	at, err := f.level(ctx, rig.app, who)
	if err != nil {
		return Result{}, err
	}
	took := make([]time.Duration, 0, d.Samples)
	for n := range d.Samples {
		if err := f.change(ctx, d.Changed, n); err != nil {
			return Result{}, err
		}
		began := time.Now()
		deltas, err := rig.app.Pull(ctx, who.device, app.Pull{At: []app.At{at}})
		took = append(took, time.Since(began))
		if err != nil {
			return Result{}, err
		}
		if got := len(deltas[0].Page.Put); got != d.Changed || deltas[0].Reset != changelog.NoReset {
			return Result{}, fmt.Errorf("%d entities came, of %d that changed", got, d.Changed)
		}
		at.Cursor, at.Horizon = deltas[0].Next, deltas[0].AsOf
	}
	return Result{
		What: d.name(), P50: Percentile(took, 0.5), P99: Percentile(took, 0.99),
	}, nil
}

// filled is a thread of very many items.
type filled struct {
	rows            *store.Store
	account, thread string
	items           []thread.Item
	chosen          *mathrand.Rand
}

func (f *filled) fill(ctx context.Context, n int) error {
	f.items = make([]thread.Item, 0, n)
	for len(f.items) < n {
		_, err := f.rows.Update(ctx, f.account, func(tx *store.Tx) error {
			for range min(fillBatch, n-len(f.items)) {
				id, err := store.NewID(store.KindItem, f.account, tx.Now(), rand.Reader)
				if err != nil {
					return err
				}
				it := thread.Item{
					ID: id, Thread: f.thread, Position: uint64(len(f.items) + 1), Role: thread.RoleAgent, Kind: thread.Message,
					CreateTime: tx.Now(), Parts: []thread.Part{{Text: "Half of the inbox of this week is sorted, and nothing in it was urgent."}},
				}
				if err := tx.PutItem(it); err != nil {
					return err
				}
				f.items = append(f.items, it)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// change gives n items another text, one in each n-th part of the thread.
func (f *filled) change(ctx context.Context, n, round int) error {
	_, err := f.rows.Update(ctx, f.account, func(tx *store.Tx) error {
		part := len(f.items) / n
		for i := range n {
			it := f.items[i*part+f.chosen.IntN(part)]
			it.Parts = []thread.Part{{Text: fmt.Sprintf("Sorted again, for the %d. time.", round+1)}}
			if err := tx.PutItem(it); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// level is the position of a client that has everything.
func (f *filled) level(ctx context.Context, a *app.App, who *person) (app.At, error) {
	at := app.At{Scope: changelog.ThreadScope(f.thread)}
	first, err := a.Bootstrap(ctx, who.device, app.Bootstrap{Scope: at.Scope})
	if err == nil && first.Complete {
		err = errors.New("the whole thread fits one page")
	}
	at.Cursor, at.Horizon = first.Cursor, first.AsOf
	return at, err
}
