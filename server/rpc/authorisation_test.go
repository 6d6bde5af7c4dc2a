package rpc_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectinprocess"
	"connectrpc.com/connect/v2/connectproto"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/rpc"
)

// update rewrites the golden file. Review the difference line by line: each is
// something somebody may do now, or may not any more.
var update = flag.Bool("update", false, "rewrite testdata/authorisation.golden")

const golden = "testdata/authorisation.golden"

func (w *world) now() time.Time { return time.Now() }

// callers are the kinds of principals that reach the port.
func (w *world) callers() []caller {
	return []caller{
		{"anonymous", "", w.own.phone},
		{"installation", w.own.phone.token, w.own.phone},
		{"probation", w.own.probation.token, w.own.probation},
		{"agent", w.own.agent.token, w.own.phone},
		{"task_token", w.own.agent.taskToken, w.own.phone},
	}
}

// caller is a kind, its credential, and the device that signs where a call
// carries a proof.
type caller struct {
	kind, token string
	device      device
}

const callerCount = 5

// TestAuthorisation makes every call as every kind of caller on its own,
// another agent's, another account's and nobody's things, each on a fresh
// account, and compares what happened with the reviewed file.
func TestAuthorisation(t *testing.T) {
	t.Parallel()
	server := newWorld(t)
	specs := server.specs()
	known := requests()
	lines := map[string]string{}
	var mu sync.Mutex
	t.Run("calls", func(t *testing.T) {
		for _, spec := range specs {
			request, ok := known[spec.Procedure]
			if !ok {
				t.Errorf("no request for %s", spec.Procedure)
				continue
			}
			for _, target := range targets() {
				if !request.named && target.name != "own" {
					continue
				}
				t.Run(spec.Procedure[len("/beckon.v1."):]+"/"+target.name, func(t *testing.T) {
					t.Parallel()
					line := cells(t, server, connectinprocess.New(server.srv), spec, request, target)
					mu.Lock()
					defer mu.Unlock()
					lines[spec.Procedure+" "+target.name] = line
				})
			}
		}
	})
	compareGolden(t, lines)
}

// cells is one line of the table.
func cells(t *testing.T, server *world, wire connect.Transport, spec connect.Spec, request request, target target) string {
	t.Helper()
	var out strings.Builder
	for i := range callerCount {
		w := server.fresh(t)
		c := w.callers()[i]
		result := w.call(wire, spec, c.token, request.make(w, c.device, target.side(w)))
		fmt.Fprintf(&out, " %-30s", result)
	}
	return strings.TrimRight(out.String(), " ")
}

func compareGolden(t *testing.T, lines map[string]string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# What each kind of caller meets. Made by TestAuthorisation -update; every change is reviewed.\n")
	fmt.Fprintf(&b, "%-44s %-8s", "# procedure", "target")
	for _, kind := range []string{"anonymous", "installation", "probation", "agent", "task_token"} {
		fmt.Fprintf(&b, " %-30s", kind)
	}
	b.WriteString("\n")
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		procedure, target, _ := strings.Cut(key, " ")
		fmt.Fprintf(&b, "%-44s %-8s%s\n", procedure[len("/beckon.v1."):], target, lines[key])
	}
	if *update {
		check(t, os.WriteFile(golden, []byte(b.String()), 0o600))
		return
	}
	want, err := os.ReadFile(golden)
	check(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Error("the table changed (-reviewed +now):\n", diff)
	}
}

func (w *world) specs() []connect.Spec {
	specs := slices.Collect(w.srv.Specs())
	slices.SortFunc(specs, func(a, b connect.Spec) int { return strings.Compare(a.Procedure, b.Procedure) })
	return specs
}

// call makes one call and says what came of it: "ok", or the code and reason of
// the refusal.
func (w *world) call(tr connect.Transport, spec connect.Spec, token string, request proto.Message) string {
	w.t.Helper()
	method, ok := spec.Schema.(protoreflect.MethodDescriptor)
	if !ok {
		w.t.Fatalf("%s has no schema", spec.Procedure)
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	check(w.t, err)
	answer := kind.New().Interface()
	if spec.StreamType == connect.StreamTypeUnary {
		err = as(tr, token).CallUnary(context.WithoutCancel(w.t.Context()), spec, request, answer)
	} else {
		answer, err = w.firstFrame(as(tr, token), spec, request, answer)
	}
	if err == nil {
		return outcome(answer)
	}
	e, ok := errors.AsType[*connect.Error](err)
	if !ok || len(e.Details()) != 1 {
		w.t.Fatalf("%s: refused without a reason: %v", spec.Procedure, err)
	}
	detail, err := connectproto.UnmarshalErrorDetail(e.Details()[0])
	check(w.t, err)
	info, ok := detail.(*v1.ErrorInfo)
	if !ok {
		w.t.Fatalf("%s: detail %T", spec.Procedure, detail)
	}
	return info.GetReason()
}

// firstFrame opens a stream and gives what it begins with, or, where that is a
// Hello, what comes after.
func (w *world) firstFrame(c *connect.Client, spec connect.Spec, request, frame proto.Message) (proto.Message, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	defer cancel()
	// Not CallServerStream: a call that is refused before its request is read
	// fails in Send, and the reason is what Receive gives.
	stream, err := c.CallClientStream(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	if err := errors.Join(stream.Send(request), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := stream.Receive(frame); err != nil {
		return nil, err
	}
	switch first := frame.(type) {
	case *v1.UploadArtifactResponse, *v1.DownloadArtifactResponse:
		return frame, nil // what comes after it is the artifact's
	case *v1.WatchResponse:
		if first.GetHello() == nil {
			w.t.Errorf("%s begins with %v", spec.Procedure, frame)
		}
	}
	next := frame.ProtoReflect().New().Interface()
	return next, stream.Receive(next)
}

// outcome tells answers apart that are no errors and still no.
func outcome(answer proto.Message) string {
	switch a := answer.(type) {
	case *v1.AnswerDecisionResponse:
		return "ok:" + strings.TrimPrefix(a.GetOutcome().String(), "ANSWER_OUTCOME_")
	case *v1.ClaimTaskResponse:
		if a.GetClaim() == nil {
			return "ok:nothing"
		}
	case *v1.WatchResponse:
		if reset := a.GetDelta().GetReset_(); reset != nil {
			return "ok:reset " + strings.TrimPrefix(reset.GetReason().String(), "RESET_REASON_")
		}
	case *v1.MutateResponse:
		o := a.GetOutcomes()[0]
		return strings.TrimSuffix("ok:"+strings.TrimPrefix(o.GetResult().String(), "MUTATION_RESULT_")+" "+o.GetError().GetReason(), " ")
	case *v1.PointResponse:
		if f := a.GetFound()[0]; len(f.GetPut()) == 0 && f.GetAsOf() == nil {
			return "ok:nothing"
		}
	case *v1.PullResponse:
		if reset := a.GetDeltas()[0].GetReset_(); reset != nil {
			return "ok:reset " + strings.TrimPrefix(reset.GetReason().String(), "RESET_REASON_")
		}
	}
	return "ok"
}

func TestAProcedureWithoutARowStopsTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, change := range map[string]func(map[string]policy.Row){
		"no row":       func(rows map[string]policy.Row) { delete(rows, "/beckon.v1.TaskService/StopTask") },
		"nobody in it": func(rows map[string]policy.Row) { rows["/beckon.v1.TaskService/StopTask"] = policy.Row{} },
		"no procedure": func(rows map[string]policy.Row) {
			rows["/beckon.v1.TaskService/Gone"] = policy.Row{Kinds: policy.Kinds[:]}
		},
	} {
		cfg := w.config()
		change(cfg.Table)
		if _, err := rpc.NewServer(cfg); !errors.Is(err, rpc.ErrTable) {
			t.Errorf("%s: NewServer = %v", name, err)
		}
	}
}

// TestAuthorisationOverHTTP makes some of the calls over a real wire in both
// encodings, and wants the table's own words.
func TestAuthorisationOverHTTP(t *testing.T) {
	t.Parallel()
	server := newWorld(t)
	mux := http.NewServeMux()
	rpc.Mount(mux, server.srv)
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	binary := connecthttp.NewTransport(web.Client(), web.URL)
	json := connecthttp.NewTransport(web.Client(), web.URL, connecthttp.WithProtoJSON())
	known := requests()
	for _, spec := range server.specs() {
		switch strings.TrimPrefix(spec.Procedure, "/beckon.v1.") {
		case "TaskService/GetTask", "TaskService/Heartbeat", "TaskService/StopTask", "DecisionService/AnswerDecision",
			"AgentService/IssueKey", "AgentService/MintTaskToken", "ArtifactService/UploadArtifact", "ArtifactService/DownloadArtifact", "SyncService/Pull", "SyncService/Watch", "PairingService/RedeemPairing":
		default:
			continue
		}
		for _, target := range targets() {
			inside := cells(t, server, connectinprocess.New(server.srv), spec, known[spec.Procedure], target)
			for name, wire := range map[string]connect.Transport{"binary": binary, "JSON": json} {
				if outside := cells(t, server, wire, spec, known[spec.Procedure], target); outside != inside {
					t.Errorf("%s %s over %s:\n%s\nin process:\n%s", spec.Procedure, target.name, name, outside, inside)
				}
			}
		}
	}
}
