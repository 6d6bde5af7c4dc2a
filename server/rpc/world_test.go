package rpc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/auth"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/rpc"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

// world is a server with an account that has everything a call may name.
type world struct {
	t     *testing.T
	app   *app.App
	store *store.Store
	srv   *connect.Server
	auth  *auth.Authenticator
	// rates belong to the server.
	limits policy.Limits

	own side
}

// side is one account as its callers know it.
type side struct {
	account string
	phone   device
	// probation and victim are devices of the same account.
	probation, victim device
	terminal          device
	agent, other      worker
}

// device is an installation with its credential.
type device struct {
	policy.Principal

	id            string
	key, approval *ecdsa.PrivateKey
	token         string
	refresh       string
}

// worker is an agent with what it works on: one task in its hands, one that is
// ready, and a question.
type worker struct {
	id, keyID, token, taskToken string
	task, lease, thread, ready  string
	asked                       decision.State
	// grant permits what was approved; effect was begun without one.
	grant, effect string
}

// newWorld builds a server; limits may be nil.
func newWorld(t *testing.T, change ...func(*policy.Limits)) *world {
	t.Helper()
	w := &world{t: t, limits: policy.BenchLimits()}
	for _, c := range change {
		c(&w.limits)
	}
	w.wire()
	w.own = w.newSide("own")
	return w
}

// fresh is the same server with a new account for the caller: accounts know
// nothing of each other, and compiling the contract's rules takes longest.
func (w *world) fresh(t *testing.T) *world {
	t.Helper()
	own := *w
	own.t = t
	own.own = own.newSide("own")
	return &own
}

// wire builds the server around an empty store.
func (w *world) wire() {
	w.t.Helper()
	st, err := store.Open(w.t.Context(), memstore.New(), store.Config{})
	check(w.t, err)
	w.t.Cleanup(func() { _ = st.Close() })
	master, err := credential.NewKey(make([]byte, credential.KeySize))
	check(w.t, err)
	keys, err := credential.DeriveKeys(master, 1)
	check(w.t, err)
	issuer, err := auth.NewIssuer(auth.Config{
		Name: st.ServerID(), Audience: "beckon", Epoch: st.EpochNumber, Now: time.Now, Random: rand.Reader,
		Access: auth.KeyRing{Current: auth.SigningKey{ID: "a", Key: keys.Access}},
		Tap:    auth.KeyRing{Current: auth.SigningKey{ID: "t", Key: keys.Tap}},
		Permit: auth.SigningKey{ID: "p", Key: keys.Permit},
	})
	check(w.t, err)
	w.store = st
	w.app = app.New(app.Config{Store: st, Blobs: memstore.NewBlobs(time.Now), Keys: keys, Tokens: auth.NewGrants(issuer), Limits: w.limits})
	w.auth = auth.NewAuthenticator(issuer, w.app)
	w.srv, err = rpc.NewServer(w.config())
	check(w.t, err)
}

func (w *world) config() rpc.Config {
	return rpc.Config{
		App: w.app, Auth: w.auth, Table: policy.Table(), Rates: rpc.NewRates(w.limits, time.Now), LogKey: make([]byte, 32),
	}
}

func (w *world) newSide(name string) side {
	w.t.Helper()
	ctx := w.t.Context()
	link, err := w.app.AddAccount(ctx, policy.Principal{Kind: policy.Operator})
	check(w.t, err)
	s := side{}
	s.account, _ = store.AccountKey(link.Account)
	s.phone = w.newDevice(store.PlatformIOS)
	claimed, err := w.app.ClaimServer(ctx, app.ClaimServer{Secret: link.Secret.Secret(), Device: w.describe(s.phone, store.PlatformIOS)})
	check(w.t, err)
	s.phone.admit(s.account, claimed.Installation.ID, policy.Installation)
	s.phone.token, s.phone.refresh = claimed.Tokens.Access.Reveal(), claimed.Tokens.Refresh.Reveal()
	s.probation = w.pair(s, store.PlatformIOS, true)
	s.victim = w.pair(s, store.PlatformIOS, true)
	s.terminal = w.pair(s, store.PlatformTerminal, false)
	s.agent, s.other = w.newWorker(s, name), w.newWorker(s, name+" other")
	return s
}

func (d *device) admit(account, id string, kind policy.Kind) {
	d.id = id
	d.Principal = policy.Principal{Kind: kind, Account: account, Installation: id}
}

func (w *world) newDevice(platform store.Platform) device {
	w.t.Helper()
	d := device{key: newKey(w.t)}
	if platform != store.PlatformTerminal {
		d.approval = newKey(w.t)
	}
	return d
}

func (w *world) describe(d device, platform store.Platform) app.NewDevice {
	w.t.Helper()
	out := app.NewDevice{Platform: platform, Label: "Device", Locale: "en", PublicKey: public(w.t, d.key)}
	if d.approval != nil {
		out.ApprovalKey = public(w.t, d.approval)
	}
	return out
}

// pair lets one more device in by the way every device comes in.
func (w *world) pair(s side, platform store.Platform, probation bool) device {
	w.t.Helper()
	ctx := w.t.Context()
	offer, err := w.app.OfferPairing(ctx, s.phone.Principal)
	check(w.t, err)
	d := w.newDevice(platform)
	redeemed, err := w.app.RedeemPairing(ctx, app.RedeemPairing{
		Code: credential.NewSecret(offer.Code.Reveal()), Device: w.describe(d, platform),
	})
	check(w.t, err)
	inst, err := w.app.ConfirmPairing(ctx, s.phone.Principal, redeemed.Offer, redeemed.Digits)
	check(w.t, err)
	kind := policy.Installation
	if probation {
		kind = policy.Probation
		inst.State, inst.ProbationEnd = store.InstallationProbation, time.Now().Add(time.Hour)
		_, err := w.store.Update(ctx, s.account, func(tx *store.Tx) error { return tx.PutInstallation(inst) })
		check(w.t, err)
	}
	d.admit(s.account, inst.ID, kind)
	pairing, err := w.app.GetPairing(ctx, policy.Principal{}, app.GetPairing{Offer: redeemed.Offer, Redeem: redeemed.Redeem})
	check(w.t, err)
	d.token, d.refresh = pairing.Tokens.Access.Reveal(), pairing.Tokens.Refresh.Reveal()
	return d
}

func (w *world) newWorker(s side, name string) worker {
	w.t.Helper()
	ctx := w.t.Context()
	ceiling := decision.Irreversible
	link, err := w.app.CreateAgent(ctx, s.phone.Principal, app.CreateAgent{Key: name, Name: name, Ceiling: &ceiling})
	check(w.t, err)
	issued, err := w.app.IssueKey(ctx, s.phone.Principal, link.Agent, 0)
	check(w.t, err)
	a := worker{id: link.Agent, keyID: issued.Key.ID, token: issued.Secret.Reveal()}
	p := policy.Principal{Kind: policy.Agent, Agent: a.id, Key: a.keyID}
	held, err := w.app.CreateTask(ctx, p, app.CreateTask{Key: "held", Title: "Held", Claim: &app.ClaimOptions{ID: "claim-held"}})
	check(w.t, err)
	a.task, a.lease, a.thread = held.Task.ID, held.Task.Lease.ID, held.Task.Thread
	ready, err := w.app.CreateTask(ctx, p, app.CreateTask{Key: "ready", Title: "Ready"})
	check(w.t, err)
	a.ready = ready.Task.ID
	class := decision.WriteReversible
	a.asked, err = w.app.RequestDecision(ctx, p, app.RequestDecision{
		Held: app.Held{Task: a.task, Lease: a.lease}, Name: "first", Kind: decision.ConfirmAction, Title: "May I?",
		Items: []decision.Item{{ID: "it", Action: &decision.Action{
			App: "files", Operation: "write", ArgsJSON: []byte(`{"n":1}`), Class: &class,
		}, Options: []decision.Option{
			{ID: "approve", Label: "Approve", Kind: decision.AllowOnce}, {ID: "edit", Label: "Edit", Kind: decision.Edit},
			{ID: "deny", Label: "Deny", Kind: decision.RejectOnce},
		}}},
	})
	check(w.t, err)
	a.grant = w.granted(s, p, app.Held{Task: a.task, Lease: a.lease})
	public := decision.ReadPublic
	begun, err := w.app.BeginEffect(ctx, p, app.BeginEffect{
		Held: app.Held{Task: a.task, Lease: a.lease}, Name: "look",
		Action: &decision.Action{App: "web", Operation: "get", ArgsJSON: []byte(`{}`), Class: &public},
	})
	check(w.t, err)
	a.effect = begun.Effect.ID
	_, err = w.app.PutArtifact(ctx, p, app.PutArtifact{
		Held: app.Held{Task: a.task, Lease: a.lease}, Sum: sha256.Sum256([]byte(artifactText)), Size: uint64(len(artifactText)),
	}, strings.NewReader(artifactText))
	check(w.t, err)
	minted, err := w.app.MintTaskToken(ctx, p, app.Held{Task: a.task, Lease: a.lease})
	check(w.t, err)
	a.taskToken = minted.Token.Reveal()
	return a
}

// granted is an armed grant of a task: what the phone of its side approved.
func (w *world) granted(s side, p policy.Principal, held app.Held) string {
	w.t.Helper()
	class := decision.WriteReversible
	asked, err := w.app.RequestDecision(w.t.Context(), p, app.RequestDecision{
		Held: held, Name: "approved", Kind: decision.ConfirmAction, Title: "May I?",
		Items: []decision.Item{{ID: "it", Action: &decision.Action{
			App: "files", Operation: "write", ArgsJSON: []byte(`{"n":2}`), Class: &class,
		}}},
	})
	check(w.t, err)
	view, signature := w.sign(s.phone, asked, "approve", "yes")
	r, err := w.app.AnswerDecision(w.t.Context(), s.phone.Principal, app.AnswerDecision{
		Decision: asked.ID, Revision: asked.Revision, Asked: asked.Asked, View: decision.Digest(view), Key: "yes", Unlocked: true,
		Items: []decision.AnswerItem{{Item: "it", Options: []string{"approve"}}}, Proof: signature, Surface: decision.SurfaceApp,
	})
	check(w.t, err)
	return r.Decision.Grants[0].ID
}

// missing is the side of ids that have the right form, route to the caller's
// own account, and name nothing.
func (w *world) missing() side {
	s := w.own
	lost := func(id string) string { return id[:len(id)-4] + strings.Repeat("v", 4) }
	for _, d := range []*device{&s.phone, &s.probation, &s.victim, &s.terminal} {
		d.id = lost(d.id)
	}
	s.agent.id, s.agent.task, s.agent.thread = lost(s.agent.id), lost(s.agent.task), lost(s.agent.thread)
	s.agent.ready, s.agent.asked.ID = lost(s.agent.ready), lost(s.agent.asked.ID)
	s.agent.grant, s.agent.effect = lost(s.agent.grant), lost(s.agent.effect)
	s.agent.keyID, s.agent.lease = "0000000000", lost(s.agent.lease)
	return s
}

// sign proves an answer by the device's key.
func (w *world) sign(d device, asked decision.State, option, key string) (view, signature []byte) {
	w.t.Helper()
	seen, err := proof.ViewDigest(asked.ID, uint64(asked.Revision), nil)
	check(w.t, err)
	answer, err := proof.AnswerDigest([]proof.AnswerItem{{ItemID: "it", OptionIDs: []string{option}}})
	check(w.t, err)
	signature, err = proof.SignAnswer(d.key, proof.AnswerTuple{
		ServerID: w.app.ServerID(), Account: store.AccountID(d.Account), Installation: d.Installation,
		Decision: asked.ID, Revision: uint64(asked.Revision), Asked: proof.Digest(asked.Asked),
		View: seen, Answer: answer, AnswerKey: key,
	})
	check(w.t, err)
	return seen[:], signature
}

func (w *world) signRefresh(d device, attempt string) []byte {
	w.t.Helper()
	signature, err := proof.SignRefresh(d.key, proof.RefreshTuple{
		ServerID: w.app.ServerID(), Account: store.AccountID(d.Account), Installation: d.Installation,
		TokenHash: sha256.Sum256([]byte(d.refresh)), Attempt: attempt,
	})
	check(w.t, err)
	return signature
}

func (w *world) signElevate(d device, nonce string) []byte {
	w.t.Helper()
	signature, err := proof.SignElevate(d.approval, proof.ElevateTuple{
		ServerID: w.app.ServerID(), Account: store.AccountID(d.Account), Installation: d.Installation, Nonce: nonce,
	})
	check(w.t, err)
	return signature
}

// as is a client that presents a credential; an empty one is none.
func as(tr connect.Transport, token string) *connect.Client {
	return connect.NewClient(tr, func(next connect.ClientFunc) connect.ClientFunc {
		return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
			if info, ok := connect.CallInfoForClientContext(ctx); ok && token != "" {
				info.RequestHeader().Set("Authorization", "Bearer "+token)
			}
			return next(ctx, spec)
		}
	})
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	return key
}

func public(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	raw, err := proof.MarshalPublicKey(&key.PublicKey)
	check(t, err)
	return raw
}
