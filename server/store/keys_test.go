package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/draft"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// recorder notes the tables that are written to.
type recorder struct {
	store.Engine
	tables map[store.Table]bool
}

func (r recorder) Update(ctx context.Context, account string, fn func(store.Writer) error) error {
	return r.Engine.Update(ctx, account, func(w store.Writer) error { return fn(noting{w, r.tables}) })
}

type noting struct {
	store.Writer
	tables map[store.Table]bool
}

func (n noting) Put(table store.Table, key, value []byte) error {
	n.tables[table] = true
	return n.Writer.Put(table, key, value)
}

// TestKeysOnDisk holds names of tables, forms of keys and values that are no
// records: they are the disk format as much as the records are.
func TestKeysOnDisk(t *testing.T) {
	t.Parallel()
	const account = "0123456789abcdef"
	engine := recorder{memstore.New(), map[store.Table]bool{}}
	now := time.Date(2027, 3, 1, 9, 0, 0, 1000, time.UTC)
	s, err := store.Open(t.Context(), engine, store.Config{
		Clock: func() time.Time { return now }, Random: bytes.NewReader(make([]byte, 64)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Update(t.Context(), account, func(tx *store.Tx) error { return everything(tx, account, now) }); err != nil {
		t.Fatal(err)
	}
	got := listing(t, engine)
	want := golden(t, "keys.txt", got)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("file (-), now (+):\n%s", diff)
	}
}

// everything writes to every table.
func everything(tx *store.Tx, account string, now time.Time) error {
	token, err := tx.PutTaskToken(store.TaskToken{ID: "token", Agent: "agt", Key: "key", Task: "tsk", Lease: "lease", Hash: []byte("h"), ExpireTime: now.Add(time.Hour)})
	if err == nil && token != 1 {
		err = fmt.Errorf("%d tokens", token)
	}
	_, err1 := tx.PutAddress(push.Address{ID: "adr", Kind: push.KindAPNs, App: "app", Token: "device"})
	return errors.Join(
		err, err1,
		tx.PutAccountRow(store.AccountRow{Key: account}),
		tx.PutTask(task.State{ID: "tsk", Thread: "thr", Agent: "agt", Phase: task.Running, Hold: task.Hold{Kind: task.HoldNone}, Lease: task.Lease{ID: "lease", ClaimID: "claim", Until: now.Add(time.Minute)}, SilenceLook: now.Add(30 * time.Minute)}, true),
		tx.PutTask(task.State{ID: "tsk2", Thread: "thr", Agent: "agt", Phase: task.Ready, Hold: task.Hold{Kind: task.HoldNone}, LookTime: now.Add(2 * time.Minute)}, true),
		tx.PutTask(task.State{ID: "tsk3", Thread: "thr", Agent: "agt", Phase: task.Waiting, Wait: task.Wait{Until: now.Add(time.Minute)}}, true),
		tx.PutThread(thread.State{ID: "thr", NotableHead: 1, UpdateTime: now}, true),
		tx.PutItem(thread.Item{ID: "itm", Thread: "thr", Position: 258}),
		tx.PutItemOf("tsk", "name", "itm"),
		tx.PutDecision(decision.State{ID: "dec", Task: "tsk", Thread: "thr", Status: decision.Pending, ExpireTime: now.Add(time.Hour)}),
		tx.PutAskedAs("tsk", "name", "dec"),
		tx.PutDecision(decision.State{ID: "dec2", Task: "tsk", Thread: "thr", Status: decision.Resolved, Grants: []decision.Grant{{ID: "grt", State: decision.Consumed}}}),
		tx.PutEffect(effect.State{ID: "eff", Task: "tsk", Thread: "thr", Key: "send", Status: effect.Begun, Generation: 1}),
		tx.PutArtifact(3, store.ArtifactRef{Sum: store.Sum{1, 2, 3}, Task: "tsk", Name: "a.txt"}),
		tx.PutArtifact(4, store.ArtifactRef{Sum: store.Sum{4, 5, 6}, Task: "tsk"}), tx.DropArtifact("tsk", store.Sum{4, 5, 6}),
		tx.PutDenied("tsk", decision.Digest{1, 2, 3}),
		tx.PutTimer(task.Timer{Task: "tsk", Key: "nap", At: now.Add(time.Hour)}),
		tx.PutSignal("tsk", task.Signal{ID: 258}),
		tx.PutCheckpoint("tsk", store.Checkpoint{Version: 258}),
		tx.PutOnce("agt", "Method", "key", store.Idempotent{ExpireTime: now.Add(time.Hour)}),
		tx.PutInstallation(store.Installation{ID: "ins", State: store.InstallationActive}),
		tx.PutInstallation(store.Installation{ID: "ins2", State: store.InstallationActive}),
		tx.PutInstallation(store.Installation{ID: "ins2", State: store.InstallationRevoked}),
		tx.PutFamily("ins", credential.Family{}),
		tx.PutUnlock("ins", store.Unlock{ExpireTime: now.Add(time.Minute)}),
		tx.PutAgent(store.Agent{ID: "agt"}),
		tx.PutLink(store.AgentLink{Agent: "agt"}),
		tx.PutKey(store.AgentKey{ID: "key", Agent: "agt"}),
		tx.PutSettings(store.Settings{Level: store.LevelIDs}),
		tx.PutOffer(store.Offer{ID: "off", State: store.OfferOpen, CodeHash: []byte("code")}),
		tx.PutDelivery(push.Delivery{ID: "dlv", Account: account, Subject: push.Subject{Task: "tsk"}, Lane: "apns", State: push.Pending, DueAt: now, CreatedAt: now}),
		tx.PutQuiet("adr", push.Quiet{Badge: "dlv"}),
		tx.PutUnread("thr", "tsk", 258),
		tx.PutDraft(draft.State{Subject: "thr", Thread: "thr", Rev: 1, Texts: []draft.Text{{Rev: 1, Installation: "ins", Words: "begun"}}}),
		named(tx, "mutation"), tx.PutView(thread.View{Thread: "thr", Anchor: 3, Installation: "ins"}),
		tx.Audit("ins", "kind", "subject", "outcome"),
	)
}

// named lets what follows be the work of a mutation.
func named(tx *store.Tx, mutation string) error {
	tx.Origin(mutation)
	return nil
}

// listing is every row as "table key = value", the values only where they are
// no records, whose bytes are held elsewhere.
func listing(t *testing.T, engine recorder) []byte {
	t.Helper()
	records := map[store.Table]bool{}
	for _, r := range store.Records() {
		records[store.Table(r.Name)] = true
	}
	var out bytes.Buffer
	err := engine.View(t.Context(), "", func(r store.Reader) error {
		out.Reset()
		for _, table := range slices.Sorted(maps.Keys(engine.tables)) {
			err := r.Scan(table, nil, nil, func(k, v []byte) bool {
				switch {
				case records[table]:
					fmt.Fprintf(&out, "%s %q\n", table, k)
				case table == "entity":
					fmt.Fprintf(&out, "%s %q = %x…\n", table, k, v[:9])
				default:
					fmt.Fprintf(&out, "%s %q = %q\n", table, k, v)
				}
				return true
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestTablesAreAll: a table that everything does not write to would have a
// form that no test holds.
func TestTablesAreAll(t *testing.T) {
	t.Parallel()
	engine := recorder{memstore.New(), map[store.Table]bool{}}
	s, err := store.Open(t.Context(), engine, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Update(t.Context(), "0123456789abcdef", func(tx *store.Tx) error { return everything(tx, "0123456789abcdef", tx.Now()) }); err != nil {
		t.Fatal(err)
	}
	var written []string
	for table := range engine.tables {
		written = append(written, string(table))
	}
	slices.Sort(written)
	if diff := cmp.Diff(declaredTables(t), written); diff != "" {
		t.Errorf("declared (-), written (+):\n%s", diff)
	}
}
