package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/validate"

	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
)

// Authenticator turns the Authorization headers of a call into who calls.
// Errors: app.ErrBadToken, app.ErrExpired, app.ErrRevoked.
type Authenticator interface {
	Authenticate(ctx context.Context, headers []string) (policy.Principal, error)
}

// Config is what the edge stands on.
type Config struct {
	App  *app.App
	Auth Authenticator
	// Table is who may call what.
	Table map[string]policy.Row
	// Rates are shared with the other doors of the server.
	Rates *Rates
	Log   *slog.Logger
	// LogKey turns ids into tags for the log; at least 16 bytes.
	LogKey []byte
	// Observe hears of every call that has ended; nil is nobody.
	Observe func(Call)
	// Now is the clock of durations; default time.Now.
	Now func() time.Time
}

// ErrTable: the authorisation table and the contract do not name the same
// procedures.
var ErrTable = errors.New("rpc: authorisation table")

// edge is what the interceptors share.
type edge struct {
	app     *app.App
	auth    Authenticator
	table   map[string]policy.Row
	rates   *Rates
	log     *slog.Logger
	logKey  []byte
	observe func(Call)
	now     func() time.Time
	// owned: the server was claimed, which never changes back.
	owned atomic.Bool
}

// NewServer makes the dispatcher with all services. It fails with ErrTable
// when a procedure has no row or a row no procedure, and when the rules of the
// contract do not compile.
func NewServer(cfg Config) (*connect.Server, error) {
	e := newEdge(cfg)
	// The rules have to be known before the server that knows the procedures
	// is made, so the procedures are read from one without interceptors.
	specs := connect.NewServer()
	register(specs, cfg.App, nil)
	if err := checkTable(specs, cfg.Table); err != nil {
		return nil, err
	}
	validator, err := newValidator(specs.Specs())
	if err != nil {
		return nil, err
	}
	gate := &mutationGate{edge: e, validator: validator, rows: table()}
	srv := connect.NewServer(
		e.logCalls, refuse(table()), recoverPanics, limitTime,
		e.authenticate, e.authorise, e.limitRate,
		validate.NewServerInterceptor(validate.WithValidator(validator), validate.WithoutErrorDetails()),
		codeContext,
	)
	register(srv, cfg.App, gate)
	srv.SetUnknownHandler(func(context.Context, connect.Spec, connect.ServerStream) error {
		return connect.NewError(connect.CodeUnimplemented, "")
	})
	return srv, nil
}

// NewBare makes a dispatcher with what surrounds every call of any service: the
// log, panics, time, and the codes of contexts. What is Beckon's own is left
// out: credentials, rates, rules, and the words of refusals. The public cases
// for the protocols, which want their own errors back, judge the transport
// through it.
func NewBare(log *slog.Logger) *connect.Server {
	e := newEdge(Config{Log: log})
	return connect.NewServer(e.logCalls, recoverPanics, limitTime, codeContext)
}

func newEdge(cfg Config) *edge {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Call) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &edge{
		app: cfg.App, auth: cfg.Auth, table: cfg.Table, rates: cfg.Rates,
		log: cfg.Log, logKey: cfg.LogKey, observe: cfg.Observe, now: cfg.Now,
	}
}

func register(srv *connect.Server, a *app.App, gate *mutationGate) {
	beckonv1connect.RegisterTaskServiceHandler(srv, taskService{a})
	beckonv1connect.RegisterDecisionServiceHandler(srv, decisionService{a})
	beckonv1connect.RegisterEffectServiceHandler(srv, effectService{a})
	beckonv1connect.RegisterThreadServiceHandler(srv, threadService{a})
	beckonv1connect.RegisterItemServiceHandler(srv, itemService{a})
	beckonv1connect.RegisterDraftServiceHandler(srv, draftService{a})
	beckonv1connect.RegisterSyncServiceHandler(srv, syncService{app: a, mutations: gate})
	beckonv1connect.RegisterAccountServiceHandler(srv, accountService{a})
	beckonv1connect.RegisterAddressServiceHandler(srv, addressService{a})
	beckonv1connect.RegisterAgentServiceHandler(srv, agentService{a})
	beckonv1connect.RegisterAuditServiceHandler(srv, auditService{a})
	beckonv1connect.RegisterArtifactServiceHandler(srv, artifactService{a})
	beckonv1connect.RegisterDeliveryServiceHandler(srv, deliveryService{a})
	beckonv1connect.RegisterTimerServiceHandler(srv, timerService{a})
	beckonv1connect.RegisterInstallationServiceHandler(srv, installationService{a})
	beckonv1connect.RegisterPairingServiceHandler(srv, pairingService{a})
	beckonv1connect.RegisterTokenServiceHandler(srv, tokenService{a})
}

func checkTable(srv *connect.Server, rows map[string]policy.Row) error {
	left := maps.Clone(rows)
	for spec := range srv.Specs() {
		if _, ok := left[spec.Procedure]; !ok {
			return fmt.Errorf("%w: no row for %s", ErrTable, spec.Procedure)
		}
		if len(rows[spec.Procedure].Kinds) == 0 {
			return fmt.Errorf("%w: nobody may call %s", ErrTable, spec.Procedure)
		}
		delete(left, spec.Procedure)
	}
	if len(left) > 0 {
		return fmt.Errorf("%w: no procedure for %s", ErrTable, slices.Min(slices.Collect(maps.Keys(left))))
	}
	return nil
}

// Sizes of a message after decompression.
const (
	messageBytes    = 256 << 10
	decisionBytes   = 512 << 10
	checkpointBytes = 1<<20 + 64<<10
	// artifactBytes is for 256 KiB of data, which JSON makes a third longer, and
	// what is said of them.
	artifactBytes = 384 << 10
	// chunkBytes is for a chunk of 64 KiB, likewise.
	chunkBytes = 96 << 10
	// BodyBytes is the largest body of all but uploads, for the HTTP server
	// around; see BodyLimit.
	BodyBytes = 4 << 20
	// mutateBytes is for a queue that has waited for long.
	mutateBytes = 1 << 20
	// uploadBytes is for 64 MiB in chunks, in JSON, with room for framing. Chunks
	// of a few bytes do not get that far.
	uploadBytes = 96 << 20
)

// BodyLimit is how large the body of a request may be.
func BodyLimit(r *http.Request) int64 {
	if r.URL.Path == beckonv1connect.ArtifactServiceUploadArtifactProcedure {
		return uploadBytes
	}
	return BodyBytes
}

// readLimit is how large a request of a procedure may be.
func readLimit(procedure string) int {
	switch procedure {
	case beckonv1connect.DecisionServiceRequestDecisionProcedure:
		return decisionBytes
	case beckonv1connect.TaskServiceSaveCheckpointProcedure, beckonv1connect.TaskServiceYieldTaskProcedure:
		return checkpointBytes
	case beckonv1connect.SyncServiceMutateProcedure:
		return mutateBytes
	case beckonv1connect.ItemServiceAppendItemsProcedure:
		return BodyBytes
	case beckonv1connect.ArtifactServicePutArtifactProcedure:
		return artifactBytes
	case beckonv1connect.ArtifactServiceUploadArtifactProcedure:
		return chunkBytes
	default:
		return messageBytes
	}
}

// Mount makes the procedures reachable on a mux.
func Mount(mux connecthttp.ServeMux, srv *connect.Server) {
	connecthttp.Mount(streamingMux{mux}, srv,
		connecthttp.WithCompressMinBytes(1024),
		connecthttp.WithConditionalOptions(func(spec connect.Spec) []connecthttp.Option {
			return []connecthttp.Option{connecthttp.WithReadMaxBytes(readLimit(spec.Procedure))}
		}))
}
