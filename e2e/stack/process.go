package stack

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for something that has to happen.
const patience = 30 * time.Second

// Process is a running program and what it has printed.
type Process struct {
	t    testing.TB
	name string
	cmd  *exec.Cmd
	done chan struct{}
	err  error

	mu      sync.Mutex
	out     []byte
	changed chan struct{}
}

// Start runs a program until the test ends, in its own process group.
func Start(t testing.TB, env []string, name string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, name: name, cmd: exec.Command(name, args...), done: make(chan struct{}), changed: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
		p.announce(nil)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s %v printed:\n%s", name, args, p.Output())
		}
	})
	return p
}

// Write takes what the program prints.
func (p *Process) Write(b []byte) (int, error) {
	p.announce(b)
	return len(b), nil
}

func (p *Process) announce(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = append(p.out, b...)
	close(p.changed)
	p.changed = make(chan struct{})
}

// Output is everything printed so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.out)
}

// Expect waits until the output matches, and returns the groups. It fails the
// test when the program ends first or patience does.
func (p *Process) Expect(pattern string) []string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for {
		p.mu.Lock()
		match, changed := re.FindSubmatch(p.out), p.changed
		p.mu.Unlock()
		if match != nil {
			groups := make([]string, len(match))
			for i, m := range match {
				groups[i] = string(m)
			}
			return groups
		}
		if p.ended() {
			p.t.Fatalf("%s ended (%v) before it printed %q:\n%s", p.name, p.err, pattern, p.Output())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			p.t.Fatalf("%s did not print %q in time:\n%s", p.name, pattern, p.Output())
		}
	}
}

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Kill ends the whole process group at once, as a power cut would.
func (p *Process) Kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

// Signal sends a signal to the program alone.
func (p *Process) Signal(s os.Signal) {
	_ = p.cmd.Process.Signal(s)
}

// Wait waits for the program to end and returns its exit code; -1 means that a
// signal ended it.
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("%s did not end in time:\n%s", p.name, p.Output())
		return 0
	}
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }
