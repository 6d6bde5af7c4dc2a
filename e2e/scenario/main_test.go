package scenario_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/beckon-dev/beckon/e2e/stack"
)

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		os.Exit(workerMain())
	}
	dir, err := os.MkdirTemp("", "beckon-scenario-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaries = builder{dir: dir}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// builder makes the binaries once for all tests that want them.
type builder struct {
	dir  string
	once sync.Once
	bin  stack.Binaries
	err  error
}

var binaries builder

// built are the programs, the server with its failpoints: it behaves like the
// released one unless the environment names a place to die.
func built(t *testing.T) stack.Binaries {
	t.Helper()
	binaries.once.Do(func() {
		binaries.bin, binaries.err = stack.Build(context.WithoutCancel(t.Context()), binaries.dir, "failpoints")
	})
	if binaries.err != nil {
		t.Fatal(binaries.err)
	}
	return binaries.bin
}
