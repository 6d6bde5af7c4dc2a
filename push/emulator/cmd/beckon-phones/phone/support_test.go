package phone_test

import (
	"context"
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/emulator/journal"
	"github.com/beckon-dev/beckon/sync/proof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	topic       = "dev.beckon.phone"
	deviceToken = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	accountTag  = "tag-of-the-account"
	code        = "7K4M-Q2ZD"
	epoch       = "epoch-one-16-byt"
)

// fake is the services as far as a phone uses them. Proofs are really verified.
type fake struct {
	beckonv1connect.UnimplementedAddressServiceHandler
	beckonv1connect.UnimplementedDecisionServiceHandler
	beckonv1connect.UnimplementedInstallationServiceHandler
	beckonv1connect.UnimplementedPairingServiceHandler
	beckonv1connect.UnimplementedSyncServiceHandler
	beckonv1connect.UnimplementedThreadServiceHandler
	beckonv1connect.UnimplementedTokenServiceHandler

	t   *testing.T
	url string

	mu        sync.Mutex
	installed *v1.NewInstallation
	refused   bool // the digits were wrong
	access    string
	refresh   string
	exchanged map[string]string // attempt → refresh token it gave
	asked     []*v1.RefreshTokenRequest
	// loseRefresh answers the next exchange with an error after it happened.
	loseRefresh bool
	addresses   []*v1.PutAddressRequest
	seq         uint64
	entities    map[string]*v1.Entity
	decisions   map[string]*v1.Decision
	needed      v1.Step // of AnswerDecision with the install key
	answers     []*v1.AnswerDecisionRequest
	marks       []*v1.MarkReadRequest
	taps        []tap
	presence    *journal.Journal[*v1.ReportPresenceRequest]
	claimed     *v1.ClaimServerRequest
	// acknowledged are the cards that were opened.
	acknowledged []string
	// paged makes a bootstrap two pages; the token of the second is refused
	// refusePages times, for ever below 0.
	paged       bool
	refusePages int
	boots       []*v1.BootstrapRequest
	// act answers taps; nil applies them.
	act http.HandlerFunc
}

// tap is the body of a POST /act.
type tap struct {
	Token     string `json:"token"`
	AnswerKey string `json:"answer_key"`
	View      string `json:"view"`
	Proof     []byte `json:"proof"`
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{
		t: t, access: "access-1", exchanged: map[string]string{},
		entities: map[string]*v1.Entity{}, decisions: map[string]*v1.Decision{},
		presence: journal.New[*v1.ReportPresenceRequest](nil, 0),
	}
	srv := connect.NewServer(f.authenticate)
	beckonv1connect.RegisterAddressServiceHandler(srv, f)
	beckonv1connect.RegisterDecisionServiceHandler(srv, f)
	beckonv1connect.RegisterInstallationServiceHandler(srv, f)
	beckonv1connect.RegisterPairingServiceHandler(srv, f)
	beckonv1connect.RegisterSyncServiceHandler(srv, f)
	beckonv1connect.RegisterThreadServiceHandler(srv, f)
	beckonv1connect.RegisterTokenServiceHandler(srv, f)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, srv)
	mux.HandleFunc("/act", f.serveAct)
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	f.url = h.URL
	return f
}

func (f *fake) authenticate(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		switch spec.Procedure {
		case beckonv1connect.PairingServiceClaimServerProcedure, beckonv1connect.PairingServiceRedeemPairingProcedure, beckonv1connect.PairingServiceGetPairingProcedure, beckonv1connect.TokenServiceRefreshTokenProcedure:
			return next(ctx, spec, stream)
		}
		info, _ := connect.CallInfoForServerContext(ctx)
		f.mu.Lock()
		want := "Bearer " + f.access
		f.mu.Unlock()
		if info.RequestHeader().Get("Authorization") != want {
			return refusal(connect.CodeUnauthenticated, "EXPIRED")
		}
		return next(ctx, spec, stream)
	}
}

func refusal(code connect.Code, reason string) error { return refusalAt(code, reason, "") }

func refusalAt(code connect.Code, reason, field string) error {
	detail, err := connectproto.NewErrorDetail(&v1.ErrorInfo{Reason: reason, Field: field})
	if err != nil {
		return err
	}
	return connect.NewError(code, reason).WithDetail(detail)
}

func (f *fake) RedeemPairing(_ context.Context, r *v1.RedeemPairingRequest) (*v1.RedeemPairingResponse, error) {
	if r.GetCode() != code {
		return nil, refusal(connect.CodeUnauthenticated, "BAD_SECRET")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.installed = r.GetInstallation()
	return &v1.RedeemPairingResponse{
		OfferId: "offer", Digits: "4711", RedeemSecret: "redeem", ExpireTime: timestamppb.New(time.Now().Add(2 * time.Minute)),
	}, nil
}

func (f *fake) GetPairing(_ context.Context, r *v1.GetPairingRequest) (*v1.GetPairingResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.GetOfferId() != "offer" || r.GetRedeemSecret() != "redeem":
		return nil, refusal(connect.CodeUnauthenticated, "BAD_SECRET")
	case f.refused:
		return &v1.GetPairingResponse{State: v1.PairingState_PAIRING_STATE_DEAD}, nil
	}
	f.refresh = "refresh-0"
	return &v1.GetPairingResponse{
		State: v1.PairingState_PAIRING_STATE_CONFIRMED, Installation: &v1.Installation{Id: "ins"},
		Tokens: f.tokens(), AccountId: "acc", ServerId: "srv",
	}, nil
}

// tokens gives the present pair; f.mu is held.
func (f *fake) tokens() *v1.Tokens {
	return &v1.Tokens{AccessToken: f.access, RefreshToken: f.refresh, AccessExpireTime: timestamppb.New(time.Now().Add(10 * time.Minute))}
}

func (f *fake) RefreshToken(_ context.Context, r *v1.RefreshTokenRequest) (*v1.RefreshTokenResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r)
	err := proof.VerifyRefresh(f.key(false), proof.RefreshTuple{
		ServerID: "srv", Account: "acc", Installation: "ins", TokenHash: proof.Sum([]byte(r.GetRefreshToken())), Attempt: r.GetAttempt(),
	}, r.GetProof())
	if err != nil {
		return nil, refusal(connect.CodePermissionDenied, "BAD_PROOF")
	}
	next, again := f.exchanged[r.GetAttempt()]
	if !again {
		if r.GetRefreshToken() != f.refresh {
			return nil, refusal(connect.CodeUnauthenticated, "REUSED")
		}
		next = "refresh-" + strconv.Itoa(len(f.exchanged)+1)
		f.exchanged[r.GetAttempt()] = next
	}
	f.refresh, f.access = next, "access for "+next
	if f.loseRefresh {
		f.loseRefresh = false
		return nil, connect.NewError(connect.CodeUnavailable, "lost")
	}
	return &v1.RefreshTokenResponse{Tokens: f.tokens()}, nil
}

// key is the phone's public key; f.mu is held.
func (f *fake) key(approval bool) *ecdsa.PublicKey {
	raw := f.installed.GetPublicKey()
	if approval {
		raw = f.installed.GetApprovalKey()
	}
	key, err := proof.ParsePublicKey(raw)
	if err != nil {
		f.t.Error("the phone's key:", err)
	}
	return key
}

func (f *fake) PutAddress(_ context.Context, r *v1.PutAddressRequest) (*v1.PutAddressResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addresses = append(f.addresses, r)
	return &v1.PutAddressResponse{AccountTag: accountTag}, nil
}

func (f *fake) GetDecision(_ context.Context, r *v1.GetDecisionRequest) (*v1.GetDecisionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.decisions[r.GetDecisionId()]
	if !ok {
		return nil, refusal(connect.CodeNotFound, "NOT_FOUND")
	}
	return &v1.GetDecisionResponse{Decision: d}, nil
}

func (f *fake) AnswerDecision(_ context.Context, r *v1.AnswerDecisionRequest) (*v1.AnswerDecisionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = append(f.answers, r)
	d := f.decisions[r.GetDecisionId()]
	install := f.proves(f.key(false), d, r.GetAnswerKey(), r.GetItems()[0].GetOptionIds()[0], r.GetProof())
	approval := f.proves(f.key(true), d, r.GetAnswerKey(), r.GetItems()[0].GetOptionIds()[0], r.GetProof())
	switch {
	case !install && !approval:
		return nil, refusal(connect.CodePermissionDenied, "BAD_PROOF")
	case install && f.needed != 0:
		return &v1.AnswerDecisionResponse{Outcome: v1.AnswerOutcome_ANSWER_OUTCOME_NEEDS_STEP_UP, NeededStep: f.needed, Decision: d}, nil
	}
	f.resolve(d)
	return &v1.AnswerDecisionResponse{
		Outcome: v1.AnswerOutcome_ANSWER_OUTCOME_APPLIED, Winner: &v1.Winner{InstallationId: "ins", InstallationLabel: "anna"}, Decision: d,
	}, nil
}

// proves checks a proof for one option of the one item of a decision.
func (f *fake) proves(key *ecdsa.PublicKey, d *v1.Decision, answerKey, option string, signature []byte) bool {
	view, err := proof.ViewDigest(d.GetId(), uint64(d.GetRevision()), nil)
	if err != nil {
		f.t.Error(err)
	}
	answer, err := proof.AnswerDigest([]proof.AnswerItem{{ItemID: d.GetItems()[0].GetId(), OptionIDs: []string{option}}})
	if err != nil {
		f.t.Error(err)
	}
	return proof.VerifyAnswer(key, proof.AnswerTuple{
		ServerID: "srv", Account: "acc", Installation: "ins", Decision: d.GetId(), Revision: uint64(d.GetRevision()),
		Asked: proof.Digest(d.GetAskedDigest()), View: view, Answer: answer, AnswerKey: answerKey,
	}, signature) == nil
}

// resolve closes a decision; f.mu is held.
func (f *fake) resolve(d *v1.Decision) {
	d.State = v1.DecisionState_DECISION_STATE_RESOLVED
	f.putDecision(d)
	f.put(v1.EntityKind_ENTITY_KIND_COUNTERS, "", "counters", &v1.Counters{})
}

func (f *fake) ClaimServer(_ context.Context, r *v1.ClaimServerRequest) (*v1.ClaimServerResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claimed, f.installed = r, r.GetInstallation()
	return &v1.ClaimServerResponse{
		AccountId: "acc", ServerId: "srv", Installation: &v1.Installation{Id: "ins"}, Tokens: f.tokens(),
	}, nil
}

func (f *fake) AcknowledgeDecision(_ context.Context, r *v1.AcknowledgeDecisionRequest) (*v1.AcknowledgeDecisionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acknowledged = append(f.acknowledged, r.GetDecisionId())
	return &v1.AcknowledgeDecisionResponse{}, nil
}

func (f *fake) ReportPresence(_ context.Context, r *v1.ReportPresenceRequest) (*v1.ReportPresenceResponse, error) {
	f.presence.Append(r)
	return &v1.ReportPresenceResponse{}, nil
}

func (f *fake) MarkRead(_ context.Context, r *v1.MarkReadRequest) (*v1.MarkReadResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marks = append(f.marks, r)
	f.put(v1.EntityKind_ENTITY_KIND_THREAD_HEADER, "", r.GetThreadId(), &v1.Thread{Id: r.GetThreadId(), NotableHead: 3, ReadMark: r.GetReadMark()})
	f.put(v1.EntityKind_ENTITY_KIND_COUNTERS, "", "counters", &v1.Counters{})
	return &v1.MarkReadResponse{ReadMark: r.GetReadMark()}, nil
}

// put writes an entity of a scope; f.mu is held.
func (f *fake) put(kind v1.EntityKind, thread, id string, m proto.Message) {
	body, err := proto.Marshal(m)
	if err != nil {
		f.t.Error(err)
	}
	f.seq++
	f.entities[thread+"/"+kind.String()+"/"+id] = &v1.Entity{Id: id, Kind: kind, Version: f.seq, Body: body}
}

func (f *fake) putDecision(d *v1.Decision) {
	f.decisions[d.GetId()] = d
	f.put(v1.EntityKind_ENTITY_KIND_DECISION, d.GetThreadId(), d.GetId(), d)
	f.put(v1.EntityKind_ENTITY_KIND_DECISION_HEADER, "", d.GetId(), &v1.DecisionHeader{Id: d.GetId(), ThreadId: d.GetThreadId(), State: d.GetState()})
}

// since lists what is newer than a position in a scope; f.mu is held.
func (f *fake) since(scope *v1.Scope, after uint64) []*v1.Entity {
	var out []*v1.Entity
	for key, e := range f.entities {
		if e.GetVersion() > after && key == scope.GetThreadId()+"/"+e.GetKind().String()+"/"+e.GetId() {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(x, y *v1.Entity) int { return int(x.GetVersion()) - int(y.GetVersion()) })
	return out
}

func (f *fake) stamp() []byte { return binary.BigEndian.AppendUint64(nil, f.seq) }

func (f *fake) Bootstrap(_ context.Context, r *v1.BootstrapRequest) (*v1.BootstrapResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.boots = append(f.boots, r)
	switch {
	case f.paged && len(r.GetPage()) == 0:
		return &v1.BootstrapResponse{Page: []byte("page-2"), Cursor: f.stamp(), AsOf: f.stamp(), Epoch: []byte(epoch)}, nil
	case len(r.GetPage()) > 0 && f.refusePages != 0:
		f.refusePages--
		return nil, refusalAt(connect.CodeInvalidArgument, "INVALID", "page")
	}
	return &v1.BootstrapResponse{
		Put: f.since(r.GetScope(), 0), Cursor: f.stamp(), Complete: true, AsOf: f.stamp(), Epoch: []byte(epoch),
	}, nil
}

func (f *fake) Pull(_ context.Context, r *v1.PullRequest) (*v1.PullResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := r.GetAt()[0]
	changes := &v1.Changes{
		Put: f.since(at.GetScope(), binary.BigEndian.Uint64(at.GetCursor())), Next: f.stamp(), AsOf: f.stamp(), Epoch: []byte(epoch),
	}
	return &v1.PullResponse{Deltas: []*v1.Delta{{Scope: at.GetScope(), Result: &v1.Delta_Changes{Changes: changes}}}}, nil
}

func (f *fake) serveAct(w http.ResponseWriter, r *http.Request) {
	var body tap
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if r.Method != http.MethodPost || dec.Decode(&body) != nil {
		f.t.Error("not a tap:", r.Method)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taps = append(f.taps, body)
	if f.act != nil {
		f.act(w, r)
		return
	}
	d := f.decisions["dec"]
	w.Header().Set("Content-Type", "application/json")
	if body.Token == "tap-approve" && !f.proves(f.key(false), d, body.AnswerKey, "approve", body.Proof) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error":{"code":"permission_denied","reason":"BAD_PROOF"}}`))
		return
	}
	f.resolve(d)
	_, _ = w.Write([]byte(`{"outcome":"APPLIED","winner":{"installation_id":"ins","installation_label":"anna","answer_time":"2026-01-02T03:04:05Z"}}`))
}

// bench is a phone with the app, paired with a fake.
type bench struct {
	*fake

	device *device.Device
	app    *phone.App
	store  phone.File
}

func unpaired(t *testing.T, change ...func(*phone.Config)) *bench {
	t.Helper()
	b := &bench{fake: newFake(t), store: phone.File(filepath.Join(t.TempDir(), "state.json"))}
	b.start(change...)
	return b
}

// start runs the app as after a reboot of the phone: nothing on the screen.
func (b *bench) start(change ...func(*phone.Config)) {
	b.t.Helper()
	cfg := phone.Config{Store: b.store, Topic: topic, DeviceToken: deviceToken, AppID: "beckon"}
	for _, c := range change {
		c(&cfg)
	}
	system := device.IOS
	if cfg.Vendor == phone.FCM {
		system = device.Android
	}
	b.device = device.New(device.Config{Name: "anna", System: system})
	cfg.Device = b.device
	app, err := phone.New(cfg)
	b.check(err)
	b.app = app
	d := b.device
	b.t.Cleanup(app.Close)
	b.t.Cleanup(d.Close)
}

func paired(t *testing.T, change ...func(*phone.Config)) *bench {
	t.Helper()
	b := unpaired(t, change...)
	b.check(b.app.Pair(t.Context(), b.url, "", code, func(string) {}))
	return b
}

func (b *bench) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// wait blocks until the app has done something.
func (b *bench) wait(kind phone.Kind) phone.Event {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	e, err := b.app.History().Find(ctx, func(e phone.Event) bool { return e.Kind == kind })
	b.check(err)
	return e
}

// ask opens a question of class 2 on the server.
func (b *bench) ask(change ...func(*v1.Decision)) *v1.Decision {
	b.t.Helper()
	action, err := proof.ActionDigest("files", "", "write", []byte(`{"name":"report"}`), nil)
	b.check(err)
	asked, err := proof.AskedDigest("CONFIRM_ACTION", []proof.AskedItem{{
		ItemID: "it", Action: action, Options: []proof.Option{{ID: "approve", Kind: "ALLOW_ONCE"}, {ID: "deny", Kind: "REJECT_ONCE"}},
	}})
	b.check(err)
	d := &v1.Decision{
		Id: "dec", TaskId: "tsk", ThreadId: "thr", Revision: 1, State: v1.DecisionState_DECISION_STATE_PENDING,
		Kind: v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, Title: "Write it?", AskedDigest: asked[:],
		EffectClass: v1.EffectClass_EFFECT_CLASS_WRITE_REVERSIBLE,
		Items: []*v1.DecisionItem{{
			Id: "it", Question: "Write it?", Action: &v1.Action{App: "files", Operation: "write", ArgsJson: []byte(`{"name":"report"}`)},
			Options: []*v1.Option{
				{Id: "approve", Label: "Approve", Kind: v1.OptionKind_OPTION_KIND_ALLOW_ONCE},
				{Id: "deny", Label: "Deny", Kind: v1.OptionKind_OPTION_KIND_REJECT_ONCE, Text: v1.TextRule_TEXT_RULE_OPTIONAL},
			},
		}},
	}
	for _, c := range change {
		c(d)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.putDecision(d)
	b.put(v1.EntityKind_ENTITY_KIND_COUNTERS, "", "counters", &v1.Counters{OpenDecisions: 1, Badge: 1})
	return d
}

// push hands the phone a notification about a decision.
func (b *bench) push(d *v1.Decision, change ...func(*v1.PushPayload)) {
	b.t.Helper()
	p := &v1.PushPayload{
		V: 1, Kind: v1.PushKind_PUSH_KIND_DECISION_REQUIRED, Account: accountTag, Thread: d.GetThreadId(), Task: d.GetTaskId(),
		Decision: d.GetId(), Revision: d.GetRevision(), AskedDigest: proof.Digest(d.GetAskedDigest()).String(),
		Badge:   &v1.PushBadge{Count: 1, Epoch: base64.RawURLEncoding.EncodeToString([]byte(epoch)), Version: b.head()},
		Actions: []*v1.PushAction{{Verb: "approve", Token: "tap-approve"}, {Verb: "deny", Token: "tap-deny"}},
	}
	for _, c := range change {
		c(p)
	}
	b.deliver("push-1", "dec/1", "BECKON_DECISION_APPROVE", p)
}

func (b *bench) head() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seq
}

func (b *bench) deliver(id, tag, category string, p *v1.PushPayload) {
	b.t.Helper()
	raw, err := protojson.Marshal(p)
	b.check(err)
	body, err := json.Marshal(map[string]json.RawMessage{"beckon": raw})
	b.check(err)
	badge := int(p.GetBadge().GetCount())
	b.device.Deliver(device.Notification{
		ID: id, App: topic, Tag: tag, Alert: true, Title: "Builder needs a decision", Body: "Write it?",
		Category: category, Badge: &badge, Mutable: true, Payload: body,
	})
}
