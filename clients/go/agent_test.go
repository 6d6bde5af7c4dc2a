package beckon_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/timestamppb"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// working is an agent with a task in its hands.
func working(t *testing.T, f *fakeServer) *beckon.Work {
	t.Helper()
	agent := must(beckon.NewAgent(beckon.KeyFile{Key: "bk_agt_x"}, f.serve(t, "h2c")))(t)
	t.Cleanup(agent.Close)
	return must(agent.Start(t.Context(), &v1.CreateTaskRequest{Title: "Work"}))(t)
}

func lease() *timestamppb.Timestamp { return timestamppb.New(time.Now().Add(600 * time.Millisecond)) }

// A stop is heard once, and under it the lease is kept by waiting for another
// hold, not by asking in a loop.
func TestKeepAliveHearsAStop(t *testing.T) {
	t.Parallel()
	f := newFake()
	second := make(chan struct{})
	f.beat = func(n int, _ *v1.HeartbeatRequest) (*v1.HeartbeatResponse, error) {
		switch n {
		case 1:
			return &v1.HeartbeatResponse{LeaseExpireTime: lease(), Signals: []*v1.Signal{{Id: 7}}}, nil
		case 2, 3:
			if n == 3 {
				close(second)
			}
			return &v1.HeartbeatResponse{LeaseExpireTime: lease(), Hold: &v1.Hold{Kind: v1.HoldKind_HOLD_KIND_STOP}}, nil
		default:
			return nil, nil
		}
	}
	k := working(t, f).KeepAlive(t.Context())
	defer k.Close()
	if n := <-k.News(); len(n.Signals) != 1 {
		t.Errorf("first news %v", n)
	}
	if n := <-k.News(); n.Hold.GetKind() != v1.HoldKind_HOLD_KIND_STOP {
		t.Errorf("second news %v", n)
	}
	<-second
	select {
	case n := <-k.News():
		t.Errorf("told again: %v", n)
	default:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.beats[0].GetAfterSignalId() != 3 || f.beats[1].GetAfterSignalId() != 7 {
		t.Errorf("asks after %d, then %d", f.beats[0].GetAfterSignalId(), f.beats[1].GetAfterSignalId())
	}
	if got := f.beats[2].GetKnownHold(); got != v1.HoldKind_HOLD_KIND_STOP || f.beats[2].GetWait() == nil {
		t.Errorf("waits for anything but %v, which it knows", got)
	}
}

// Trouble of the server is waited out, a verdict is the end.
func TestKeepAliveEnds(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.beat = func(n int, _ *v1.HeartbeatRequest) (*v1.HeartbeatResponse, error) {
		switch n {
		case 1:
			return nil, refusal(connect.CodeInternal, &v1.ErrorInfo{Reason: "INTERNAL"})
		case 2:
			return nil, refusal(connect.CodeResourceExhausted, &v1.ErrorInfo{Reason: "DISK_FULL"})
		default:
			return nil, refusal(connect.CodeFailedPrecondition, &v1.ErrorInfo{Reason: "LEASE_LOST"})
		}
	}
	k := working(t, f).KeepAlive(t.Context())
	<-k.Done()
	f.with(func() {
		if beckon.ReasonOf(k.Err()) != beckon.ReasonLeaseLost || len(f.beats) != 3 {
			t.Errorf("%v after %d beats", k.Err(), len(f.beats))
		}
	})
	k.Close()
}

func TestKeepAliveCloses(t *testing.T) {
	t.Parallel()
	f := newFake()
	begun := make(chan struct{})
	f.beat = func(int, *v1.HeartbeatRequest) (*v1.HeartbeatResponse, error) {
		close(begun)
		return nil, nil
	}
	k := working(t, f).KeepAlive(t.Context())
	<-begun
	k.Close()
	if k.Err() != nil {
		t.Error(k.Err())
	}
}

// The child reads its token before each call, so a renewed one is used.
func TestTaskFile(t *testing.T) {
	t.Parallel()
	f := newFake()
	opts := f.serve(t, "h2c")
	agent := must(beckon.NewAgent(beckon.KeyFile{Key: "bk_agt_x"}, opts))(t)
	defer agent.Close()
	w := must(agent.Start(t.Context(), &v1.CreateTaskRequest{Title: "Work"}))(t)
	path := filepath.Join(t.TempDir(), "task.json")
	again := must(agent.WriteTask(t.Context(), w, path))(t)
	if left := time.Until(again); left < 20*time.Minute || left > 40*time.Minute {
		t.Errorf("to be renewed in %v", left)
	}
	if info := must(os.Stat(path))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("written with %v", info.Mode())
	}
	child := must(beckon.OpenTask(path, beckon.Options{}))(t)
	defer child.API().Close()
	if child.ID() != "tsk" || child.Lease != "lease" {
		t.Errorf("works on %s under %s", child.ID(), child.Lease)
	}
	sees := func() string {
		return must(child.API().Tasks.GetTask(t.Context(), &v1.GetTaskRequest{TaskId: "tsk"}))(t).GetTask().GetTitle()
	}
	if got := sees(); got != "Bearer bk_tsk_1" {
		t.Errorf("first: %q", got)
	}
	must(agent.WriteTask(t.Context(), w, path))(t)
	if got := sees(); got != "Bearer bk_tsk_2" {
		t.Errorf("after renewal: %q", got)
	}
}
