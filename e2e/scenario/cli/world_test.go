package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/beckon-dev/beckon/clients/cmd/beckon/cli"
	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store/memstore"
)

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"beckon": func() { os.Exit(cli.Main("test", os.Args[1:])) },
		// The same, with its exit status as a line to match. A shell would do it
		// too, but could not be killed together with what it runs.
		"status": func() { fmt.Println("status", cli.Main("test", os.Args[1:])) },
	})
}

// leakChecked fails a run that passed and left goroutines.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := m.M.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			return 1
		}
	}
	return code
}

// patience is how long a script waits for something that has to happen.
const patience = 20 * time.Second

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata",
		Setup: setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"phone": phoneCommand, "await": awaitCommand, "server": serverCommand,
		},
		RequireExplicitExec: true,
	})
}

// world is what a script has beside its command line.
type world struct {
	dir, link string
	server    *running
	phone     *beckon.Person
	offer     *beckon.Offer
	handset   *device.Device
}

type worldKey struct{}

// setup starts a server and gives the script its link.
func setup(env *testscript.Env) error {
	w := &world{dir: env.WorkDir}
	out := &terminal{}
	s, err := startServer("127.0.0.1:0", out)
	if err != nil {
		return err
	}
	w.server = s
	env.Defer(func() {
		if w.phone != nil {
			w.phone.Close()
		}
		if w.handset != nil {
			w.handset.Close()
		}
		if err := w.server.stop(); err != nil {
			env.T().Fatal(err)
		}
	})
	found := regexp.MustCompile(`\S+/claim#bk_own_\w+`).FindString(out.await())
	if found == "" {
		return errors.New("no claim link was printed")
	}
	w.link = found
	env.Values[worldKey{}] = w
	env.Setenv("LINK", found)
	env.Setenv("URL", s.URL())
	env.Setenv("BECKON_CONFIG", filepath.Join(env.WorkDir, "config"))
	env.Setenv("PATH", os.Getenv("PATH"))
	// The race detector holds each process for a second at its end otherwise,
	// and scripts run hundreds.
	env.Setenv("GORACE", "atexit_sleep_ms=20")
	return nil
}

// running is a server in this process.
type running struct {
	*server.Server

	vendor *apns.Server
	stop   func() error
}

func startServer(listen string, out *terminal) (*running, error) {
	limits := policy.BenchLimits()
	limits.TaskToken = 2 * time.Second         // so that every longer command sees a renewal
	dir, err := os.MkdirTemp("", "cli-world-") // short, for the socket
	if err != nil {
		return nil, err
	}
	cfg := server.Config{Config: config.Default(dir), Engine: memstore.New(), Terminal: out, Limits: &limits}
	cfg.Listen = listen
	vendor, way, err := startVendor(dir)
	if err != nil {
		return nil, err
	}
	cfg.APNs = way
	ctx, cancel := context.WithCancel(context.Background())
	s, err := server.New(ctx, cfg)
	if err != nil {
		cancel()
		vendor.Close()
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return &running{s, vendor, sync.OnceValue(func() error {
		cancel()
		err := <-done
		vendor.Close()
		return errors.Join(err, os.RemoveAll(dir))
	})}, nil
}

// terminal is what an operator would see.
type terminal struct {
	mu      sync.Mutex
	text    bytes.Buffer
	printed chan struct{}
}

func (w *terminal) channel() chan struct{} {
	if w.printed == nil {
		w.printed = make(chan struct{}, 100)
	}
	return w.printed
}

func (w *terminal) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(b)
	w.channel() <- struct{}{}
	return len(b), nil
}

// await gives what was printed, once it holds a link.
func (w *terminal) await() string {
	late := time.After(patience)
	for {
		w.mu.Lock()
		text, printed := w.text.String(), w.channel()
		w.mu.Unlock()
		if strings.Contains(text, "/claim#") {
			return text
		}
		select {
		case <-printed:
		case <-late:
			return text
		}
	}
}

func worldOf(ts *testscript.TestScript) *world {
	w, ok := ts.Value(worldKey{}).(*world)
	if !ok {
		ts.Fatalf("no world")
	}
	return w
}

// serverCommand is "server stop".
func serverCommand(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(worldOf(ts).server.stop())
}

// awaitCommand is "await FILE REGEXP [VAR]": waits until the file matches and
// puts the first group into VAR.
func awaitCommand(ts *testscript.TestScript, _ bool, args []string) {
	re := regexp.MustCompile(args[1])
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for {
		text, _ := os.ReadFile(ts.MkAbs(args[0]))
		if found := re.FindSubmatch(text); found != nil {
			if len(args) > 2 {
				ts.Setenv(args[2], string(found[1]))
			}
			return
		}
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("%s never matched %q:\n%s", args[0], args[1], text)
		}
	}
}

// phoneCommand is a phone in the pocket of the person who types.
func phoneCommand(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	kind := beckon.Device{Platform: v1.Platform_PLATFORM_IOS, Label: "Phone", Approval: true}
	path := filepath.Join(w.dir, "phone", "phone.json")
	var err error
	switch args[0] {
	case "claim":
		if w.phone, err = beckon.Claim(ctx, path, w.link, kind, beckon.Options{}); err == nil {
			ts.Setenv("PHONE", w.phone.InstallationID())
		}
	case "register": // for pushes
		err = w.register(ctx)
	case "rang": // with a text that begins so
		err = w.rang(ctx, args[1])
	case "told": // by the list of deliveries: "KIND STATE" of each
		w.told(ctx, ts, args[1:])
	case "agent": // an agent with its key in the usual place
		err = w.agent(ctx, filepath.Join(w.dir, "config", "agent.json"), v1.EffectClass_EFFECT_CLASS_IRREVERSIBLE)
	case "weak-agent": // one that may ask for little
		err = w.agent(ctx, filepath.Join(w.dir, "weak.json"), v1.EffectClass_EFFECT_CLASS_READ_PRIVATE)
	case "join": // with the code that a terminal shows; prints digits into a file and waits
		err = w.join(ctx, ts, path, kind, args[1], args[2])
	case "offer":
		w.offer, err = w.phone.OfferPairing(ctx)
		ts.Check(err)
		ts.Setenv("CODE", w.offer.Code)
	case "confirm":
		var device *v1.Installation
		if device, err = w.offer.Redeemed(ctx); err == nil {
			ts.Logf("%s asks to join", device.GetLabel())
			_, err = w.offer.Confirm(ctx, args[1])
		}
	case "unlock":
		_, err = w.phone.Pairing.UnlockTerminal(ctx, &v1.UnlockTerminalRequest{InstallationId: args[1], Digits: args[2]})
	case "decision":
		ts.Setenv("DECISION", w.decision(ctx, ts).GetId())
	case "answer":
		w.answer(ctx, ts, args[1:])
	case "begin": // what the agent asks for is approved and begun; its task has timers
		err = w.begin(ctx, ts, filepath.Join(w.dir, "config", "agent.json"))
	case "stop":
		_, err = w.phone.Tasks.StopTask(ctx, &v1.StopTaskRequest{IdempotencyKey: beckon.NewID(), TaskId: w.task(ctx, ts, "RUNNING").GetId(), Reason: "enough"})
	case "kill-switch-off":
		_, err = w.phone.Account.SetKillSwitch(ctx, &v1.SetKillSwitchRequest{IdempotencyKey: beckon.NewID()})
	case "no-task": // what was refused at once has left nothing
		inbox := w.phone.Inbox()
		if err = inbox.Sync(ctx, 0); err == nil && len(inbox.Tasks()) > 0 {
			ts.Fatalf("there is a task: %v", inbox.Tasks())
		}
	case "task":
		ts.Setenv("TASK", w.task(ctx, ts, args[1]).GetId())
	case "output": // "output TOTAL": nothing of what the command printed is lost in silence
		w.output(ctx, ts, args[1])
	case "revoke-agents":
		var agents *v1.ListAgentsResponse
		if agents, err = w.phone.Agents.ListAgents(ctx, &v1.ListAgentsRequest{}); err == nil {
			for _, link := range agents.GetLinks() {
				_, err = w.phone.Agents.UnlinkAgent(ctx, &v1.UnlinkAgentRequest{AgentId: link.GetAgentId()})
			}
		}
	default:
		ts.Fatalf("phone %s: no such act", args[0])
	}
	ts.Check(err)
}

// agent adds an agent as an app would, and leaves its key where programs look.
func (w *world) agent(ctx context.Context, file string, ceiling v1.EffectClass) error {
	created, err := w.phone.Agents.CreateAgent(ctx, &v1.CreateAgentRequest{
		IdempotencyKey: beckon.NewID(), Name: "Builder", Ceiling: ceiling,
	})
	if err != nil {
		return err
	}
	issued, err := w.phone.Agents.IssueKey(ctx, &v1.IssueKeyRequest{AgentId: created.GetLink().GetAgentId()})
	if err != nil {
		return err
	}
	return beckon.WriteKeyFile(file, beckon.KeyFile{Server: w.server.URL(), Key: issued.GetSecret()})
}

// begin is an agent in a task with a timer that fires and one that waits: it asks
// for an action, has it approved by the phone and begins it.
func (w *world) begin(ctx context.Context, ts *testscript.TestScript, file string) error {
	key, err := beckon.ReadKeyFile(file)
	if err != nil {
		return err
	}
	agent, err := beckon.NewAgent(key, beckon.Options{})
	if err != nil {
		return err
	}
	defer agent.Close()
	work, err := agent.Start(ctx, &v1.CreateTaskRequest{Title: "Write"})
	if err != nil {
		return err
	}
	ts.Setenv("TASK", work.ID())
	for name, after := range map[string]time.Duration{"at once": time.Millisecond, "later": time.Hour} {
		if _, err := agent.Timers.SetTimer(ctx, &v1.SetTimerRequest{
			TaskId: work.ID(), LeaseId: work.Lease, Key: name, Data: []byte("look again"),
			When: &v1.SetTimerRequest_After{After: durationpb.New(after)},
		}); err != nil {
			return err
		}
	}
	class := v1.EffectClass_EFFECT_CLASS_WRITE_REVERSIBLE
	d, err := work.Ask(ctx, &v1.RequestDecisionRequest{
		Key: "write", Kind: v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, Title: "Write?",
		Items: []*v1.DecisionItem{{Id: "it", Action: &v1.Action{App: "files", Operation: "write", ArgsJson: []byte(`{}`), EffectClass: class}}},
	})
	if err != nil {
		return err
	}
	w.answer(ctx, ts, []string{"approve"})
	if d, err = work.Wait(ctx, d.GetId()); err != nil {
		return err
	}
	_, err = work.Effect(ctx, "write", d, func(context.Context, beckon.Go) (string, error) { return "", nil })
	return err
}

// join redeems a code, leaves the digits in a file and waits to be let in.
func (w *world) join(ctx context.Context, ts *testscript.TestScript, path string, device beckon.Device, code, file string) error {
	joining, err := beckon.Redeem(ctx, path, beckon.Invitation{Code: code}, device, beckon.Options{Server: w.server.URL()})
	if err != nil {
		return err
	}
	// A fifo: the command that offers reads its digits from it.
	if err := os.WriteFile(ts.MkAbs(file), []byte(joining.Digits()+"\n"), 0o600); err != nil {
		return err
	}
	w.phone, err = joining.Wait(ctx)
	return err
}

// look reads the phone's inbox until found says that it holds what is waited for.
func (w *world) look(ctx context.Context, ts *testscript.TestScript, found func(*beckon.Inbox) bool) {
	inbox := w.phone.Inbox()
	ts.Check(inbox.Sync(ctx, 0))
	for !found(inbox) {
		ts.Check(inbox.Sync(ctx, 5*time.Second))
	}
}

func (w *world) decision(ctx context.Context, ts *testscript.TestScript) *v1.Decision {
	var id string
	w.look(ctx, ts, func(i *beckon.Inbox) bool {
		for _, d := range i.Decisions() {
			if d.GetState() == v1.DecisionState_DECISION_STATE_PENDING {
				id = d.GetId()
				return true
			}
		}
		return false
	})
	res, err := w.phone.Decisions.GetDecision(ctx, &v1.GetDecisionRequest{DecisionId: id})
	ts.Check(err)
	return res.GetDecision()
}

func (w *world) answer(ctx context.Context, ts *testscript.TestScript, args []string) {
	d := w.decision(ctx, ts)
	ts.Setenv("DECISION", d.GetId())
	text := ""
	if len(args) > 1 {
		text = args[1]
	}
	items, err := beckon.Choose(d, args[0], text)
	ts.Check(err)
	res, err := w.phone.Answer(ctx, d, beckon.Answer{Items: items, Surface: v1.Surface_SURFACE_APP, Unlocked: true})
	ts.Check(err)
	if res.GetOutcome() != v1.AnswerOutcome_ANSWER_OUTCOME_APPLIED {
		ts.Fatalf("the phone's answer met %v", res.GetOutcome())
	}
}

// output adds up what is kept of the newest task's output and what is said to
// be left out.
func (w *world) output(ctx context.Context, ts *testscript.TestScript, want string) {
	thread := w.task(ctx, ts, "COMPLETED").GetThreadId()
	var kept, omitted uint64
	for before := uint64(0); ; {
		page, err := w.phone.Items.ListItems(ctx, &v1.ListItemsRequest{ThreadId: thread, BeforePosition: before, PageSize: 200})
		ts.Check(err)
		for _, it := range page.GetItems() {
			for _, part := range it.GetParts() {
				kept += uint64(len(part.GetOutput().GetData()))
				omitted += part.GetOutput().GetOmittedBytes()
			}
		}
		if !page.GetMore() {
			break
		}
		before = page.GetItems()[0].GetPosition()
	}
	if got := strconv.FormatUint(kept+omitted, 10); got != want || kept > 8<<20 {
		ts.Fatalf("%d kept and %d left out, want %s in all", kept, omitted, want)
	}
}

// task waits for the newest task to be in a phase.
func (w *world) task(ctx context.Context, ts *testscript.TestScript, phase string) *v1.TaskHeader {
	var got *v1.TaskHeader
	w.look(ctx, ts, func(i *beckon.Inbox) bool {
		if len(i.Tasks()) == 0 {
			return false
		}
		got = i.Tasks()[0]
		return got.GetPhase().String() == "TASK_PHASE_"+phase
	})
	return got
}
