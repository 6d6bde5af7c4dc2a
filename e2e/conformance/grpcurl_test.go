package conformance_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/stack"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// unauthenticated is how grpcurl ends with that code: 64 and the number of the
// code in gRPC.
const unauthenticated = 64 + 16

// TestGRPCurl: a client that knows gRPC and the schema, and nothing of ours,
// works against the built server over HTTP/2 in clear. The server tells nobody
// its schema, so the client brings it.
func TestGRPCurl(t *testing.T) {
	dir := t.TempDir()
	schema, program := filepath.Join(dir, "schema.binpb"), filepath.Join(dir, "beckond")
	buf(t, "build", "proto", "-o", schema)
	must(t, root, "go", "build", "-o", program, "./server/cmd/beckond")
	server := stack.NewServer(t, stack.Binaries{Beckond: program})
	server.Start()
	key := agentKey(t, server, dir)
	curl := func(credential, call, body string) (string, int) {
		args := []string{"tool", "grpcurl", "-plaintext", "-protoset", schema, "-d", body}
		if credential != "" {
			args = append(args, "-H", "Authorization: Bearer "+credential)
		}
		return run(t, ".", "go", append(args, strings.TrimPrefix(server.URL, "http://"), call)...)
	}

	out, status := curl("", "beckon.v1.TaskService/GetTask", `{"task_id":"tsk_nobodys"}`)
	if status != 1 && status != unauthenticated {
		t.Errorf("a call without credential ended with %d", status)
	}
	for _, want := range []string{"Code: Unauthenticated", "beckon.v1.ErrorInfo", `"reason": "NO_CREDENTIAL"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the refusal does not say %s:\n%s", want, out)
		}
	}

	var made struct{ Task struct{ ID, Title string } }
	out, status = curl(key, "beckon.v1.TaskService/CreateTask", `{"idempotency_key":"k","title":"From afar"}`)
	if err := json.Unmarshal([]byte(out), &made); err != nil || status != 0 || made.Task.ID == "" {
		t.Fatalf("create ended with %d, %v:\n%s", status, err, out)
	}
	out, status = curl(key, "beckon.v1.TaskService/GetTask", `{"task_id":"`+made.Task.ID+`"}`)
	if err := json.Unmarshal([]byte(out), &made); err != nil || status != 0 || made.Task.Title != "From afar" {
		t.Errorf("get ended with %d, %v:\n%s", status, err, out)
	}

	// Reflection would tell the schema; it is off.
	out, status = run(t, ".", "go", "tool", "grpcurl", "-plaintext", strings.TrimPrefix(server.URL, "http://"), "list")
	if status == 0 || !strings.Contains(out, "server does not support the reflection API") {
		t.Errorf("list ended with %d:\n%s", status, out)
	}
}

// agentKey claims the server and makes an agent.
func agentKey(t *testing.T, server *stack.Server, dir string) string {
	t.Helper()
	ctx := t.Context()
	owner, err := beckon.Claim(ctx, filepath.Join(dir, "owner.json"), server.ClaimLink(), beckon.Device{Label: "laptop"}, beckon.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	made, err := owner.Agents.CreateAgent(ctx, &v1.CreateAgentRequest{IdempotencyKey: "agent", Name: "Afar"})
	if err != nil {
		t.Fatal(err)
	}
	issued, err := owner.Agents.IssueKey(ctx, &v1.IssueKeyRequest{AgentId: made.GetLink().GetAgentId()})
	if err != nil {
		t.Fatal(err)
	}
	return issued.GetSecret()
}
