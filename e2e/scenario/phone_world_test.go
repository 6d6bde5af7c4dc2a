package scenario_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/sync/proof"
)

const (
	phoneTopic = "dev.beckon.phone"
	// patience is how long a test waits for a push that has to come.
	patience = 20 * time.Second
)

// phoneWorld is a server in this process, the strict vendor beside it, a desk that
// owns the account and an agent that asks.
type phoneWorld struct {
	t      *testing.T
	server *server.Server
	apns   *apns.Server
	desk   callers
	agent  callers

	mu sync.Mutex
	// late is how far the server's clock is ahead.
	late time.Duration
}

// callers is the services as one caller reaches them.
type callers struct {
	beckonv1connect.AccountServiceClient
	beckonv1connect.AgentServiceClient
	beckonv1connect.DecisionServiceClient
	beckonv1connect.InstallationServiceClient
	beckonv1connect.PairingServiceClient
	beckonv1connect.DeliveryServiceClient
	beckonv1connect.TaskServiceClient
}

func newPhoneWorld(t *testing.T) *phoneWorld {
	t.Helper()
	w := &phoneWorld{t: t}
	var err error
	w.apns, err = apns.Start(context.WithoutCancel(t.Context()), apns.Config{})
	w.check(err)
	t.Cleanup(w.apns.Close)
	limits := policy.BenchLimits()
	var printed bytes.Buffer
	cfg := server.Config{
		Config: config.Default(t.TempDir()), Engine: memstore.New(), Limits: &limits, Terminal: &printed, Clock: w.clock,
	}
	cfg.Listen, cfg.APNs = "127.0.0.1:0", w.vendor()
	w.server, err = server.New(t.Context(), cfg)
	w.check(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error("the server ended with", err)
		}
	})
	w.get("/healthz") // the link is printed before anything is served
	link := regexp.MustCompile(`/claim#(bk_own_\w+)`).FindStringSubmatch(printed.String())
	if link == nil {
		t.Fatal("no claim link was printed")
	}
	w.desk = w.claim(link[1])
	level := v1.ContentLevel_CONTENT_LEVEL_FULL
	_, err = w.desk.UpdateSettings(t.Context(), &v1.UpdateSettingsRequest{ContentLevel: &level})
	w.check(err)
	created, err := w.desk.CreateAgent(t.Context(), &v1.CreateAgentRequest{IdempotencyKey: "agent", Name: "Builder", LockScreenApproval: true, Ceiling: v1.EffectClass_EFFECT_CLASS_IRREVERSIBLE})
	w.check(err)
	key, err := w.desk.IssueKey(t.Context(), &v1.IssueKeyRequest{AgentId: created.GetLink().GetAgentId()})
	w.check(err)
	w.agent = w.as(key.GetSecret())
	return w
}

func (w *phoneWorld) check(err error) {
	w.t.Helper()
	if refused, ok := errors.AsType[*connect.Error](err); ok {
		for _, detail := range refused.Details() {
			info, _ := connectproto.UnmarshalErrorDetail(detail)
			w.t.Fatalf("%v: %v", err, info)
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *phoneWorld) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.late)
}

func (w *phoneWorld) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late += d
}

// vendor registers a provider key and gives the server's side of it.
func (w *phoneWorld) vendor() config.APNs {
	key, p8, err := apns.NewProviderKey("KEY1234567", "TEAM123456")
	w.check(err)
	w.check(w.apns.RegisterKey(key))
	dir := w.t.TempDir()
	keyFile, caFile := filepath.Join(dir, "key.p8"), filepath.Join(dir, "ca.pem")
	w.check(os.WriteFile(keyFile, p8, 0o600))
	w.check(os.WriteFile(caFile, w.apns.CAPEM(), 0o600))
	return config.APNs{
		KeyFile: keyFile, KeyID: key.ID, TeamID: key.TeamID, App: "beckon", Topics: []string{phoneTopic},
		SandboxHost: w.apns.URL(apns.Sandbox), ProductionHost: w.apns.URL(apns.Production), CAFile: caFile,
	}
}

func (w *phoneWorld) get(path string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(w.server.URL() + path)
	w.check(err)
	w.check(res.Body.Close())
}

// as calls the server with a credential, "" for none.
func (w *phoneWorld) as(token string) callers {
	tr := &http.Transport{}
	w.t.Cleanup(tr.CloseIdleConnections)
	c := connect.NewClient(connecthttp.NewTransport(&http.Client{Transport: tr}, w.server.URL()),
		func(next connect.ClientFunc) connect.ClientFunc {
			return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
				if info, ok := connect.CallInfoForClientContext(ctx); ok && token != "" {
					info.RequestHeader().Set("Authorization", "Bearer "+token)
				}
				return next(ctx, spec)
			}
		})
	return callers{
		beckonv1connect.NewAccountServiceClient(c), beckonv1connect.NewAgentServiceClient(c),
		beckonv1connect.NewDecisionServiceClient(c), beckonv1connect.NewInstallationServiceClient(c),
		beckonv1connect.NewPairingServiceClient(c), beckonv1connect.NewDeliveryServiceClient(c),
		beckonv1connect.NewTaskServiceClient(c),
	}
}

// claim makes the first device of an account: a desk without pushes.
func (w *phoneWorld) claim(secret string) callers {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.check(err)
	public, err := proof.MarshalPublicKey(&key.PublicKey)
	w.check(err)
	claimed, err := w.as("").ClaimServer(w.t.Context(), &v1.ClaimServerRequest{
		Secret:       secret,
		Installation: &v1.NewInstallation{Platform: v1.Platform_PLATFORM_DESKTOP, Label: "Desk", PublicKey: public},
	})
	w.check(err)
	return w.as(claimed.GetTokens().GetAccessToken())
}

// handset is an emulated phone with the app.
type handset struct {
	*phone.App

	w      *phoneWorld
	device *device.Device
}

// handset makes a phone that Apple knows and the server does not.
func (w *phoneWorld) handset(name, token string) handset {
	w.t.Helper()
	d := device.New(device.Config{Name: name})
	app, err := phone.New(phone.Config{
		Device: d, Store: phone.File(filepath.Join(w.t.TempDir(), name+".json")),
		Topic: phoneTopic, DeviceToken: token, AppID: "beckon",
	})
	w.check(err)
	w.t.Cleanup(app.Close)
	w.t.Cleanup(d.Close)
	w.check(w.apns.AddDevice(apns.Registration{Token: token, Topic: phoneTopic, Env: apns.Sandbox, Phone: d}))
	return handset{App: app, w: w, device: d}
}

// pair lets a phone into the account of a desk: code there, digits here.
func (h handset) pair(desk callers) {
	h.w.t.Helper()
	offer, err := desk.OfferPairing(h.w.t.Context(), &v1.OfferPairingRequest{})
	h.w.check(err)
	h.w.check(h.Pair(h.w.t.Context(), h.w.server.URL(), "", offer.GetCode(), func(digits string) {
		_, err := desk.ConfirmPairing(h.w.t.Context(), &v1.ConfirmPairingRequest{OfferId: offer.GetOfferId(), Digits: digits})
		h.w.check(err)
	}))
}

// arrived waits for the n-th push that the app has taken in.
func (h handset) arrived(n int) phone.Alert {
	h.w.t.Helper()
	ctx, cancel := context.WithTimeout(h.w.t.Context(), patience)
	defer cancel()
	e, err := h.History().Find(ctx, func(e phone.Event) bool {
		if e.Kind == phone.Arrived {
			n--
		}
		return n == 0
	})
	h.w.check(err)
	for _, a := range h.Screen() {
		if a.ID == e.Delivery {
			return a
		}
	}
	h.w.t.Fatalf("%s shows %v", h.Name(), h.Screen())
	return phone.Alert{}
}

// shown is the alert of a delivery as the system holds it, to be carried off.
func (h handset) shown(key string) device.Notification {
	h.w.t.Helper()
	for _, s := range h.device.Shown(phoneTopic) {
		if s.Key == key {
			return s.Notification
		}
	}
	h.w.t.Fatal("not on the screen:", key)
	return device.Notification{}
}

// ask opens a question of a class in a task of its own.
func (w *phoneWorld) ask(name string, class v1.EffectClass, change ...func(*v1.RequestDecisionRequest)) (*v1.Claim, *v1.Decision) {
	w.t.Helper()
	created, err := w.agent.CreateTask(w.t.Context(), &v1.CreateTaskRequest{
		IdempotencyKey: name, Title: name, Claim: &v1.ClaimOptions{ClaimId: "claim-" + name},
	})
	w.check(err)
	question := &v1.RequestDecisionRequest{
		TaskId: created.GetClaim().GetTask().GetId(), LeaseId: created.GetClaim().GetLeaseId(), Key: name,
		Kind: v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, Title: "Write the report?",
		Items: []*v1.DecisionItem{{Id: "it", Action: &v1.Action{
			App: "files", Operation: "write", ArgsJson: []byte(`{"name":"` + name + `"}`), EffectClass: class,
		}}},
	}
	for _, c := range change {
		c(question)
	}
	asked, err := w.agent.RequestDecision(w.t.Context(), question)
	w.check(err)
	return created.GetClaim(), asked.GetDecision()
}

// state reads a decision as the desk sees it.
func (w *phoneWorld) state(id string) *v1.Decision {
	w.t.Helper()
	got, err := w.desk.GetDecision(w.t.Context(), &v1.GetDecisionRequest{DecisionId: id})
	w.check(err)
	return got.GetDecision()
}

// untouched fails where anything has come of a refused tap.
func (w *phoneWorld) untouched(id string) {
	w.t.Helper()
	if d := w.state(id); d.GetState() != v1.DecisionState_DECISION_STATE_PENDING || d.GetAnswer() != nil || len(d.GetGrants()) != 0 {
		w.t.Errorf("the decision is %v with answer %v and grants %v", d.GetState(), d.GetAnswer(), d.GetGrants())
	}
}
