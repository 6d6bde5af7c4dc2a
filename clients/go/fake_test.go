package beckon_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/sync/proof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// fakeServer holds one installation and its chain of tokens, by the rules of
// the contract: one successor a token and attempt, and the end of the family
// for any other use of a spent token.
type fakeServer struct {
	beckonv1connect.UnimplementedTokenServiceHandler
	beckonv1connect.UnimplementedAccountServiceHandler
	beckonv1connect.UnimplementedPairingServiceHandler
	beckonv1connect.UnimplementedDecisionServiceHandler
	beckonv1connect.UnimplementedTaskServiceHandler
	beckonv1connect.UnimplementedAgentServiceHandler
	beckonv1connect.UnimplementedEffectServiceHandler

	mu sync.Mutex
	// key, current, next and attempt are the family.
	key                    *ecdsa.PublicKey
	current, next, attempt string
	dead                   bool
	rotations, made        int
	life                   time.Duration
	access                 map[string]bool
	// lose cuts the answers of that many calls after they were carried out,
	// refuse answers that many with UNAVAILABLE before.
	lose, refuse int
	calls        []string
	answered     *v1.AnswerDecisionRequest
	beats        []*v1.HeartbeatRequest
	beat         func(n int, r *v1.HeartbeatRequest) (*v1.HeartbeatResponse, error)
	create       []*v1.CreateTaskRequest
	// effect is the one row of the ledger, nil before it was begun.
	effect *v1.Effect
}

// with looks at the fake, or changes it, while nobody calls.
func (f *fakeServer) with(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// family tells how often the token was rotated and whether the family ended.
func (f *fakeServer) family() (rotations int, dead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rotations, f.dead
}

func newFake() *fakeServer {
	return &fakeServer{life: 10 * time.Minute, access: map[string]bool{}}
}

func refusal(code connect.Code, info *v1.ErrorInfo) error {
	detail, err := connectproto.NewErrorDetail(info)
	if err != nil {
		return err
	}
	return connect.NewError(code, "words for people").WithDetail(detail)
}

// tokens makes a pair; mu is held.
func (f *fakeServer) tokens(refresh string) *v1.Tokens {
	f.made++
	access := fmt.Sprintf("access-%d", f.made)
	f.access[access] = true
	return &v1.Tokens{AccessToken: access, AccessExpireTime: timestamppb.New(time.Now().Add(f.life)), RefreshToken: refresh}
}

func (f *fakeServer) RefreshToken(_ context.Context, r *v1.RefreshTokenRequest) (*v1.RefreshTokenResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tuple := proof.RefreshTuple{ServerID: "srv", Account: "acc", Installation: "ins", TokenHash: proof.Sum([]byte(r.GetRefreshToken())), Attempt: r.GetAttempt()}
	if proof.VerifyRefresh(f.key, tuple, r.GetProof()) != nil {
		return nil, refusal(connect.CodePermissionDenied, &v1.ErrorInfo{Reason: "BAD_PROOF"})
	}
	switch {
	case f.dead:
		return nil, refusal(connect.CodeUnauthenticated, &v1.ErrorInfo{Reason: "REVOKED"})
	case r.GetRefreshToken() == f.next && f.next != "":
		f.current, f.next, f.attempt = f.next, fmt.Sprintf("refresh-%d", f.made), r.GetAttempt()
		f.rotations++
	case r.GetRefreshToken() == f.current && f.next == "":
		f.next, f.attempt = fmt.Sprintf("refresh-%d", f.made), r.GetAttempt()
		f.rotations++
	case r.GetRefreshToken() == f.current && r.GetAttempt() == f.attempt:
	default:
		f.dead = true
		return nil, refusal(connect.CodeUnauthenticated, &v1.ErrorInfo{Reason: "REUSED"})
	}
	return &v1.RefreshTokenResponse{Tokens: f.tokens(f.next)}, nil
}

func (f *fakeServer) ClaimServer(_ context.Context, r *v1.ClaimServerRequest) (*v1.ClaimServerResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.GetSecret() != "bk_own_good" || f.current != "" {
		return nil, refusal(connect.CodeUnauthenticated, &v1.ErrorInfo{Reason: "BAD_SECRET"})
	}
	key, err := proof.ParsePublicKey(r.GetInstallation().GetPublicKey())
	if err != nil {
		return nil, err
	}
	f.key, f.current = key, "refresh-0"
	return &v1.ClaimServerResponse{
		AccountId: "acc", ServerId: "srv", Tokens: f.tokens(f.current),
		Installation: &v1.Installation{Id: "ins", Label: r.GetInstallation().GetLabel()},
	}, nil
}

func (f *fakeServer) GetAccount(context.Context, *v1.GetAccountRequest) (*v1.GetAccountResponse, error) {
	return &v1.GetAccountResponse{AccountId: "acc", InstallationId: "ins", ServerId: "srv"}, nil
}

func (f *fakeServer) UpdateSettings(context.Context, *v1.UpdateSettingsRequest) (*v1.UpdateSettingsResponse, error) {
	return nil, refusal(connect.CodeInvalidArgument, &v1.ErrorInfo{
		Reason: "LIMIT", Field: "content_level", Max: 3, RetryAfter: durationpb.New(2 * time.Second),
	})
}

func (f *fakeServer) AcknowledgeDecision(_ context.Context, r *v1.AcknowledgeDecisionRequest) (*v1.AcknowledgeDecisionResponse, error) {
	if r.GetDecisionId() != "dec_waits" {
		return &v1.AcknowledgeDecisionResponse{}, nil
	}
	return &v1.AcknowledgeDecisionResponse{AlertTime: timestamppb.New(time.Unix(60, 0))}, nil
}

func (f *fakeServer) AnswerDecision(_ context.Context, r *v1.AnswerDecisionRequest) (*v1.AnswerDecisionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered = r
	return &v1.AnswerDecisionResponse{Outcome: v1.AnswerOutcome_ANSWER_OUTCOME_APPLIED}, nil
}

func (f *fakeServer) CreateTask(_ context.Context, r *v1.CreateTaskRequest) (*v1.CreateTaskResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.create = append(f.create, r)
	return &v1.CreateTaskResponse{
		Task:  &v1.Task{Id: "tsk"},
		Claim: &v1.Claim{Task: &v1.Task{Id: "tsk"}, LeaseId: "lease", Signals: []*v1.Signal{{Id: 3}}},
	}, nil
}

func (f *fakeServer) Heartbeat(ctx context.Context, r *v1.HeartbeatRequest) (*v1.HeartbeatResponse, error) {
	f.mu.Lock()
	f.beats = append(f.beats, r)
	n, beat := len(f.beats), f.beat
	f.mu.Unlock()
	res, err := beat(n, r)
	if res == nil && err == nil {
		<-ctx.Done() // nothing more to tell
		return nil, ctx.Err()
	}
	return res, err
}

func (f *fakeServer) MintTaskToken(context.Context, *v1.MintTaskTokenRequest) (*v1.MintTaskTokenResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	return &v1.MintTaskTokenResponse{Token: fmt.Sprintf("bk_tsk_%d", f.made), ExpireTime: timestamppb.New(time.Now().Add(time.Hour))}, nil
}

func (f *fakeServer) GetTask(ctx context.Context, _ *v1.GetTaskRequest) (*v1.GetTaskResponse, error) {
	info, _ := connect.CallInfoForServerContext(ctx)
	return &v1.GetTaskResponse{Task: &v1.Task{Title: info.RequestHeader().Get("Authorization")}}, nil
}

// intercept checks tokens as a server does, and makes trouble on demand.
func (f *fakeServer) intercept(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		info, _ := connect.CallInfoForServerContext(ctx)
		token := info.RequestHeader().Get("Authorization")
		f.mu.Lock()
		f.calls = append(f.calls, filepath.Base(spec.Procedure))
		refused := f.refuse > 0
		if refused {
			f.refuse--
		}
		good := token == "" || f.access[token[len("Bearer "):]] || token[:len("Bearer bk_")] == "Bearer bk_"
		f.mu.Unlock()
		switch {
		case refused:
			return refusal(connect.CodeUnavailable, &v1.ErrorInfo{Reason: "UNAVAILABLE"})
		case !good:
			return refusal(connect.CodeUnauthenticated, &v1.ErrorInfo{Reason: "BAD_TOKEN"})
		}
		return next(ctx, spec, stream)
	}
}

// ServeHTTP implements http.Handler for the answers that get lost.
func (f *fakeServer) handler() http.Handler {
	srv := connect.NewServer(f.intercept)
	beckonv1connect.RegisterTokenServiceHandler(srv, f)
	beckonv1connect.RegisterAccountServiceHandler(srv, f)
	beckonv1connect.RegisterPairingServiceHandler(srv, f)
	beckonv1connect.RegisterDecisionServiceHandler(srv, f)
	beckonv1connect.RegisterTaskServiceHandler(srv, f)
	beckonv1connect.RegisterAgentServiceHandler(srv, f)
	beckonv1connect.RegisterEffectServiceHandler(srv, f)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, srv)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			mux.ServeHTTP(w, r)
			return
		}
		kept := httptest.NewRecorder()
		mux.ServeHTTP(kept, r)
		f.mu.Lock()
		lost := f.lose > 0
		if lost {
			f.lose--
		}
		f.mu.Unlock()
		if lost {
			panic(http.ErrAbortHandler) // carried out, and nobody hears of it
		}
		maps.Copy(w.Header(), kept.Header())
		w.WriteHeader(kept.Code)
		_, _ = kept.Body.WriteTo(w)
	})
}

// serve starts the fake over h1, h2c or TLS.
func (f *fakeServer) serve(t testing.TB, protocol string) beckon.Options {
	t.Helper()
	s := httptest.NewUnstartedServer(f.handler())
	s.Config.ErrorLog = nil
	opts := beckon.Options{Retry: beckon.Retry{Base: time.Millisecond}}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	switch protocol {
	case "h2c":
		protocols.SetUnencryptedHTTP2(true)
		s.Config.Protocols = protocols
		s.Start()
	case "tls":
		s.EnableHTTP2 = true
		s.StartTLS()
		opts.CAFile = filepath.Join(t.TempDir(), "ca.pem")
		writeCA(t, opts.CAFile, s.Certificate())
	default:
		s.Config.Protocols = protocols
		s.Start()
	}
	t.Cleanup(s.Close)
	opts.Server = s.URL
	return opts
}

func writeCA(t testing.TB, path string, c *x509.Certificate) {
	t.Helper()
	raw := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// claim makes the person of the fake server.
func (f *fakeServer) claim(t testing.TB, opts beckon.Options) (*beckon.Person, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "deep", "default.profile.json")
	p := must(beckon.Claim(t.Context(), path, opts.Server+"/claim#bk_own_good", beckon.Device{Label: "Test"}, opts))(t)
	t.Cleanup(p.Close)
	return p, path
}

func profileAt(t testing.TB, path string) beckon.Profile {
	t.Helper()
	var p beckon.Profile
	if err := json.Unmarshal(must(os.ReadFile(path))(t), &p); err != nil {
		t.Fatal(err)
	}
	return p
}
