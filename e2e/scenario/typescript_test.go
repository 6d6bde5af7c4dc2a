package scenario_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/beckon-dev/beckon/e2e/stack"
)

// The example of the TypeScript client claims a server as built, follows its
// account, and hears of what it does itself.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	root, err := stack.Root()
	if err != nil {
		t.Fatal(err)
	}
	client := filepath.Join(root, "clients", "ts")
	build := exec.CommandContext(t.Context(), "npm", "run", "--silent", "build")
	build.Dir = client
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build clients/ts; 'make ts' installs what it needs: %v\n%s", err, out)
	}
	server := stack.NewServer(t, built(t))
	server.Start()
	example := stack.Start(t, nil, "node", filepath.Join(client, "examples", "follow.mjs"), server.ClaimLink())
	example.Expect(`level: \d+ things, agents may work`)
	example.Expect(`level: \d+ things, agents stopped`)
	if code := example.Wait(); code != 0 {
		t.Errorf("the example ended with %d:\n%s", code, example.Output())
	}
}
