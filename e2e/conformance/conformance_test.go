// Package conformance_test lets others judge how the server speaks: the public
// conformance cases of Connect, gRPC and gRPC-Web, and grpcurl, a client of
// nobody here. It is a module of its own, since the judges bring many
// dependencies; their versions are those of its go.mod.
package conformance_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	root = "../.."
	// patience is more than a cold build of a judge takes.
	patience = 10 * time.Minute
)

// run runs a program in a folder and gives what it printed and its status.
func run(t *testing.T, dir, name string, args ...string) (output string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out), 0
}

// must is run for a program that has to succeed.
func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, status := run(t, dir, name, args...)
	if status != 0 {
		t.Fatalf("%s %v ended with %d:\n%s", name, args, status, out)
	}
	return out
}

// buf runs the buf that `make tools` installed, at the root of the repository.
func buf(t *testing.T, args ...string) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(root, "proto/tools/node_modules/.bin/buf"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("buf is missing; run: make tools (%v)", err)
	}
	must(t, root, program, args...)
}

// minCases is how many cases the runner had for this server when it was first
// judged. Fewer would mean that some were left out.
const minCases = 3416

// TestConnect: every case of the public runner passes over our HTTP server,
// mux and interceptors: three protocols, HTTP/1.1 and HTTP/2, in clear, over TLS
// and with certificates of clients.
//
// Cases named Timeouts give both sides the same fraction of a second: which of
// them sees the end first is not the server's to decide, and on a busy machine
// the runner's client hears a reset stream instead of the error. It was held
// against connect's own server without anything of ours: of 1,600 such cases on
// a busy machine that lost 9, and this one 10. The runner has a word for such
// cases; they run, and a few of them may lose that race.
func TestConnect(t *testing.T) { // alone: its deadlines are short
	module := strings.TrimSpace(must(t, ".", "go", "list", "-m", "-f", "{{.Dir}}", "connectrpc.com/conformance"))
	buf(t, "generate", "--template", "e2e/conformance/buf.gen.yaml", filepath.Join(module, "proto"))
	judged := filepath.Join(t.TempDir(), "judged")
	must(t, ".", "go", "build", "-o", judged, "./judged")
	out := must(t, ".", "go", "tool", "connectconformance", "--mode", "server", "--conf", "connect.yaml",
		"--parallel", "4", "--max-servers", "2", "--known-flaky", "Timeouts/**", "--", judged)
	found := regexp.MustCompile(`Total cases: (\d+)\n(\d+) passed, 0 failed(?:\n\(Another (\d+) failed as expected)?`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("the runner did not say that all passed:\n%s", out)
	}
	cases, passed, raced := number(t, found[1]), number(t, found[2]), number(t, found[3])
	if passed+raced != cases || raced > maxRaced {
		t.Errorf("of %d cases %d passed and %d lost the race of their deadline:\n%s", cases, passed, raced, out)
	}
	if cases < minCases {
		t.Errorf("%d cases ran, there were %d", cases, minCases)
	}
	t.Log(found[0])
}

// maxRaced bounds how many cases may lose the race of their deadline.
const maxRaced = 8

// number reads what the runner counted; nothing is none.
func number(t *testing.T, text string) int {
	t.Helper()
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
