package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/beckon-dev/beckon/clients/cmd/beckon/capture"
	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// keptOutput is how much of what a command prints is kept with its task.
const keptOutput = 8 << 20

// startTimeout is how long the server may be away before a command is not
// started at all.
const startTimeout = 30 * time.Second

type runCommand struct {
	Title     string            `help:"What the person sees; the command line otherwise."`
	Thread    string            `help:"Thread to continue."                                                     placeholder:"ID"`
	Label     map[string]string `help:"Label of the task, as KEY=VALUE; may be repeated."                       mapsep:"none"                                                                                           placeholder:"KEY=VALUE"`
	KeyFile   string            `help:"File with the agent's key."                                              placeholder:"FILE"                                                                                      type:"path"`
	Deadline  *time.Duration    `help:"How long the task is wanted, from now: then it is stopped, and EXPIRED."`
	Silence   time.Duration     `default:"30m"                                                                  help:"How long nothing may be heard of the command; after twice that the timeline says so. 1m to 168h."`
	Lease     time.Duration     `default:"60s"                                                                  help:"How long the server may hear nothing before it gives the task up, 30s to 300s."`
	Report    time.Duration     `default:"60s"                                                                  help:"How long to go on trying to tell the server how the command ended; 5s at most after Ctrl-C."`
	KillAfter time.Duration     `default:"10s"                                                                  help:"What the command gets to end by itself after a stop."`
	Command   []string          `arg:""                                                                         help:"The command with its arguments, after '--'."                                                      passthrough:""`
}

// Help is shown under the line about the command.
func (runCommand) Help() string {
	return `The command runs as it would without beckon: its output goes to the terminal unchanged, and its exit status is passed on (126: it cannot be run, 127: not found, 128+n: ended by signal n, 125: beckon could not start it). It has no terminal to read from; input is what is piped in. Up to 8 MiB of output are kept with the task, beginning and end; what lies between is counted.

When the person stops the task, the command and what it started get SIGTERM, and SIGKILL ten seconds later. Ctrl-C is passed on. The command finds a token for this one task in BECKON_TASK_FILE, so 'beckon ask' inside belongs to the task; the agent's key is not in its environment.`
}

// Run runs a command as a task.
func (c runCommand) Run(s *session) error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	if len(c.Command) == 0 {
		return usage("which command? beckon run -- CMD…")
	}
	if c.Lease < 30*time.Second || c.Lease > 300*time.Second {
		return usage("--lease is from 30s to 300s")
	}
	if c.Deadline != nil && *c.Deadline < time.Second {
		return usage("--deadline is a time from now of 1s or more, such as 2h")
	}
	if c.Silence < time.Minute || c.Silence > 168*time.Hour {
		return usage("--silence is from 1m to 168h")
	}
	if c.Thread != "" {
		if err := s.id(c.Thread, "thr"); err != nil {
			return err
		}
	}
	path, err := exec.LookPath(c.Command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return cannotRun(c.Command[0], err)
	}
	r := &running{session: s, command: c, log: capture.New(keptOutput), began: time.Now()}
	return r.run(path)
}

// cannotRun is what shells say of a command that does not start.
func cannotRun(name string, err error) exit {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exit{exitAbsent, name + ": command not found"}
	}
	return exit{exitCannot, name + ": cannot be run: " + rootOf(err)}
}

func rootOf(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// running is one wrapped command with everything around it.
type running struct {
	*session

	command runCommand
	log     *capture.Log
	began   time.Time

	agent   *beckon.Agent
	work    *beckon.Work
	ship    shipper
	process *process
	signals <-chan os.Signal
	dir     string
	// stopped is the person's word that ends the command, lost why the server
	// does not listen any more.
	stopped *v1.Hold
	lost    error
	// interrupted is when the person at this terminal last asked for the end.
	interrupted time.Time
}

func (r *running) run(path string) error {
	agent, err := beckon.AgentFromEnv(r.command.KeyFile, r.options())
	if err != nil {
		return err
	}
	defer agent.Close()
	r.agent = agent
	signals, release := catch()
	defer release()
	r.signals = signals
	if err := r.begin(); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.dir) }()
	keep := r.work.KeepAlive(r.ctx)
	defer keep.Close()
	r.event("started", nil)
	p, err := startProcess(path, r.command.Command, r.environ(), r.in, r.log.Writer(capture.Stdout), r.log.Writer(capture.Stderr))
	if err != nil {
		ended := cannotRun(r.command.Command[0], err)
		r.report(keep, outcome{code: "not_started", status: ended.code, text: ended.text})
		return ended
	}
	r.process = p
	result := r.watch(keep)
	r.report(keep, result)
	r.event("ended", &result.status)
	return exit{code: result.status}
}

type runView struct {
	Event      string `json:"event"`
	TaskID     string `json:"task_id"`
	ThreadID   string `json:"thread_id"`
	ExitStatus *int   `json:"exit_status,omitempty"`
}

// event says on standard error, with --json, what scripts want to know: standard
// output belongs to the command.
func (r *running) event(name string, status *int) {
	if !r.line.JSON {
		return
	}
	to := *r.session
	to.out = r.err
	_ = to.print(runView{name, r.work.ID(), r.work.Task.GetThreadId(), status})
}

// begin creates the task in our hands and leaves the token for the command.
func (r *running) begin() error {
	ctx, cancel := context.WithTimeout(r.ctx, startTimeout)
	defer cancel()
	ctx, stop := untilSignal(ctx)
	defer stop()
	title := r.command.Title
	if title == "" {
		title = strings.Join(r.command.Command, " ")
	}
	req := &v1.CreateTaskRequest{
		Title: shorten(title, 120, 480), ThreadId: r.command.Thread, Labels: r.command.Label, MaxAttempts: 1, NoMessages: true,
		Claim: &v1.ClaimOptions{LeaseDuration: durationpb.New(r.command.Lease)}, SilenceAfter: durationpb.New(r.command.Silence),
	}
	if r.command.Deadline != nil {
		req.Deadline = timestamppb.New(time.Now().Add(*r.command.Deadline))
	}
	work, err := r.agent.Start(ctx, req)
	if i, ok := errors.AsType[interrupted](context.Cause(ctx)); ok && err != nil {
		return exit{exitSignal + int(i.signal), "interrupted before the command was started"}
	}
	if err != nil {
		return fmt.Errorf("the command was not started: %w", err)
	}
	r.work, r.ship = work, shipper{work: work}
	if err := r.leaveToken(ctx); err != nil {
		// What was created must not look like a worker that was lost.
		_, _ = work.Fail(ctx, &v1.TaskFailure{Code: "not_started", Text: "The task token could not be stored."})
		_ = os.RemoveAll(r.dir)
		return fmt.Errorf("the command was not started: %w", err)
	}
	return nil
}

func (r *running) leaveToken(ctx context.Context) error {
	dir, err := os.MkdirTemp(os.Getenv("XDG_RUNTIME_DIR"), "beckon-run-") // made with 0700
	if err != nil {
		return err
	}
	r.dir = dir
	again, err := r.agent.WriteTask(ctx, r.work, r.taskFile())
	r.ship.renewAt = again
	return err
}

func (r *running) taskFile() string { return filepath.Join(r.dir, "task.json") }

// environ is what the command gets: everything but the agent's key, however it
// came into our environment.
func (r *running) environ() []string {
	env := []string{}
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		if name == beckon.EnvKeyFile || name == beckon.EnvTaskFile || strings.Contains(value, "bk_agt_") {
			continue
		}
		env = append(env, e)
	}
	return append(env, beckon.EnvTaskFile+"="+r.taskFile())
}

// outcome is how the command ended.
type outcome struct {
	// code is the failure code; empty for success.
	code string
	// status is the exit status as shells report it.
	status int
	// text says it in a sentence.
	text string
}

// shorten cuts a title to what the contract allows, between characters.
func shorten(text string, runes, size int) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "\uFFFD")
	all := []rune(text)
	if len(all) <= runes && len(text) <= size {
		return text
	}
	all = all[:min(len(all), runes-1)]
	for len(string(all))+len("…") > size {
		all = all[:len(all)-1]
	}
	return string(all) + "…"
}
