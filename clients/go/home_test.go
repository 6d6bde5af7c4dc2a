package beckon_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	"connectrpc.com/connect/v2/connecthttp"

	"connectrpc.com/connect/v2"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
)

// home is a server with one task, and a person who approves everything while
// the task sleeps. Time passes at once while it does.
type home struct {
	beckonv1connect.UnimplementedTaskServiceHandler
	beckonv1connect.UnimplementedDecisionServiceHandler
	beckonv1connect.UnimplementedEffectServiceHandler
	beckonv1connect.UnimplementedTimerServiceHandler

	agent *beckon.Agent
	// end is called when the task has ended.
	end   func()
	close func()

	mu         sync.Mutex
	claims     int
	running    bool
	checkpoint *v1.Checkpoint
	decisions  map[string]*v1.Decision
	timers     map[string]*v1.Timer
	effects    map[string]*v1.Effect
	ended      *v1.CompleteTaskRequest
	failed     *v1.TaskFailure
	yields     []*v1.YieldTaskRequest
}

// newHome gives the home, and a context that ends with the task.
func newHome() (*home, context.Context) {
	ctx, end := context.WithCancel(context.Background())
	h := &home{decisions: map[string]*v1.Decision{}, timers: map[string]*v1.Timer{}, effects: map[string]*v1.Effect{}, end: end}
	srv := connect.NewServer()
	beckonv1connect.RegisterTaskServiceHandler(srv, h)
	beckonv1connect.RegisterDecisionServiceHandler(srv, h)
	beckonv1connect.RegisterEffectServiceHandler(srv, h)
	beckonv1connect.RegisterTimerServiceHandler(srv, h)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, srv)
	server := httptest.NewServer(mux)
	var err error
	if h.agent, err = beckon.NewAgent(beckon.KeyFile{Key: "bk_agt_…"}, beckon.Options{Server: server.URL}); err != nil {
		panic(err)
	}
	h.close = func() {
		end()
		h.agent.Close()
		server.Close()
	}
	return h, ctx
}

func (h *home) ClaimTask(context.Context, *v1.ClaimTaskRequest) (*v1.ClaimTaskResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running || h.ended != nil || h.failed != nil {
		return &v1.ClaimTaskResponse{}, nil
	}
	h.claims++
	h.running = true
	return &v1.ClaimTaskResponse{Claim: &v1.Claim{
		Task: &v1.Task{Id: "tsk_1"}, LeaseId: fmt.Sprint("lease-", h.claims), Checkpoint: h.checkpoint,
	}}, nil
}

func (h *home) Heartbeat(ctx context.Context, _ *v1.HeartbeatRequest) (*v1.HeartbeatResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h *home) SaveCheckpoint(_ context.Context, r *v1.SaveCheckpointRequest) (*v1.SaveCheckpointResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keep(r.GetCheckpoint())
	return &v1.SaveCheckpointResponse{Version: h.checkpoint.GetVersion()}, nil
}

func (h *home) keep(c *v1.CheckpointWrite) {
	h.checkpoint = &v1.Checkpoint{Version: c.GetExpectedVersion() + 1, Data: c.GetData(), SchemaVersion: c.GetSchemaVersion()}
}

// YieldTask lets everything happen that the task waits for.
func (h *home) YieldTask(_ context.Context, r *v1.YieldTaskRequest) (*v1.YieldTaskResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = false
	h.yields = append(h.yields, r)
	if r.GetCheckpoint() != nil {
		h.keep(r.GetCheckpoint())
	}
	for _, d := range h.decisions {
		if d.GetState() != v1.DecisionState_DECISION_STATE_PENDING {
			continue
		}
		item := d.GetItems()[0]
		d.State = v1.DecisionState_DECISION_STATE_RESOLVED
		d.Answer = &v1.Answer{Items: []*v1.AnswerItem{{ItemId: item.GetId(), OptionIds: []string{item.GetOptions()[0].GetId()}}}}
		d.Grants = []*v1.Grant{{Id: "grt_" + d.GetKey(), ItemId: item.GetId()}}
	}
	for _, key := range r.GetWait().GetTimers() {
		h.timers[key].Fired = true
	}
	return &v1.YieldTaskResponse{Phase: v1.TaskPhase_TASK_PHASE_WAITING}, nil
}

func (h *home) ReleaseTask(context.Context, *v1.ReleaseTaskRequest) (*v1.ReleaseTaskResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = false
	return &v1.ReleaseTaskResponse{}, nil
}

func (h *home) CompleteTask(_ context.Context, r *v1.CompleteTaskRequest) (*v1.CompleteTaskResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.running = r, false
	h.end()
	return &v1.CompleteTaskResponse{}, nil
}

func (h *home) FailTask(_ context.Context, r *v1.FailTaskRequest) (*v1.FailTaskResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed, h.running = r.GetFailure(), false
	h.end()
	return &v1.FailTaskResponse{}, nil
}

func (h *home) RequestDecision(_ context.Context, r *v1.RequestDecisionRequest) (*v1.RequestDecisionResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.decisions[r.GetKey()]
	if d == nil {
		d = &v1.Decision{Id: "dec_" + r.GetKey(), Key: r.GetKey(), State: v1.DecisionState_DECISION_STATE_PENDING, Items: r.GetItems()}
		if len(d.GetItems()[0].GetOptions()) == 0 {
			d.Items[0].Options = []*v1.Option{{Id: "approve", Kind: v1.OptionKind_OPTION_KIND_ALLOW_ONCE}}
		}
		h.decisions[r.GetKey()] = d
	}
	return &v1.RequestDecisionResponse{Decision: d}, nil
}

func (h *home) ListTimers(context.Context, *v1.ListTimersRequest) (*v1.ListTimersResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := &v1.ListTimersResponse{}
	for _, t := range h.timers {
		out.Timers = append(out.Timers, t)
	}
	return out, nil
}

func (h *home) SetTimer(_ context.Context, r *v1.SetTimerRequest) (*v1.SetTimerResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timers[r.GetKey()] = &v1.Timer{Key: r.GetKey(), Data: r.GetData()}
	return &v1.SetTimerResponse{Timer: h.timers[r.GetKey()]}, nil
}

func (h *home) BeginEffect(_ context.Context, r *v1.BeginEffectRequest) (*v1.BeginEffectResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.effects[r.GetKey()]; e != nil {
		return &v1.BeginEffectResponse{Outcome: v1.BeginOutcome_BEGIN_OUTCOME_KNOWN, Effect: e}, nil
	}
	e := &v1.Effect{Id: "eff_" + r.GetKey(), Key: r.GetKey(), State: v1.EffectState_EFFECT_STATE_BEGUN, Generation: 1}
	for _, d := range h.decisions {
		if len(d.GetGrants()) == 1 && d.GetGrants()[0].GetId() == r.GetGrantId() {
			e.Action = d.GetItems()[0].GetAction()
		}
	}
	h.effects[r.GetKey()] = e
	return &v1.BeginEffectResponse{Outcome: v1.BeginOutcome_BEGIN_OUTCOME_GO, Effect: e}, nil
}

func (h *home) ConfirmEffect(_ context.Context, r *v1.ConfirmEffectRequest) (*v1.ConfirmEffectResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.effects {
		if e.GetId() == r.GetEffectId() {
			e.State, e.Receipt = v1.EffectState_EFFECT_STATE_CONFIRMED, r.GetReceipt()
			return &v1.ConfirmEffectResponse{Effect: e}, nil
		}
	}
	return &v1.ConfirmEffectResponse{}, nil
}
