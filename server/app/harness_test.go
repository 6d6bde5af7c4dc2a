package app_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is the wall clock of a test; it stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

func (c *clock) Advance(d time.Duration) { c.Set(c.Now().Add(d)) }

// fakeTokens makes access and tap tokens that say in clear what they are for.
type fakeTokens struct{}

func (fakeTokens) Access(g app.AccessGrant) (credential.Secret, time.Time, error) {
	text := fmt.Sprintf("access %s %s %d", g.Account, g.Installation, g.AuthEpoch)
	return credential.NewSecret(text), g.Now.Add(10 * time.Minute), nil
}

func (fakeTokens) Tap(g app.TapGrant) (string, error) {
	return fmt.Sprintf("tap %s %s %s %d", g.Installation, g.Decision, g.Verb, g.Revision), nil
}

func (fakeTokens) Permit(g app.PermitGrant) (string, time.Time, error) {
	return fmt.Sprintf("permit %s %d %x", g.Effect, g.Generation, g.Digest[:4]), g.Now.Add(time.Minute), nil
}

// device is an installation with the keys only it holds.
type device struct {
	policy.Principal
	key, approval *ecdsa.PrivateKey
}

// harness is a server without a wire. Fields of an account are zero in one that
// nobody has claimed.
type harness struct {
	t     *testing.T
	app   *app.App
	store *store.Store
	// commits counts what the engine committed, so that a test can tell one
	// transaction from two.
	commits *countingEngine
	config  app.Config
	clock   *clock
	keys    credential.Keys
	// account is the routing key; phone its full installation, past its claim
	// window, with an approval key.
	account string
	phone   device
	// agent works in account with all scopes; agentToken is its key.
	agent      policy.Principal
	agentToken credential.Token
}

// harnessOption changes what the verbs stand on.
type harnessOption func(*app.Config)

// withLimits lowers or raises some limits.
func withLimits(change func(*policy.Limits)) harnessOption {
	return func(c *app.Config) { change(&c.Limits) }
}

// newEmptyHarness is a server that nobody has claimed.
func newEmptyHarness(t *testing.T, options ...harnessOption) *harness {
	t.Helper()
	c := &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	engine := &countingEngine{Engine: memstore.New()}
	st, err := store.Open(t.Context(), engine, store.Config{Clock: c.Now})
	check(t, err)
	t.Cleanup(func() { _ = st.Close() })
	master, err := credential.NewKey(make([]byte, credential.KeySize))
	check(t, err)
	keys, err := credential.DeriveKeys(master, 1)
	check(t, err)
	cfg := app.Config{Store: st, Blobs: memstore.NewBlobs(c.Now), Keys: keys, Tokens: fakeTokens{}, Limits: policy.DefaultLimits(), Clock: c.Now}
	for _, o := range options {
		o(&cfg)
	}
	return &harness{t: t, app: app.New(cfg), store: st, commits: engine, config: cfg, clock: c, keys: keys}
}

// restart is a new process on the same store: nothing in memory survives.
func (h *harness) restart() { h.app = app.New(h.config) }

// countingEngine counts the commands that were committed and the reads, and
// fails some of the latter on demand.
type countingEngine struct {
	store.Engine
	n, views atomic.Int64
	// failViews is how many of the next reads fail.
	failViews atomic.Int64
}

var errRead = errors.New("the medium does not read")

func (e *countingEngine) View(ctx context.Context, account string, fn func(store.Reader) error) error {
	e.views.Add(1)
	if e.failViews.Load() > 0 {
		e.failViews.Add(-1)
		return errRead
	}
	return e.Engine.View(ctx, account, fn)
}

func (e *countingEngine) Update(ctx context.Context, account string, fn func(store.Writer) error) error {
	err := e.Engine.Update(ctx, account, fn)
	if err == nil {
		e.n.Add(1)
	}
	return err
}

// newHarness is a claimed server: one account, one phone, one agent. The rows
// are written by hand, so that tests of other verbs do not stand on pairing.
func newHarness(t *testing.T, options ...harnessOption) *harness {
	t.Helper()
	h := newEmptyHarness(t, options...)
	h.account = h.newAccount()
	h.phone = h.newDevice(h.account, store.PlatformIOS)
	h.agent, h.agentToken = h.newAgent(h.account, "Builder")
	return h
}

// newAccount writes a claimed account and returns its routing key.
func (h *harness) newAccount() string {
	h.t.Helper()
	key, err := store.NewAccountKey(rand.Reader)
	check(h.t, err)
	h.update(key, func(tx *store.Tx) error {
		return tx.PutAccountRow(store.AccountRow{Key: key, Claimed: true, CreateTime: tx.Now()})
	})
	return key
}

// newDevice writes a full installation of an account. Terminals get no
// approval key.
func (h *harness) newDevice(account string, platform store.Platform) device {
	h.t.Helper()
	d := device{key: newKey(h.t)}
	h.update(account, func(tx *store.Tx) error {
		id, err := store.NewID(store.KindInstallation, account, tx.Now(), rand.Reader)
		if err != nil {
			return err
		}
		d.Principal = policy.Principal{Kind: policy.Installation, Account: account, Installation: id}
		inst := store.Installation{
			ID: id, Label: "Phone", Platform: platform, Locale: "en", PublicKey: publicKey(h.t, d.key),
			State: store.InstallationActive, Health: store.PushNone, CreateTime: tx.Now(),
		}
		if platform != store.PlatformTerminal {
			d.approval = newKey(h.t)
			inst.ApprovalKey = publicKey(h.t, d.approval)
		}
		return tx.PutInstallation(inst)
	})
	return d
}

// newAgent writes an agent of an account with a link that allows everything and
// a key.
func (h *harness) newAgent(account, name string) (policy.Principal, credential.Token) {
	h.t.Helper()
	token, err := credential.New(rand.Reader, credential.KindAgent)
	check(h.t, err)
	var id string
	h.update(account, func(tx *store.Tx) error {
		if id, err = store.NewID(store.KindAgent, account, tx.Now(), rand.Reader); err != nil {
			return err
		}
		if err := tx.PutAgent(store.Agent{ID: id, Name: name, CreateTime: tx.Now()}); err != nil {
			return err
		}
		if err := tx.PutLink(store.AgentLink{
			Agent: id, Name: name, CreateTime: tx.Now(), Ceiling: decision.Irreversible,
			Scopes: []store.AgentScope{store.ScopeTaskCreate, store.ScopeTaskWork, store.ScopeDecisionRequest, store.ScopeReadOwn, store.ScopeEffectWrite},
		}); err != nil {
			return err
		}
		hash := token.Hash()
		return tx.PutKey(store.AgentKey{
			ID: token.ID(), Agent: id, Hash: hash[:], CreateTime: tx.Now(), ExpireTime: tx.Now().AddDate(0, 0, 90),
		})
	})
	return policy.Principal{Kind: policy.Agent, Agent: id, Key: token.ID()}, token
}

// createTask makes a task of the harness's agent that nobody has claimed.
func (h *harness) createTask(title string) task.State {
	h.t.Helper()
	r, err := h.app.CreateTask(h.t.Context(), h.agent, app.CreateTask{Key: "create " + title, Title: title})
	check(h.t, err)
	return r.Task
}

// startTask makes a task that the harness's agent holds; Held names its lease.
func (h *harness) startTask(title string) (task.State, app.Held) {
	h.t.Helper()
	r, err := h.app.CreateTask(h.t.Context(), h.agent, app.CreateTask{
		Key: "start " + title, Title: title, Claim: &app.ClaimOptions{ID: "claim " + title},
	})
	check(h.t, err)
	return r.Task, app.Held{Task: r.Task.ID, Lease: r.Task.Lease.ID}
}

// ask asks for a yes to an action of a class in a held task.
func (h *harness) ask(held app.Held, name string, class decision.Class) decision.State {
	h.t.Helper()
	d, err := h.app.RequestDecision(h.t.Context(), h.agent, app.RequestDecision{
		Held: held, Name: name, Kind: decision.ConfirmAction, Title: "May I?",
		Items: []decision.Item{{ID: "it", Question: "Write it?", Action: &decision.Action{
			App: "files", Operation: "write", ArgsJSON: []byte(`{"name":"` + name + `"}`), Class: &class,
		}}},
		OnExpiry: decision.TellAgent,
	})
	check(h.t, err)
	return d
}

// answer signs an answer to every item of a decision with a device's key, as an
// unlocked phone does in its app.
func (h *harness) answer(d device, asked decision.State, option string) app.AnswerResult {
	h.t.Helper()
	return h.answerWith(d, asked, option, "")
}

// answerWith is answer with a text.
func (h *harness) answerWith(d device, asked decision.State, option, text string) app.AnswerResult {
	h.t.Helper()
	c := app.AnswerDecision{
		Decision: asked.ID, Revision: asked.Revision, Asked: asked.Asked,
		Key: "answer " + option + " " + asked.ID, Surface: decision.SurfaceApp, Interactive: true, Unlocked: true,
	}
	view, err := proof.ViewDigest(asked.ID, uint64(asked.Revision), nil)
	check(h.t, err)
	c.View = decision.Digest(view)
	var items []proof.AnswerItem
	for _, it := range asked.Items {
		c.Items = append(c.Items, decision.AnswerItem{Item: it.ID, Options: []string{option}, Text: text})
		items = append(items, proof.AnswerItem{ItemID: it.ID, OptionIDs: []string{option}, Text: text})
	}
	digest, err := proof.AnswerDigest(items)
	check(h.t, err)
	c.Proof, err = proof.SignAnswer(d.key, proof.AnswerTuple{
		ServerID: h.app.ServerID(), Account: store.AccountID(d.Account), Installation: d.Installation,
		Decision: c.Decision, Revision: uint64(c.Revision), Asked: proof.Digest(c.Asked), View: view,
		Answer: digest, AnswerKey: c.Key,
	})
	check(h.t, err)
	r, err := h.app.AnswerDecision(h.t.Context(), d.Principal, c)
	check(h.t, err)
	return r
}

// update writes rows by hand.
func (h *harness) update(account string, fn func(*store.Tx) error) {
	h.t.Helper()
	_, err := h.store.Update(context.Background(), account, fn)
	check(h.t, err)
}

// view reads rows by hand.
func (h *harness) view(account string, fn func(*store.Read) error) {
	h.t.Helper()
	check(h.t, h.store.View(context.Background(), account, fn))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	return key
}

func publicKey(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	raw, err := proof.MarshalPublicKey(&key.PublicKey)
	check(t, err)
	return raw
}
