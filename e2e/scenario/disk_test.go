package scenario_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/stack"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// On a full disk reads go on, writes say why they fail and leave nothing half
// done, and when there is room again no restart is needed.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=24m"); err != nil {
		if errors.Is(err, syscall.EPERM) {
			t.Skip("mounting a small tmpfs needs root: ", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
	filler := filepath.Join(small, "filler")
	if err := os.WriteFile(filler, make([]byte, 12<<20), 0o600); err != nil {
		t.Fatal(err)
	}

	bin := built(t)
	s := stack.NewServer(t, bin, "--limits", "bench", "--data", filepath.Join(small, "data"))
	s.Start()
	owner, err := beckon.Claim(t.Context(), filepath.Join(t.TempDir(), "owner.json"), s.ClaimLink(), beckon.Device{}, beckon.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	agent := newBuilder(t, owner, s.URL)
	w, err := agent.Start(t.Context(), &v1.CreateTaskRequest{Title: "Fill"})
	if err != nil {
		t.Fatal(err)
	}

	stored := fill(t, w)
	got, err := owner.Items.ListItems(t.Context(), &v1.ListItemsRequest{ThreadId: w.Task.GetThreadId(), PageSize: 200})
	if err != nil {
		t.Fatal("reading on a full disk:", err)
	}
	if len(got.GetItems()) == 0 {
		t.Error("nothing is left to read")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := batch(t, w, stored); err != nil {
		t.Error("with room again:", err)
	}
	// The one that failed left nothing: positions have no gap.
	th, err := owner.Threads.GetThread(t.Context(), &v1.GetThreadRequest{ThreadId: w.Task.GetThreadId()})
	if err != nil {
		t.Fatal(err)
	}
	if th.GetThread().GetHeadPosition() != uint64(stored+1) {
		t.Errorf("the thread ends at %d after %d stored items", th.GetThread().GetHeadPosition(), stored+1)
	}
}

// fill appends until the disk is full and returns how many items went in.
func fill(t *testing.T, w *beckon.Work) int {
	t.Helper()
	for n := range 1000 {
		err := batch(t, w, n)
		if err == nil {
			continue
		}
		if beckon.ReasonOf(err) != "DISK_FULL" {
			t.Fatalf("after %d items: %v", n, err)
		}
		return n
	}
	t.Fatal("the disk never got full")
	return 0
}

func batch(t *testing.T, w *beckon.Work, n int) error {
	t.Helper()
	_, err := w.API().Items.AppendItems(t.Context(), &v1.AppendItemsRequest{
		TaskId: w.ID(), LeaseId: w.Lease, Items: []*v1.ItemDraft{{
			ClientId: fmt.Sprint("item-", n), Role: v1.ItemRole_ITEM_ROLE_TOOL, Kind: v1.ItemKind_ITEM_KIND_OUTPUT,
			Parts: []*v1.Part{{Part: &v1.Part_Output{Output: &v1.Output{Data: bytes.Repeat([]byte{'x'}, 60<<10)}}}},
		}},
	})
	return err
}

// newBuilder is an agent of the account with a key of its own.
func newBuilder(t *testing.T, owner *beckon.Person, server string) *beckon.Agent {
	t.Helper()
	made, err := owner.Agents.CreateAgent(t.Context(), &v1.CreateAgentRequest{IdempotencyKey: "agent", Name: "Builder"})
	if err != nil {
		t.Fatal(err)
	}
	issued, err := owner.Agents.IssueKey(t.Context(), &v1.IssueKeyRequest{AgentId: made.GetLink().GetAgentId()})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := beckon.NewAgent(beckon.KeyFile{Server: server, Key: issued.GetSecret()}, beckon.Options{Retry: beckon.Retry{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Close)
	return agent
}
