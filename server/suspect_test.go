package server_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/memstore"
)

// kept is a store that outlives the server on it.
type kept struct{ store.Engine }

func (kept) Close() error { return nil }

// fleet is an account with many phones.
type fleet struct {
	t      *testing.T
	ctx    context.Context
	engine store.Engine
	rows   *store.Store
	s      *running
	log    *terminal
	me     phone
	agent  api
	work   *v1.Claim
	wire   connect.Transport
	asked  int
}

// newFleet starts a server whose store survives it, with one account, one agent
// and no phone that can be called.
func newFleet(t *testing.T, options ...func(*server.Config)) *fleet {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	memory := memstore.New()
	t.Cleanup(func() { _ = memory.Close() })
	f := &fleet{t: t, ctx: ctx, engine: kept{memory}}
	f.start(options...)
	f.me = claim(t, f.s, f.wire)
	f.agent = f.me.agent(t, f.wire)
	f.work = held(t, f.agent, "fleet")
	var err error
	f.rows, err = store.Open(t.Context(), f.engine, store.Config{})
	check(t, err)
	return f
}

// start runs a server on the fleet's store, with the same master key.
func (f *fleet) start(options ...func(*server.Config)) {
	f.t.Helper()
	f.log = &terminal{}
	data := ""
	if f.s != nil {
		data = f.s.cfg.Data
	}
	f.s = start(f.t, append(options, func(c *server.Config) {
		c.Engine, c.Log = f.engine, slog.New(slog.NewJSONHandler(f.log, nil))
		if data != "" {
			c.Data = data
		}
	})...)
	f.wire = transports(f.t)[0].connect(f.t, f.s)
}

// restart is an operator who mends the configuration, and some minutes that have
// passed meanwhile.
func (f *fleet) restart(options ...func(*server.Config)) {
	f.t.Helper()
	check(f.t, f.s.stop())
	f.start(append(options, func(c *server.Config) {
		c.Clock = func() time.Time { return time.Now().Add(3 * time.Minute) }
	})...)
	f.me.api = as(f.wire, f.me.tokens.GetAccessToken())
}

// add writes phones by hand, registered a minute ago: pairing a hundred of them
// is another test's subject.
func (f *fleet) add(addresses ...push.Address) {
	f.t.Helper()
	key := strings.TrimPrefix(f.me.account, "acc_")
	_, err := f.rows.Update(f.ctx, key, func(tx *store.Tx) error {
		for _, a := range addresses {
			id, err := store.NewID(store.KindInstallation, key, tx.Now(), rand.Reader)
			if err != nil {
				return err
			}
			if err := tx.PutInstallation(store.Installation{
				ID: id, Label: a.Token, App: "beckon", Platform: store.PlatformIOS, PublicKey: point(f.t), Locale: "en",
				State: store.InstallationActive, Health: store.PushOK, CreateTime: tx.Now(),
			}); err != nil {
				return err
			}
			a.ID, a.Account, a.Installation, a.App = "adr_"+id, key, id, "beckon"
			a.RegisteredAt, a.State, a.AccountTag = tx.Now().Add(-time.Minute), push.AddressOK, "tag"
			if _, err := tx.PutAddress(a); err != nil {
				return err
			}
		}
		return nil
	})
	check(f.t, err)
}

// ask makes every phone ring and waits until no delivery is on its way or, once
// something waits for longer than a moment, none that is due.
func (f *fleet) ask() []*v1.Delivery {
	f.t.Helper()
	f.asked++
	asked, err := f.agent.RequestDecision(f.ctx, question(f.work, fmt.Sprint("q", f.asked)))
	check(f.t, err)
	return f.settled(asked.GetDecision().GetId())
}

// settled waits until each delivery about a question has ended or is put off.
func (f *fleet) settled(subject string) []*v1.Delivery {
	f.t.Helper()
	deliveries := beckonv1connect.NewDeliveryServiceClient(connect.NewClient(f.wire, bearer(f.me.tokens.GetAccessToken())))
	for {
		got, err := deliveries.ListDeliveries(f.ctx, &v1.ListDeliveriesRequest{SubjectId: subject})
		check(f.t, err)
		open := false
		for _, d := range got.GetDeliveries() {
			switch d.GetState() {
			case v1.DeliveryState_DELIVERY_STATE_PENDING:
				open = open || d.GetReason() != "many_refused"
			case v1.DeliveryState_DELIVERY_STATE_SENDING:
				open = true
			default:
			}
		}
		if !open {
			return got.GetDeliveries()
		}
	}
}

// bearer calls with a credential.
func bearer(token string) connect.ClientInterceptor {
	return func(next connect.ClientFunc) connect.ClientFunc {
		return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
			if info, ok := connect.CallInfoForClientContext(ctx); ok {
				info.RequestHeader().Set("Authorization", "Bearer "+token)
			}
			return next(ctx, spec)
		}
	}
}

// states counts deliveries.
func states(rows []*v1.Delivery) map[string]int {
	out := map[string]int{}
	for _, d := range rows {
		out[strings.TrimPrefix(d.GetState().String(), "DELIVERY_STATE_")]++
	}
	return out
}

// health is what each phone is told by the name of its token.
func (f *fleet) health() map[string]string {
	f.t.Helper()
	all, err := f.me.ListInstallations(f.ctx, &v1.ListInstallationsRequest{})
	check(f.t, err)
	out := map[string]string{}
	for _, i := range all.GetInstallations() {
		out[i.GetLabel()] = strings.TrimPrefix(i.GetPushHealth().String(), "PUSH_HEALTH_")
	}
	return out
}

// addresses are the endpoints as stored, by token.
func (f *fleet) addresses() map[string]push.Address {
	f.t.Helper()
	out := map[string]push.Address{}
	check(f.t, f.rows.View(f.ctx, strings.TrimPrefix(f.me.account, "acc_"), func(tx *store.Read) error {
		all, err := tx.Addresses()
		for _, a := range all {
			out[a.Token] = a
		}
		return err
	}))
	return out
}

// dead counts the addresses that are not called any more.
func (f *fleet) dead() (n int) {
	f.t.Helper()
	for _, a := range f.addresses() {
		if a.State == push.AddressDead {
			n++
		}
	}
	return n
}

// metric reads one line of the metrics; empty when it is not there.
func (f *fleet) metric(name string) string {
	f.t.Helper()
	answer, err := httpClient(f.t, func(p *http.Protocols) { p.SetHTTP1(true) }, nil).Get(f.s.URL() + "/metrics")
	check(f.t, err)
	text, err := io.ReadAll(answer.Body)
	check(f.t, errors.Join(err, answer.Body.Close()))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// iPhone is a token of Apple's form.
func iPhone(n int, env push.Env) push.Address {
	return push.Address{Kind: push.KindAPNs, Token: fmt.Sprintf("%064x", n+1), Env: env, Topic: topic}
}

func iPhones(n int, env push.Env) (out []push.Address) {
	for i := range n {
		out = append(out, iPhone(i, env))
	}
	return out
}

// knows registers phones at the stand-in for Apple.
func knows(t *testing.T, vendor *apns.Server, env apns.Env, topic string, phones ...push.Address) {
	t.Helper()
	for _, a := range phones {
		check(t, vendor.AddDevice(apns.Registration{Token: a.Token, Topic: topic, Env: env}))
	}
}

// bothHosts points a server at both environments of the stand-in.
func bothHosts(vendor *apns.Server) func(*server.Config) {
	return func(c *server.Config) { c.APNs.ProductionHost = vendor.URL(apns.Production) }
}

// xtrinch/fcm-django#223: a payload that is wrong for everybody has cost nobody
// an address.
func TestSuspect_B10_BadPayloadRemovesNobody(t *testing.T) {
	t.Parallel()
	vendor, _, withFCM := google(t)
	f := newFleet(t, withFCM)
	for range 100 {
		a := push.Address{Kind: push.KindFCMToken, Token: fcm.NewToken(), Topic: topic}
		check(t, vendor.AddDevice(fcm.Registration{Token: a.Token, App: topic}))
		f.add(a)
	}
	check(t, vendor.Script(fcm.Match{Times: -1}, fcm.Fault{Code: fcm.InvalidArgument, Field: "message.data[0].value"}))
	if got := states(f.ask()); got["REJECTED"] != 100 || len(got) != 1 {
		t.Errorf("deliveries %v", got)
	}
	for token, a := range f.addresses() {
		if a.State != push.AddressOK {
			t.Fatalf("%s is %s", token, a.State)
		}
	}
	vendor.ClearScript()
	if got := states(f.ask()); got["ACCEPTED"] != 100 {
		t.Errorf("mended: %v", got)
	}
}

// rails/action_push_native#141, novuhq/novu#12532: dead tokens that the vendor
// names in another shape stayed for ever.
func TestSuspect_B11_BothDeadShapesRemoveAfterOneSend(t *testing.T) {
	t.Parallel()
	apple, withAPNs := apple(t)
	android, registration, withFCM := google(t)
	f := newFleet(t, withAPNs, bothHosts(apple), withFCM)
	good, gone, bad := iPhone(1, push.EnvSandbox), iPhone(2, push.EnvSandbox), iPhone(3, push.EnvSandbox)
	knows(t, apple, apns.Sandbox, topic, good, gone)
	check(t, android.AddDevice(fcm.Registration{Token: registration, App: topic}))
	droid := func(token string) push.Address {
		return push.Address{Kind: push.KindFCMToken, Token: token, Topic: topic}
	}
	left, never := droid(fcm.NewToken()), droid(strings.Repeat("x", 40))
	worse, none := iPhone(4, push.EnvSandbox), droid(strings.Repeat("y", 40))
	check(t, android.AddDevice(fcm.Registration{Token: left.Token, App: topic}))

	// Before others prove that it is the token, a token that could be ours to
	// mend is kept.
	f.add(bad, never)
	if got := states(f.ask()); got["SUSPECT"] != 2 || f.dead() != 0 {
		t.Errorf("with nothing known: %v, %d dead", got, f.dead())
	}
	if got := f.health(); got[bad.Token] != "SUSPECT" || got[never.Token] != "SUSPECT" {
		t.Errorf("they are told %v", got)
	}
	f.add(good, droid(registration))
	f.ask()
	f.add(gone, left, worse, none)
	apple.Unregister(gone.Token, time.Now())
	android.Unregister(left.Token)
	if got := states(f.ask()); got["ACCEPTED"] != 2 || got["DEAD_ADDRESS"] < 4 || len(got) != 2 {
		t.Errorf("deliveries %v", got)
	}
	got := f.health()
	for _, a := range []push.Address{gone, bad, worse, left, never, none} {
		if got[a.Token] != "DEAD" {
			t.Errorf("%s is told %s", a.Token, got[a.Token])
		}
	}
	if got[good.Token] != "OK" || got[registration] != "OK" {
		t.Errorf("the living are told %v", got)
	}
	if rows := f.ask(); len(rows) != 2 || states(rows)["ACCEPTED"] != 2 {
		t.Errorf("the dead are still called: %v", states(rows))
	}
}

// matrix-org/sygnal#279, #318: one wrong setting, and every token was pruned.
func TestSuspect_B12_WrongForEverybodyRemovesNobody(t *testing.T) {
	t.Parallel()
	const n = 24
	for name, c := range map[string]struct {
		knows  func(*testing.T, *apns.Server, []push.Address)
		wrong  func(*apns.Server) func(*server.Config)
		mend   func(*testing.T, *apns.Server, []push.Address)
		right  func(*apns.Server) func(*server.Config)
		reason string
	}{
		"topic": {
			knows: func(t *testing.T, vendor *apns.Server, all []push.Address) {
				knows(t, vendor, apns.Sandbox, "dev.beckon.other", all...)
			},
			wrong: bothHosts,
			mend: func(t *testing.T, vendor *apns.Server, all []push.Address) {
				knows(t, vendor, apns.Sandbox, topic, all...)
			},
			right: bothHosts, reason: "DeviceTokenNotForTopic",
		},
		"environment": {
			knows: func(t *testing.T, vendor *apns.Server, all []push.Address) {
				knows(t, vendor, apns.Sandbox, topic, all...)
			},
			wrong: func(vendor *apns.Server) func(*server.Config) {
				return func(c *server.Config) { c.APNs.SandboxHost = vendor.URL(apns.Production) }
			},
			mend: func(*testing.T, *apns.Server, []push.Address) {},
			right: func(*apns.Server) func(*server.Config) {
				return func(*server.Config) {}
			},
			reason: "BadDeviceToken",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vendor, withAPNs := apple(t)
			f := newFleet(t, withAPNs, c.wrong(vendor))
			all := iPhones(n, push.EnvSandbox)
			c.knows(t, vendor, all)
			f.add(all...)
			rows := f.ask()
			before := states(rows)
			if before["PENDING"] < n-9 || before["PENDING"]+before["SUSPECT"] != n || f.dead() != 0 {
				t.Fatalf("deliveries %v, %d dead", before, f.dead())
			}
			for _, d := range rows {
				if d.GetState() == v1.DeliveryState_DELIVERY_STATE_PENDING && !strings.Contains(d.GetSentence(), "our configuration must be wrong; no address is dropped") {
					t.Errorf("it is told %q", d.GetSentence())
				}
			}
			if got := f.metric(`beckon_push_addresses_paused{app="beckon",environment="sandbox",lane="apns"}`); got != "1" {
				t.Errorf("the metric is %q", got)
			}
			if got := f.metric(`beckon_push_lane_paused{lane="apns"}`); got != "0" {
				t.Errorf("the lane is paused: %q", got)
			}
			log := f.log.String()
			if !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, `"environment":"sandbox"`) || !strings.Contains(log, c.reason) ||
				strings.Contains(log, "000000") || strings.Contains(log, "adr_") {
				t.Errorf("the log is %s", log)
			}

			c.mend(t, vendor, all)
			seen := len(vendor.Requests())
			f.restart(withAPNs, c.right(vendor))
			_, err := vendor.Wait(f.ctx, seen+before["PENDING"])
			check(t, err)
			after := states(f.settled(rows[0].GetDecisionId()))
			if after["ACCEPTED"] != before["PENDING"] || after["SUSPECT"] != before["SUSPECT"] {
				t.Errorf("mended: %v, before %v", after, before)
			}
			sent := map[string]int{}
			for _, r := range vendor.Requests()[seen:] {
				sent[r.Token]++
			}
			for token, times := range sent {
				if times != 1 {
					t.Errorf("%s was sent to %d times", token, times)
				}
			}
			if len(sent) != before["PENDING"] || f.dead() != 0 {
				t.Errorf("%d of %d went out, %d dead", len(sent), before["PENDING"], f.dead())
			}
		})
	}
}

// A phone that says the wrong environment rings at once, and after that without
// a detour.
func TestSuspect_TheOtherEnvironmentIsRemembered(t *testing.T) {
	t.Parallel()
	vendor, withAPNs := apple(t)
	f := newFleet(t, withAPNs, bothHosts(vendor))
	a := iPhone(1, push.EnvProduction)
	knows(t, vendor, apns.Sandbox, topic, a)
	f.add(a)
	for range 2 {
		if got := states(f.ask()); got["ACCEPTED"] != 1 {
			t.Fatalf("deliveries %v", got)
		}
	}
	var envs []apns.Env
	for _, r := range vendor.Requests() {
		envs = append(envs, r.Env)
	}
	if got := fmt.Sprint(envs); got != "[production sandbox sandbox]" {
		t.Errorf("sent to %s", got)
	}
	if got := f.addresses()[a.Token]; got.Env != push.EnvSandbox || got.State != push.AddressOK {
		t.Errorf("stored as %+v", got)
	}
}

// A key that is good in one environment: a token that died there is refused in
// the other one for our key, which pauses nobody.
func TestSuspect_B11_KeyOfOneEnvironment(t *testing.T) {
	t.Parallel()
	vendor, err := apns.Start(t.Context(), apns.Config{})
	check(t, err)
	t.Cleanup(vendor.Close)
	key, p8, err := apns.NewProviderKey("KEY1234567", "TEAM123456")
	check(t, err)
	key.Envs = []apns.Env{apns.Production}
	check(t, vendor.RegisterKey(key))
	f := newFleet(t, withVendor(t, vendor, key, p8), bothHosts(vendor))
	good, bad := iPhone(1, push.EnvProduction), iPhone(2, push.EnvProduction)
	knows(t, vendor, apns.Production, topic, good)
	f.add(good)
	f.ask()
	f.add(bad)
	if got := states(f.ask()); got["ACCEPTED"] != 1 || got["DEAD_ADDRESS"] != 1 {
		t.Errorf("deliveries %v", got)
	}
	if got := f.metric(`beckon_push_lane_paused{lane="apns"}`); got != "0" {
		t.Errorf("the lane is paused: %q", got)
	}
}

// element-hq/element-x-ios#1065: the server drops a token and the phone never
// hears of it. It reads by sync that its address is dead, registers again, and
// rings.
func TestSuspect_B16_DeadIsToldAndRegisteringAgainRings(t *testing.T) {
	t.Parallel()
	vendor, withAPNs := apple(t)
	f := newFleet(t, withAPNs)
	account := &v1.Scope{Scope: &v1.Scope_Account{Account: true}}
	register := func(token string) {
		t.Helper()
		_, err := f.me.PutAddress(f.ctx, &v1.PutAddressRequest{
			Kind: v1.AddressKind_ADDRESS_KIND_APNS, Token: token, Topic: topic,
			Environment: v1.ApnsEnvironment_APNS_ENVIRONMENT_SANDBOX,
		})
		check(t, err)
	}
	register(token)
	first, err := f.me.Bootstrap(f.ctx, &v1.BootstrapRequest{Scope: account})
	check(t, err)
	cursor, horizon := first.GetCursor(), first.GetAsOf()
	// hears pulls until the phone is told a health.
	hears := func(want v1.PushHealth) {
		t.Helper()
		for {
			pulled, err := f.me.Pull(f.ctx, &v1.PullRequest{Wait: durationpb.New(20 * time.Second), At: []*v1.At{{Scope: account, Cursor: cursor, Horizon: horizon}}})
			check(t, err)
			changes := pulled.GetDeltas()[0].GetChanges()
			cursor, horizon = changes.GetNext(), changes.GetAsOf()
			for _, e := range changes.GetPut() {
				var i v1.Installation
				if e.GetKind() != v1.EntityKind_ENTITY_KIND_INSTALLATION {
					continue
				}
				check(t, proto.Unmarshal(e.GetBody(), &i))
				if i.GetId() == f.me.id && i.GetPushHealth() == want {
					return
				}
			}
		}
	}
	vendor.Unregister(token, time.Now().Add(time.Second)) // Apple tells milliseconds
	if got := states(f.ask()); got["DEAD_ADDRESS"] != 1 {
		t.Fatalf("deliveries %v", got)
	}
	hears(v1.PushHealth_PUSH_HEALTH_DEAD)
	again := strings.Repeat("ab", 32)
	check(t, vendor.AddDevice(apns.Registration{Token: again, Topic: topic, Env: apns.Sandbox}))
	register(again)
	hears(v1.PushHealth_PUSH_HEALTH_OK)
	if got := states(f.ask()); got["ACCEPTED"] != 1 {
		t.Errorf("deliveries %v", got)
	}
	requests := vendor.Requests()
	if last := requests[len(requests)-1]; last.Token != again || last.Status != http.StatusOK {
		t.Errorf("the last push went to %s and met %d", last.Token, last.Status)
	}
}
