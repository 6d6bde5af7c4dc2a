package beckon_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
)

// A worker asks before it acts. In a program the key comes from
// [beckon.AgentFromEnv].
func ExampleWork_Ask() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()

	agent, err := beckon.NewAgent(beckon.KeyFile{Key: "bk_agt_…"}, beckon.Options{Server: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	work, err := agent.Start(ctx, &v1.CreateTaskRequest{Title: "Tidy the archive"})
	if err != nil {
		fmt.Println(err)
		return
	}
	alive := work.KeepAlive(ctx)
	defer alive.Close()

	asked, err := work.Ask(ctx, &v1.RequestDecisionRequest{
		Key: "tidy-2024", Kind: v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, Title: "Delete 12 old files?",
		Items: []*v1.DecisionItem{{Id: "delete", Action: &v1.Action{
			App: "files", Operation: "delete", ArgsJson: []byte(`{"folder":"2024"}`),
			EffectClass: v1.EffectClass_EFFECT_CLASS_WRITE_REVERSIBLE,
		}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	closed, err := work.Wait(ctx, asked.GetId())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(closed.GetState(), closed.GetAnswer().GetItems()[0].GetOptionIds())
	// Output: DECISION_STATE_RESOLVED [approve]
}

// A worker that may be killed at any time claims again and goes on from its
// checkpoint. The lease is named in every write, so a worker that was replaced
// changes nothing.
func ExampleAgent_Claim() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()

	agent, err := beckon.NewAgent(beckon.KeyFile{Key: "bk_agt_…"}, beckon.Options{Server: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	work, err := agent.Claim(ctx, &v1.ClaimTaskRequest{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("goes on at:", work.Checkpoint.GetNextStep())
	_, err = work.Complete(ctx, &v1.TaskResult{Summary: "Done"})
	if e, ok := errors.AsType[*beckon.Error](err); ok && e.Reason == beckon.ReasonLeaseLost {
		fmt.Println("somebody else has the task now")
	}
	// Output:
	// goes on at: step two
	// somebody else has the task now
}

// exampleServer answers as a server would.
func exampleServer() *httptest.Server {
	srv := connect.NewServer()
	beckonv1connect.RegisterTaskServiceHandler(srv, exampleTasks{})
	beckonv1connect.RegisterDecisionServiceHandler(srv, exampleDecisions{})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, srv)
	return httptest.NewServer(mux)
}

type exampleTasks struct {
	beckonv1connect.UnimplementedTaskServiceHandler
}

func (exampleTasks) CreateTask(context.Context, *v1.CreateTaskRequest) (*v1.CreateTaskResponse, error) {
	return &v1.CreateTaskResponse{Claim: &v1.Claim{Task: &v1.Task{Id: "tsk_1"}, LeaseId: "lease"}}, nil
}

func (exampleTasks) ClaimTask(context.Context, *v1.ClaimTaskRequest) (*v1.ClaimTaskResponse, error) {
	return &v1.ClaimTaskResponse{Claim: &v1.Claim{
		Task: &v1.Task{Id: "tsk_1"}, LeaseId: "lease", Checkpoint: &v1.Checkpoint{Version: 1, NextStep: "step two"},
	}}, nil
}

func (exampleTasks) Heartbeat(ctx context.Context, _ *v1.HeartbeatRequest) (*v1.HeartbeatResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (exampleTasks) CompleteTask(context.Context, *v1.CompleteTaskRequest) (*v1.CompleteTaskResponse, error) {
	return nil, refusal(connect.CodeFailedPrecondition, &v1.ErrorInfo{Reason: "LEASE_LOST"})
}

type exampleDecisions struct {
	beckonv1connect.UnimplementedDecisionServiceHandler
}

func (exampleDecisions) RequestDecision(_ context.Context, r *v1.RequestDecisionRequest) (*v1.RequestDecisionResponse, error) {
	return &v1.RequestDecisionResponse{Decision: &v1.Decision{Id: "dec_1", State: v1.DecisionState_DECISION_STATE_PENDING, Key: r.GetKey()}}, nil
}

func (exampleDecisions) WaitDecision(context.Context, *v1.WaitDecisionRequest) (*v1.WaitDecisionResponse, error) {
	return &v1.WaitDecisionResponse{Decision: &v1.Decision{
		Id: "dec_1", State: v1.DecisionState_DECISION_STATE_RESOLVED,
		Answer: &v1.Answer{Items: []*v1.AnswerItem{{ItemId: "delete", OptionIds: []string{"approve"}}}},
	}}, nil
}
