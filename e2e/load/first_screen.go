package load

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// Screens is a client that opens an inbox for the first time.
type Screens struct {
	// Threads are in the inbox, Questions of them wait for an answer.
	Threads, Questions int
	Samples            int
}

// maxScreen is what a first screen may weigh on the wire.
const maxScreen = 32 << 10

// FirstScreen measures a bootstrap's first page over HTTP, from the call to its
// answer: one round trip, whatever lies behind it.
func FirstScreen(ctx context.Context, folder string, c Screens) (Result, error) {
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
	who := p.people[0]
	for i := range c.Questions {
		if _, err := p.ask(ctx, who, fmt.Sprint("question ", i)); err != nil {
			return Result{}, err
		}
	}
	rows, err := store.Open(ctx, rig.engine, store.Config{Clock: time.Now})
	if err != nil {
		return Result{}, err
	}
	if err := fillInbox(ctx, rows, who.device.Account, c.Threads); err != nil {
		return Result{}, err
	}
	rig.run(ctx)
	line := openWire(rig.server.URL(), 1)
	defer line.close()
	caller := line.services(0, who.access)
	took := make([]time.Duration, 0, c.Samples)
	weight := 0
	for range c.Samples {
		began := time.Now()
		page, err := caller.Bootstrap(ctx, &v1.BootstrapRequest{Scope: accountScope(), Window: v1.Window_WINDOW_HOME})
		took = append(took, time.Since(began))
		if err == nil {
			weight, err = weigh(page, c)
		}
		if err != nil {
			return Result{}, err
		}
	}
	return Result{
		What: fmt.Sprintf("first screen of an inbox of %d threads, %d questions: %.1f KiB", c.Threads, c.Questions, float64(weight)/1024),
		P50:  Percentile(took, 0.5), P99: Percentile(took, 0.99),
	}, nil
}

// weigh looks whether a screen is whole, and says what it weighs compressed.
func weigh(page *v1.BootstrapResponse, c Screens) (int, error) {
	kinds := map[v1.EntityKind]int{}
	for _, e := range page.GetPut() {
		kinds[e.GetKind()]++
	}
	if kinds[v1.EntityKind_ENTITY_KIND_THREAD_HEADER] == 0 || kinds[v1.EntityKind_ENTITY_KIND_DECISION_HEADER] != c.Questions || page.GetComplete() {
		return 0, fmt.Errorf("the first screen has %v", kinds)
	}
	b, err := proto.Marshal(page)
	if err != nil {
		return 0, err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(b); err != nil {
		return 0, err
	}
	if err := z.Close(); err != nil {
		return 0, err
	}
	if packed.Len() > maxScreen {
		err = errors.New("the first screen is too heavy")
	}
	return packed.Len(), err
}

// fillInbox stores threads that are done, as years leave them.
func fillInbox(ctx context.Context, rows *store.Store, account string, n int) error {
	for done := 0; done < n; {
		_, err := rows.Update(ctx, account, func(tx *store.Tx) error {
			for range min(fillBatch/4, n-done) {
				if err := putDone(tx, account, done); err != nil {
					return err
				}
				done++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func putDone(tx *store.Tx, account string, i int) error {
	threadID, err := store.NewID(store.KindThread, account, tx.Now(), rand.Reader)
	if err != nil {
		return err
	}
	taskID, err := store.NewID(store.KindTask, account, tx.Now(), rand.Reader)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("Review pull request %d of the payment service", i)
	err = tx.PutTask(task.State{
		ID: taskID, Thread: threadID, Title: title, Phase: task.Completed,
		Result: &task.Result{Summary: "Two findings, one of them worth a look before the release."}, CreateTime: tx.Now(), EndTime: tx.Now(),
	}, true)
	if err != nil {
		return err
	}
	return tx.PutThread(thread.State{
		ID: threadID, Title: title, Head: 12, NotableHead: 1, Read: thread.ReadMark{Generation: 1, Position: 1}, LastTask: taskID,
		Preview:    "The change keeps the old column and fills the new one in the background; two things stand out.",
		CreateTime: tx.Now(), UpdateTime: tx.Now().Add(-time.Duration(i) * time.Minute),
	}, true)
}
