package outage_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/e2e/outage"
	"github.com/beckon-dev/beckon/push"
	apple "github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
	google "github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/push/provider/apns"
	"github.com/beckon-dev/beckon/push/provider/fcm"
	"github.com/beckon-dev/beckon/push/worker"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

const (
	topic   = "dev.beckon.app"
	senders = 16
	// keep is how many requests the stand-ins remember, so that their logs do
	// not grow where memory is measured.
	keep = 16
)

// place is a server with both vendors, one person with an address at each, and
// one agent.
type place struct {
	t       *testing.T
	network *outage.Network
	apple   *apple.Server
	google  *google.Server
	pixel   *device.Device
	store   *store.Store
	app     *app.App
	queues  map[string]*counted
	// took has what each vendor stored for a phone: how often each decision.
	took map[string]*tally

	account  string
	agent    policy.Principal
	held     app.Held
	asked    int
	asks     []asked
	stopLane func()
}

type fakeTokens struct{}

func (fakeTokens) Access(g app.AccessGrant) (credential.Secret, time.Time, error) {
	return credential.NewSecret("access"), g.Now.Add(time.Hour), nil
}

func (fakeTokens) Tap(g app.TapGrant) (string, error) { return "tap." + g.Decision + "." + g.Verb, nil }

func (fakeTokens) Permit(app.PermitGrant) (string, time.Time, error) { return "", time.Time{}, nil }

// newPlace is called inside a bubble. Its outbox is on the disk, where nothing of
// it counts as memory, or in memory, where commits cost no time.
func newPlace(t *testing.T, disk bool) *place {
	t.Helper()
	p := &place{t: t, network: outage.NewNetwork(), queues: map[string]*counted{}, took: map[string]*tally{
		push.LaneAPNs: {stored: map[string]*delivered{}}, push.LaneFCM: {stored: map[string]*delivered{}},
	}}
	engine := store.Engine(memstore.New())
	if disk {
		var err error
		engine, err = boltstore.Open(t.TempDir(), boltstore.Options{})
		check(t, err)
	}
	var err error
	p.store, err = store.Open(t.Context(), engine, store.Config{Clock: time.Now})
	check(t, err)
	t.Cleanup(func() { check(t, p.store.Close()) })
	master, err := credential.NewKey(make([]byte, credential.KeySize))
	check(t, err)
	keys, err := credential.DeriveKeys(master, 1)
	check(t, err)
	workers := map[string]*worker.Worker{}
	p.app = app.New(app.Config{
		Store: p.store, Keys: keys, Tokens: fakeTokens{}, Limits: policy.BenchLimits(),
		Apps: []app.PushApp{{ID: "app", Topics: []string{topic}}}, Clock: time.Now,
		WakePush: func(lane string) { workers[lane].Wake() },
	})
	for lane, provider := range map[string]push.Provider{push.LaneAPNs: p.startApple(), push.LaneFCM: p.startGoogle()} {
		p.queues[lane] = &counted{Outbox: p.app.Outbox()}
		w, err := worker.New(worker.Config{Lane: lane, Queue: p.queues[lane], Provider: provider, Senders: senders})
		check(t, err)
		workers[lane] = w
	}
	p.moveIn()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() { w.Run(ctx) })
	}
	p.stopLane = func() { cancel(); running.Wait() }
	t.Cleanup(p.stopLane)
	return p
}

func (p *place) startApple() push.Provider {
	p.t.Helper()
	s, err := apple.Start(context.Background(), apple.Config{Listen: p.network.Listen, Keep: keep, Log: p.took[push.LaneAPNs]})
	check(p.t, err)
	p.t.Cleanup(s.Close)
	key, p8, err := apple.NewProviderKey("KEY1234567", "TEAM123456")
	check(p.t, err)
	check(p.t, s.RegisterKey(key))
	check(p.t, s.AddDevice(apple.Registration{Token: deviceToken(), Topic: topic, Env: apple.Sandbox}))
	private, err := apns.ParseKey(p8)
	check(p.t, err)
	provider, err := apns.New(apns.Config{
		KeyID: "KEY1234567", TeamID: "TEAM123456", Key: private, RootCAs: pool(p.t, s.CAPEM()), Dial: p.network.Dial,
		Hosts: map[push.Env]string{push.EnvSandbox: s.URL(apple.Sandbox), push.EnvProduction: s.URL(apple.Production)},
	})
	check(p.t, err)
	p.t.Cleanup(provider.Close)
	p.apple = s
	return provider
}

func (p *place) startGoogle() push.Provider {
	p.t.Helper()
	s, err := google.Start(context.Background(), google.Config{Listen: p.network.Listen, Keep: keep, Log: p.took[push.LaneFCM]})
	check(p.t, err)
	p.t.Cleanup(s.Close)
	account, err := s.Issue("")
	check(p.t, err)
	p.pixel = device.New(device.Config{Name: "pixel", System: device.Android, Keep: keep})
	p.t.Cleanup(p.pixel.Close)
	check(p.t, p.pixel.Install(topic, nil))
	check(p.t, s.AddDevice(google.Registration{Token: registration(), App: topic, Phone: p.pixel}))
	provider, err := fcm.New(context.Background(), fcm.Config{
		ServiceAccount: account, Endpoint: s.URL() + "/v1", TokenURI: s.TokenURL(),
		RootCAs: pool(p.t, s.CAPEM()), Dial: p.network.Dial,
	})
	check(p.t, err)
	p.t.Cleanup(provider.Close)
	p.google = s
	return provider
}

func deviceToken() string  { return strings.Repeat("a1", 32) }
func registration() string { return "cdefghijklmnopqrstuvwx:APA91b" + strings.Repeat("A", 134) }

func pool(t *testing.T, pem []byte) *x509.CertPool {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatal("no CA")
	}
	return roots
}

// person makes an account with one phone.
func (p *place) person() policy.Principal {
	p.t.Helper()
	ctx := p.t.Context()
	link, err := p.app.AddAccount(ctx, policy.Principal{Kind: policy.Operator})
	check(p.t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(p.t, err)
	public, err := proof.MarshalPublicKey(&key.PublicKey)
	check(p.t, err)
	in, err := p.app.ClaimServer(ctx, app.ClaimServer{Secret: credential.NewSecret(link.Secret.Reveal()), Device: app.NewDevice{
		Platform: store.PlatformIOS, Label: "Phone", PublicKey: public, Locale: "en",
	}})
	check(p.t, err)
	account, _ := store.AccountKey(in.Account)
	return policy.Principal{Kind: policy.Installation, Account: account, Installation: in.Installation.ID}
}

// moveIn makes the person, the addresses and the agent.
func (p *place) moveIn() {
	p.t.Helper()
	ctx, me := p.t.Context(), p.person()
	p.account = me.Account
	for _, a := range []app.PutAddress{
		{Kind: push.KindAPNs, Env: push.EnvSandbox, Topic: topic, Token: deviceToken()},
		{Kind: push.KindFCMToken, Topic: topic, Token: registration()},
	} {
		_, err := p.app.PutAddress(ctx, me, a)
		check(p.t, err)
	}
	made, err := p.app.CreateAgent(ctx, me, app.CreateAgent{Key: "agent", Name: "Builder"})
	check(p.t, err)
	p.agent = policy.Principal{Kind: policy.Agent, Agent: made.Agent}
}

// perTask stays below what one task may have open.
const perTask = 20

// ask puts one more question to the person.
func (p *place) ask() decision.State {
	p.t.Helper()
	if p.asked%perTask == 0 {
		name := fmt.Sprintf("task %d", p.asked)
		made, err := p.app.CreateTask(p.t.Context(), p.agent, app.CreateTask{
			Key: name, Title: name, Claim: &app.ClaimOptions{ID: name, Length: 5 * time.Minute},
		})
		check(p.t, err)
		p.held = app.Held{Task: made.Task.ID, Lease: made.Claim.Task.Lease.ID}
	}
	p.asked++
	name := fmt.Sprintf("question %d", p.asked)
	d, err := p.app.RequestDecision(p.t.Context(), p.agent, app.RequestDecision{
		Held: p.held, Name: name, Kind: decision.ConfirmAction, Title: "Move this mail?", OnExpiry: decision.TellAgent,
		Items: []decision.Item{{ID: "it", Question: "Move this mail?", Action: &decision.Action{
			App: "mail", Operation: "move", Class: new(decision.WriteReversible), ArgsJSON: fmt.Appendf(nil, `{"message":%q}`, name),
		}}},
	})
	check(p.t, err)
	return d
}

func (p *place) withdraw(id string) {
	p.t.Helper()
	_, err := p.app.WithdrawDecision(p.t.Context(), p.agent, id, app.Obsolete)
	check(p.t, err)
}

// rows are the calls of one lane, by question.
func (p *place) rows(lane string) map[string]push.Delivery {
	p.t.Helper()
	out := map[string]push.Delivery{}
	check(p.t, p.store.View(context.Background(), p.account, func(tx *store.Read) error {
		all, err := tx.Deliveries()
		for _, d := range all {
			if d.Lane == lane && d.Kind == push.DecisionRequired {
				out[d.Decision] = d
			}
		}
		return err
	}))
	return out
}

// hosts are the names of a vendor's hosts.
func (p *place) hosts(lane string) []string {
	if lane == push.LaneAPNs {
		return []string{hostOf(p.apple.URL(apple.Sandbox)), hostOf(p.apple.URL(apple.Production))}
	}
	return []string{hostOf(p.google.URL())}
}

func hostOf(url string) string { return strings.TrimPrefix(url, "https://") }

// counted is the outbox with a count of the rows that are out of it.
type counted struct {
	app.Outbox

	mu         sync.Mutex
	held, most int
	claims     int
	// claimed, when set, runs once between a claim with rows and their re-read.
	claimed func()
}

// onceClaimed sets what runs after the next claim with rows.
func (c *counted) onceClaimed(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claimed = do
}

func (c *counted) Claim(ctx context.Context, lane string, n int, lease time.Duration) ([]push.Delivery, error) {
	rows, err := c.Outbox.Claim(ctx, lane, n, lease)
	c.mu.Lock()
	c.claims++
	c.held += len(rows)
	c.most = max(c.most, c.held)
	do := c.claimed
	if len(rows) > 0 {
		c.claimed = nil
	}
	c.mu.Unlock()
	if do != nil && len(rows) > 0 {
		do()
	}
	return rows, err
}

func (c *counted) Finish(ctx context.Context, results []worker.Result) error {
	err := c.Outbox.Finish(ctx, results)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.held -= len(results)
	}
	return err
}

func (c *counted) counts() (most, claims int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most, c.claims
}

var _ worker.Queue = (*counted)(nil)

// tally reads a stand-in's log as it is written.
type tally struct {
	mu     sync.Mutex
	stored map[string]*delivered
	sends  int
}

// delivered is what a phone would have got of one question.
type delivered struct {
	n          int
	first      time.Time
	identities map[string]bool
}

func (l *tally) Write(line []byte) (int, error) {
	var r struct {
		Time       time.Time
		Stored     bool
		Payload    json.RawMessage
		Data       map[string]string
		CollapseID string `json:"collapse_id"`
		ID         string `json:"apns_id"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return 0, err
	}
	raw := []byte(r.Data["beckon"])
	if r.Data == nil {
		var m struct{ Beckon json.RawMessage }
		_ = json.Unmarshal(r.Payload, &m)
		raw = m.Beckon
	}
	var b struct{ Kind, Decision string }
	_ = json.Unmarshal(raw, &b)
	if b.Kind != "PUSH_KIND_DECISION_REQUIRED" {
		return len(line), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sends++
	if r.Stored {
		got := l.stored[b.Decision]
		if got == nil {
			got = &delivered{first: r.Time, identities: map[string]bool{}}
			l.stored[b.Decision] = got
		}
		got.n++
		got.identities[r.CollapseID+" "+r.ID+" "+r.Data["tag"]] = true
	}
	return len(line), nil
}

func (l *tally) of(decision string) delivered {
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := l.stored[decision]; got != nil {
		return delivered{n: got.n, first: got.first, identities: maps.Clone(got.identities)}
	}
	return delivered{}
}

// requests is how many came in.
func (l *tally) requests() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sends
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
