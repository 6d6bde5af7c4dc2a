//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// point is the one place at which this process is to die.
type point struct {
	name string
	nth  int64
	mark string
	hits atomic.Int64
}

// armed is read from the environment at the first hit and stays as it is.
var armed = sync.OnceValue(func() *point {
	p, err := parse(os.Getenv("BECKON_FAILPOINT"))
	if err != nil {
		panic(err) // a test that names no place would pass for the wrong reason
	}
	p.mark = os.Getenv("BECKON_FAILPOINT_MARK")
	return p
})

// parse reads name[:n]. The empty text is a point that is never reached.
func parse(text string) (*point, error) {
	name, count, counted := strings.Cut(text, ":")
	p := &point{name: name, nth: 1}
	if !counted {
		return p, nil
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 || name == "" {
		return nil, fmt.Errorf("failpoint: BECKON_FAILPOINT=%q is not name[:n] with n of 1 or more", text)
	}
	p.nth = n
	return p, nil
}

// Hit kills the process with SIGKILL when BECKON_FAILPOINT names this line and
// this is the nth time it is reached; else it returns. It does not return in
// the first case. A value of BECKON_FAILPOINT that cannot be read panics.
func Hit(name string) {
	p := armed()
	if name == "" || name != p.name || p.hits.Add(1) != p.nth {
		return
	}
	if p.mark != "" {
		if err := os.WriteFile(p.mark, []byte(name+"\n"), 0o600); err != nil {
			panic(fmt.Errorf("failpoint: mark: %w", err))
		}
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(fmt.Errorf("failpoint: kill: %w", err))
	}
	select {} // the signal may take a moment to arrive; no line after this one runs
}
