package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/beckon-dev/beckon/clients/cmd/beckon/screen"
	beckon "github.com/beckon-dev/beckon/clients/go"
)

// commandLine is what can be typed.
type commandLine struct {
	Server  string `env:"BECKON_SERVER"                                           help:"Base URL of the server; the profile or key file names it otherwise." placeholder:"URL"`
	CAFile  string `env:"BECKON_CA_FILE"                                          help:"PEM file with the certificate authority of the server."              name:"ca-file"     placeholder:"FILE"`
	Profile string `env:"BECKON_PROFILE"                                          help:"Which of this machine's installations to be."                        placeholder:"NAME"`
	JSON    bool   `help:"Print JSON; one object a line where there are several." name:"json"`

	Run      runCommand      `cmd:"" group:"For programs" help:"Run a command as a task: its output is kept, its end calls the person, and Stop reaches it."`
	Ask      askCommand      `cmd:"" group:"For programs" help:"Ask the person and wait for the answer. The exit status is 0 for yes, 1 for no."`
	Agent    agentCommand    `cmd:"" group:"For programs" help:"Agents of the account."`
	Artifact artifactCommand `cmd:"" group:"For programs" help:"Files of tasks: keep one, or download it."`

	Claim      claimCommand      `cmd:"" group:"For people" help:"Become the first installation of a new server, by the link it printed."`
	Pair       pairCommand       `cmd:"" group:"For people" help:"Let another device in, or with a code: join the account that showed it."`
	Inbox      inboxCommand      `cmd:"" group:"For people" help:"List what waits for an answer, and the threads."`
	Watch      watchCommand      `cmd:"" group:"For people" help:"Print each change as it happens: questions, answers, tasks and results."`
	Show       showCommand       `cmd:"" group:"For people" help:"Show a decision, a task or a thread."`
	Answer     answerCommand     `cmd:"" group:"For people" help:"Answer a decision, or accept a result or send it back."`
	Send       sendCommand       `cmd:"" group:"For people" help:"Write to a thread: its task hears of it, or its agent gets a new one."`
	Revoke     revokeCommand     `cmd:"" group:"For people" help:"Take back an approval that the agent has not used yet."`
	Snooze     snoozeCommand     `cmd:"" group:"For people" help:"Put a decision aside for a while; nobody has answered it then."`
	DenyAll    denyAllCommand    `cmd:"" group:"For people" help:"Refuse everything that is open, of the account, an agent or a task."`
	Task       taskCommand       `cmd:"" group:"For people" help:"Tasks: list, show, pause, resume, stop."`
	Thread     threadCommand     `cmd:"" group:"For people" help:"Threads: list or search all of them, archive one."`
	Stop       stopCommand       `cmd:"" group:"For people" help:"Stop a task."`
	Agents     agentsCommand     `cmd:"" group:"For people" help:"List the agents that may work for you."`
	Devices    devicesCommand    `cmd:"" group:"For people" help:"List your devices, or ring or revoke one."`
	KillSwitch killSwitchCommand `cmd:"" group:"For people" help:"Stop every agent of the account at once, or let them work again."`
	Effect     effectCommand     `cmd:"" group:"For people" help:"What agents have done to the outside world."`
	Timer      timerCommand      `cmd:"" group:"For people" help:"When tasks are woken."`
	Deliveries deliveriesCommand `cmd:"" group:"For people" help:"List what was to ring, on which device, and why it did or did not."`
	Audit      auditCommand      `cmd:"" group:"For people" help:"Show, export or verify what was done in your account, by whom and when."`
	Settings   settingsCommand   `cmd:"" group:"For people" help:"Show or change how much a push may show."`
	Unlock     unlockCommand     `cmd:"" group:"For people" help:"Show digits that unlock this terminal for answers of class 2; with arguments: unlock another one."`

	Version versionCommand `cmd:"" help:"Print the version."`
}

// session is what every command works with.
type session struct {
	ctx      context.Context
	line     *commandLine
	in       *os.File
	out, err *os.File
	lines    *bufio.Reader // of in, once somebody was asked
	typedID  bool          // what is not found was typed
	unsaid   error         // the first line of the result that could not be written
	version  string
}

// exit is an end with a status of its own. Text, where there is one, is what
// was wrong.
type exit struct {
	code int
	text string
}

// Error is the text.
func (e exit) Error() string { return e.text }

// Exit statuses that are the same for all commands.
const (
	exitNo     = 1
	exitUsage  = 2
	exitLate   = 3
	exitClosed = 4
	exitFailed = 125
	exitCannot = 126
	exitAbsent = 127
	exitSignal = 128
)

func usage(format string, args ...any) error {
	return exit{exitUsage, sentence(format, args)}
}

// sentence formats errors without the "beckon:" that each begins with, since
// the line has one already.
func sentence(format string, args []any) string {
	args = slices.Clone(args)
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = plain(err)
		}
	}
	return fmt.Sprintf(format, args...)
}

func plain(err error) string {
	return strings.ReplaceAll(strings.TrimPrefix(err.Error(), "beckon: "), ": beckon: ", ": ")
}

// interrupted is why a context ended: somebody sent a signal.
type interrupted struct{ signal syscall.Signal }

// Error names the signal.
func (i interrupted) Error() string { return i.signal.String() }

// Main runs one command line and gives its exit status.
func Main(version string, args []string) int {
	var line commandLine
	parser, err := kong.New(&line,
		kong.Name("beckon"),
		kong.Description("Long-running work with a person in the loop."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.Vars{"actions": actionHelp},
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, "beckon:", err)
		return exitFailed
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "beckon: %s\nTry 'beckon --help'.\n", screen.Line(err.Error()))
		return exitUsage
	}
	s := &session{line: &line, in: os.Stdin, out: os.Stdout, err: os.Stderr, version: version}
	var stop func()
	if strings.HasPrefix(parsed.Command(), "run ") {
		s.ctx, stop = context.Background(), func() {} // it passes signals on
	} else {
		s.ctx, stop = untilSignal(context.Background())
	}
	defer stop()
	return s.report(parsed.Run(s))
}

// sameSignal is how long a further signal counts as the one before: timeout(1)
// and others send theirs to a process and then to its group.
const sameSignal = time.Second

// untilSignal is a context that the usual signals end. What has to be cleaned
// up then has the process for itself for a moment; a signal after that kills.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		select {
		case got := <-signals:
			if number, ok := got.(syscall.Signal); ok {
				cancel(interrupted{number})
			}
		case <-over:
			return
		}
		again := time.NewTimer(sameSignal)
		defer again.Stop()
		select {
		case <-again.C:
		case <-over:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		close(over)
		cancel(nil)
		<-done
	})
}

// report tells how a command ended and gives its status.
func (s *session) report(err error) int {
	if err == nil {
		err = s.unsaid
	}
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[exit](err); ok {
		if e.text != "" {
			s.notef("%s", e.text)
		}
		return e.code
	}
	if i, ok := errors.AsType[interrupted](context.Cause(s.ctx)); ok {
		s.notef("interrupted")
		return exitSignal + int(i.signal)
	}
	if s.line.JSON {
		_ = s.print(errorViewOf(err))
	}
	s.notef("%v", err)
	if hint := hintFor(err); hint != "" {
		s.notef("%s", hint)
	}
	if s.mistyped(err) {
		return exitUsage
	}
	return exitFailed
}

// mistyped reports that the error is about what was typed, wherever it was
// noticed, and not about Beckon.
func (s *session) mistyped(err error) bool {
	for _, typed := range []error{
		beckon.ErrLink, beckon.ErrServer, beckon.ErrInsecure, beckon.ErrProfileName, beckon.ErrProfileExists,
	} {
		if errors.Is(err, typed) {
			return true
		}
	}
	e, ok := errors.AsType[*beckon.Error](err)
	return ok && (e.Code == connect.CodeInvalidArgument || e.Code == connect.CodeNotFound && s.typedID ||
		e.Reason == beckon.ReasonBadSecret || e.Reason == beckon.ReasonKeyReused)
}

// id refuses what is no id of these kinds, such as "dec".
func (s *session) id(text string, kinds ...string) error {
	s.typedID = true
	kind, rest, _ := strings.Cut(text, "_")
	account, tail, _ := strings.Cut(rest, "_")
	if slices.Contains(kinds, kind) && len(account) == 16 && len(tail) == 26 && !strings.ContainsFunc(account+tail, notBase32) {
		return nil
	}
	var names []string
	for _, k := range kinds {
		name := map[string]string{"dec": "decision", "tsk": "task", "thr": "thread", "ins": "device", "eff": "effect"}[k]
		names = append(names, name+" ("+k+"_…)")
	}
	return usage("%q is no %s", text, strings.Join(names, " or "))
}

func notBase32(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// hintFor says what a person can do about an error.
func hintFor(err error) string {
	switch {
	case errors.Is(err, beckon.ErrNoProfile):
		return "claim a new server with `beckon claim URL`, or join an account with `beckon pair CODE --server URL`"
	case errors.Is(err, beckon.ErrProfileExists):
		return "use another one with --profile NAME"
	case beckon.Ended(err):
		return "this installation was revoked or logged out: pair it again under another --profile"
	case beckon.ReasonOf(err) == beckon.ReasonKillSwitch:
		return "`beckon kill-switch` shows since when; only the person lets the agents work again"
	case beckon.ReasonOf(err) == beckon.ReasonStepUp:
		return "do it on an unlocked phone or in the web app; " + lastTerminal
	case beckon.ReasonOf(err) == beckon.ReasonBadSecret:
		return "links, codes and digits are good once and for a short time, 2 minutes for a code: ask for a new one and copy all of it"
	case beckon.ReasonOf(err) == "CEILING":
		return "an action without --class counts as 3; `beckon agent add --ceiling` says up to which class an agent may ask"
	case beckon.ReasonOf(err) == beckon.ReasonKeyReused:
		return "--key names another question already; choose another one"
	default:
		return ""
	}
}

// lastTerminal is what helps someone who has nothing but a terminal: a terminal
// is trusted with the account itself only for a while after it has claimed it.
const lastTerminal = "if this terminal is all you have: `beckond owner reset` on the server's machine prints a link, " +
	"and `beckon --profile NEW claim LINK` opens 30 minutes for it"

// notef is for people, on standard error, so that output stays what was asked.
func (s *session) notef(format string, args ...any) {
	text, _ := screen.Text(sentence(format, args))
	_, _ = fmt.Fprintln(s.err, "beckon:", text) // nobody is left to tell
}

// sayf prints a line of the result; what comes from others is made safe. A line
// that cannot be written makes the command fail in the end.
func (s *session) sayf(format string, args ...any) {
	text, _ := screen.Text(fmt.Sprintf(format, args...))
	s.say(text)
}

// words prints what a person wrote: made safe for a screen, and as it is for a
// program that reads it.
func (s *session) words(text string) {
	if term.IsTerminal(int(s.out.Fd())) {
		text, _ = screen.Text(text)
	}
	s.say(text)
}

func (s *session) say(text string) {
	if _, err := fmt.Fprintln(s.out, text); s.unsaid == nil {
		s.unsaid = err
	}
}

// print writes the result as JSON. Control characters are escaped in it.
func (s *session) print(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, asciiJSON(raw))
	return err
}

// asciiJSON escapes what JSON allows and a terminal should not get.
func asciiJSON(raw []byte) string {
	var b strings.Builder
	for _, r := range string(raw) {
		switch shown, hidden := screen.Text(string(r)); {
		case hidden == 0:
			b.WriteString(shown)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func (s *session) options() beckon.Options {
	return beckon.Options{Server: s.line.Server, CAFile: s.line.CAFile}
}

// person opens this machine's installation.
func (s *session) person() (*beckon.Person, error) {
	path, err := beckon.ProfilePath(s.line.Profile)
	if err != nil {
		return nil, err
	}
	return beckon.OpenPerson(path, s.options())
}

// inbox is the inbox as this profile knew it last; reading it brings it up to
// date and keeps it.
func (s *session) inbox(p *beckon.Person) (*beckon.Inbox, error) {
	path, err := beckon.ProfilePath(s.line.Profile)
	if err != nil {
		return nil, err
	}
	return p.OpenInbox(strings.TrimSuffix(path, ".profile.json") + ".inbox")
}

// readInbox is inbox, level with the server. Where the server cannot be reached
// it is what was known before, with a note of since when.
func (s *session) readInbox(p *beckon.Person) (*beckon.Inbox, error) {
	inbox, err := s.inbox(p)
	if err != nil {
		return nil, err
	}
	err = inbox.Sync(s.ctx, 0)
	if beckon.ReasonOf(err) != beckon.ReasonUnreachable || inbox.LevelTime().IsZero() || s.ctx.Err() != nil {
		return inbox, err
	}
	server, _ := p.Address()
	s.notef("%s cannot be reached; this is how it was at %s", server, clock(inbox.LevelTime()))
	return inbox, nil
}

// readLine asks for one line. A context that ends leaves the read behind; the
// process is about to end then.
func (s *session) readLine(prompt string) (string, error) {
	_, _ = fmt.Fprint(s.err, prompt)
	type result struct {
		text string
		err  error
	}
	read := make(chan result, 1)
	if s.lines == nil {
		s.lines = bufio.NewReader(io.LimitReader(s.in, 64<<10))
	}
	go func() {
		text, err := s.lines.ReadString('\n')
		read <- result{text, err}
	}()
	select {
	case <-s.ctx.Done():
		return "", context.Cause(s.ctx)
	case r := <-read:
		text := strings.TrimSpace(r.text)
		if r.err != nil && text == "" {
			return "", usage("nothing was typed")
		}
		return text, nil
	}
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(s *session) error {
	if s.line.JSON {
		return s.print(map[string]string{"version": s.version})
	}
	s.sayf("beckon %s", s.version)
	return nil
}
