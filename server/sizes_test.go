package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// raw posts a body as it is and returns status, reason and bound.
func raw(t *testing.T, client *http.Client, url, token string, header http.Header, body io.Reader) (status int, reason string, bound int64) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	check(t, err)
	request.Header = header.Clone()
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	check(t, err)
	defer answer.Body.Close() //nolint:errcheck // read to the end
	var refused struct {
		Details []struct {
			Debug struct {
				Reason string
				Max    json.Number
			}
		}
	}
	text, err := io.ReadAll(answer.Body)
	check(t, err)
	if json.Unmarshal(text, &refused) == nil && len(refused.Details) == 1 {
		bound, _ = refused.Details[0].Debug.Max.Int64()
		return answer.StatusCode, refused.Details[0].Debug.Reason, bound
	}
	return answer.StatusCode, "", 0
}

// TestSizes: each call has its bound, after decompression too, and one byte
// less passes it.
func TestSizes(t *testing.T) {
	t.Parallel()
	s := start(t)
	wire := transports(t)[0].connect(t, s)
	me := claim(t, s, wire)
	agent := me.agent(t, wire)
	work := held(t, agent, "sizes")
	data := func(n int) []byte { return bytes.Repeat([]byte{7}, n) }
	calls := map[string]struct {
		procedure string
		bound     int64
		message   func(n int) proto.Message
	}{
		"most": {"TaskService/CreateTask", 256 << 10, func(n int) proto.Message {
			return &v1.CreateTaskRequest{IdempotencyKey: "k", Title: "t", Input: data(n)}
		}},
		"questions": {"DecisionService/RequestDecision", 512 << 10, func(n int) proto.Message {
			r := question(work, "size")
			r.Items[0].Action.TargetJson = data(n)
			return r
		}},
		"checkpoints": {"TaskService/SaveCheckpoint", 1<<20 + 64<<10, func(n int) proto.Message {
			return &v1.SaveCheckpointRequest{TaskId: work.GetTask().GetId(), LeaseId: work.GetLeaseId(), Checkpoint: &v1.CheckpointWrite{Data: data(n)}}
		}},
		"yields": {"TaskService/YieldTask", 1<<20 + 64<<10, func(n int) proto.Message {
			return &v1.YieldTaskRequest{
				TaskId: work.GetTask().GetId(), LeaseId: work.GetLeaseId(), Wait: &v1.WaitSet{}, Checkpoint: &v1.CheckpointWrite{Data: data(n)},
			}
		}},
	}
	issued, err := me.ListAgents(t.Context(), &v1.ListAgentsRequest{})
	check(t, err)
	key, err := me.IssueKey(t.Context(), &v1.IssueKeyRequest{AgentId: issued.GetLinks()[0].GetAgentId()})
	check(t, err)
	client := httpClient(t, func(p *http.Protocols) { p.SetHTTP1(true); p.SetUnencryptedHTTP2(true) }, nil)
	plain := http.Header{"Content-Type": {"application/proto"}}
	zipped := http.Header{"Content-Type": {"application/proto"}, "Content-Encoding": {"gzip"}}
	for name, c := range calls {
		url := s.URL() + "/beckon.v1." + c.procedure
		over := exactly(t, int(c.bound)+1, c.message)
		if status, reason, bound := raw(t, client, url, key.GetSecret(), plain, bytes.NewReader(over)); status != 429 || reason != "MESSAGE_TOO_LARGE" || bound != c.bound {
			t.Errorf("%s: a byte too many met %d %s %d", name, status, reason, bound)
		}
		if status, reason, bound := raw(t, client, url, key.GetSecret(), zipped, zip(t, over)); status != 429 || reason != "MESSAGE_TOO_LARGE" || bound != c.bound {
			t.Errorf("%s: a byte too many in gzip met %d %s %d", name, status, reason, bound)
		}
		within := exactly(t, int(c.bound), c.message)
		if status, reason, _ := raw(t, client, url, key.GetSecret(), plain, bytes.NewReader(within)); reason == "MESSAGE_TOO_LARGE" {
			t.Errorf("%s: the bound itself met %d %s", name, status, reason)
		}
	}
	status, reason, _ := raw(t, client, s.URL()+"/beckon.v1.ItemService/AppendItems", key.GetSecret(), plain, bytes.NewReader(data(5<<20)))
	if status != 429 || reason != "MESSAGE_TOO_LARGE" {
		t.Errorf("5 MiB met %d %s", status, reason)
	}
	bomb := zip(t, data(16<<20))
	if status, reason, _ := raw(t, client, s.URL()+"/beckon.v1.TaskService/GetTask", key.GetSecret(), zipped, bomb); status != 429 || reason != "MESSAGE_TOO_LARGE" {
		t.Errorf("a bomb met %d %s", status, reason)
	}
	if got, err := agent.SaveCheckpoint(t.Context(), &v1.SaveCheckpointRequest{
		TaskId: work.GetTask().GetId(), LeaseId: work.GetLeaseId(), Checkpoint: &v1.CheckpointWrite{Data: data(1 << 20)},
	}); err != nil || got.GetVersion() != 1 {
		t.Errorf("a checkpoint of 1 MiB: %v, %v", got, err)
	}
}

// exactly makes a message of n bytes.
func exactly(t *testing.T, n int, message func(int) proto.Message) []byte {
	t.Helper()
	fill := n
	for range 8 { // the length of a field is a number of its own
		over := proto.Size(message(fill)) - n
		if over == 0 {
			b, err := proto.Marshal(message(fill))
			check(t, err)
			return b
		}
		fill -= over
	}
	t.Fatal("no such message")
	return nil
}

func zip(t *testing.T, b []byte) io.Reader {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(b)
	check(t, errors.Join(err, z.Close()))
	return &out
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	s := start(t)
	me := claim(t, s, transports(t)[0].connect(t, s))
	client := httpClient(t, func(p *http.Protocols) { p.SetHTTP1(true) }, nil)
	url := s.URL() + "/beckon.v1.TaskService/GetTask"
	for name, c := range map[string]struct {
		header http.Header
		body   string
		status int
		reason string
	}{
		"no JSON":            {http.Header{"Content-Type": {"application/json"}}, `{`, 400, "MALFORMED"},
		"another type":       {http.Header{"Content-Type": {"application/json"}}, `{"taskId": 7}`, 400, "MALFORMED"},
		"no protobuf":        {http.Header{"Content-Type": {"application/proto"}}, "\xff\xff\xff", 400, "MALFORMED"},
		"text that is none":  {http.Header{"Content-Type": {"application/proto"}}, "\x0a\x01\xff", 400, "MALFORMED"},
		"a form":             {http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, "taskId=1", 415, ""},
		"plain text":         {http.Header{"Content-Type": {"text/plain"}}, `{}`, 415, ""},
		"an unknown unknown": {http.Header{"Content-Type": {"application/json"}}, `{"taskId": "x", "later": 1}`, 404, "NOT_FOUND"},
	} {
		status, reason, _ := raw(t, client, url, me.tokens.GetAccessToken(), c.header, strings.NewReader(c.body))
		if status != c.status || reason != c.reason {
			t.Errorf("%s met %d %s, want %d %s", name, status, reason, c.status, c.reason)
		}
	}
	status, reason, _ := raw(t, client, s.URL()+"/beckon.v1.TaskService/Explode", me.tokens.GetAccessToken(),
		http.Header{"Content-Type": {"application/json"}}, strings.NewReader(`{}`))
	if status != http.StatusNotImplemented || reason != "UNKNOWN_PROCEDURE" {
		t.Errorf("an unknown call met %d %s", status, reason)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"?encoding=json&message=%7B%7D", nil)
	check(t, err)
	answer, err := client.Do(request)
	check(t, err)
	check(t, answer.Body.Close())
	if answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET met %d", answer.StatusCode)
	}
}
