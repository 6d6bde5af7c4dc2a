package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

// afterExit is how long output of background processes is followed once the
// command itself has ended.
const afterExit = 2 * time.Second

// process is a running command in a session of its own: what it starts can be
// reached as one group, and Ctrl-C reaches it only through us.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait; read after done
}

// catch takes over the signals that are to be passed on, until release. Among
// them, unseen, SIGPIPE: our standard output may be a pipe that closes, and
// then the command gets the signal, as it would without us, and we live to tell.
func catch() (signals <-chan os.Signal, release func()) {
	caught, unpipe := make(chan os.Signal, 8), make(chan os.Signal, 1)
	signal.Notify(unpipe, syscall.SIGPIPE)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	return caught, func() {
		signal.Stop(caught)
		signal.Stop(unpipe)
	}
}

// startProcess starts a command. Its output goes first to the logs and then,
// unchanged, to where ours goes.
func startProcess(path string, args, env []string, in *os.File, stdout, stderr io.Writer) (*process, error) {
	cmd := exec.CommandContext(context.Background(), path)
	cmd.Args, cmd.Env = args, env
	cmd.Stdout, cmd.Stderr = io.MultiWriter(stdout, os.Stdout), io.MultiWriter(stderr, os.Stderr)
	if !term.IsTerminal(int(in.Fd())) {
		cmd.Stdin = in // passed as it is, so nobody has to copy it
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = afterExit
	p := &process{cmd: cmd, done: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// group sends a signal to the command and everything it has started.
func (p *process) group(s syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, s) // ESRCH: nobody is left
}

// outcome says how the command ended. It is called after done.
func (p *process) outcome() outcome {
	state := p.cmd.ProcessState
	if state == nil {
		return outcome{code: "not_started", status: exitFailed, text: fmt.Sprint(p.err)}
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		n := status.Signal()
		return outcome{code: "signal", status: exitSignal + int(n), text: fmt.Sprintf("Ended by signal %d (%s).", int(n), n)}
	case state.ExitCode() != 0:
		return outcome{code: "exit_status", status: state.ExitCode(), text: fmt.Sprintf("Exit status %d.", state.ExitCode())}
	default:
		return outcome{text: "Exit status 0."}
	}
}

// leftBehind reports that something the command started still holds its output.
func (p *process) leftBehind() bool { return errors.Is(p.err, exec.ErrWaitDelay) }
