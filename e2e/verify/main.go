// Command verify judges a run of the demo from the outside. It gets the
// server's address, a credential that may read, the log of the emulated phones,
// the path of the report and the nonce; it asks the server while it lives,
// waits until its input ends, which is when everybody else has exited, and then
// says which facts hold. It exits 1 unless all do.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/stack"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

func main() {
	var c claim
	flag.StringVar(&c.server, "server", "", "URL of the server")
	flag.StringVar(&c.keyFile, "key-file", "", "agent's key, with which tasks are read")
	flag.StringVar(&c.log, "log", "", "log of the emulated phones")
	flag.StringVar(&c.report, "report", "", "file that the agent was to write")
	flag.StringVar(&c.nonce, "nonce", "", "what has to stand in it")
	flag.Parse()
	if !c.verify() {
		os.Exit(1)
	}
}

// verify asks, waits for the end of its input and prints whether all holds.
func (c claim) verify() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	asked := c.ask(ctx)
	fmt.Println("asked the server; the verdict follows when everybody else has exited")
	_, _ = io.Copy(io.Discard, os.Stdin) // ends when everybody else has
	return c.judge(asked).print(os.Stdout)
}

// claim is what is said to have happened.
type claim struct{ server, keyFile, log, report, nonce string }

// told is what the server says, asked while it lives.
type told struct {
	task      *v1.Task
	decisions []*v1.Decision
	err       error
}

// ask finds the task by the pushes that the phones got and reads it.
func (c claim) ask(ctx context.Context) told {
	agent, err := beckon.AgentFromEnv(c.keyFile, beckon.Options{Server: c.server})
	if err != nil {
		return told{err: err}
	}
	defer agent.Close()
	id, err := c.task(ctx)
	if err != nil {
		return told{err: err}
	}
	res, err := agent.Tasks.GetTask(ctx, &v1.GetTaskRequest{TaskId: id})
	return told{task: res.GetTask(), decisions: res.GetDecisions(), err: err}
}

// read is what the phones have written so far.
func (c claim) read() (story, error) {
	log, err := stack.ReadLog(c.log)
	return log, err
}

// task waits for the last pushes of the story, which the server sends after the
// command has ended, and returns the one task that all pushes are about.
func (c claim) task(ctx context.Context) (string, error) {
	wait, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		log, err := c.read()
		if err != nil {
			return "", err
		}
		id := ""
		for _, e := range log.alerts() {
			if id != "" && id != e.Task {
				return "", fmt.Errorf("pushes about several tasks")
			}
			id = e.Task
		}
		if id != "" && log.complete() {
			return id, nil
		}
		select {
		case <-again.C:
		case <-wait.Done():
			if id == "" {
				return "", fmt.Errorf("no push reached a phone")
			}
			return id, nil
		}
	}
}

// verdict is what holds and what does not.
type verdict []fact

type fact struct {
	holds bool
	text  string
}

func (v *verdict) addf(holds bool, format string, args ...any) {
	*v = append(*v, fact{holds, fmt.Sprintf(format, args...)})
}

func (c claim) judge(t told) *verdict {
	v := new(verdict)
	if t.err != nil {
		v.addf(false, "the server can be asked: %v", t.err)
		return v
	}
	log, err := c.read()
	if err != nil {
		v.addf(false, "the log of the phones can be read: %v", err)
		return v
	}
	v.addf(t.task.GetPhase() == v1.TaskPhase_TASK_PHASE_COMPLETED, "the task is completed (it is %s)", word(t.task.GetPhase().String()))
	phones := log.paired()
	v.addf(len(phones) == 2 && phones[tapper] == "apns" && slices.Contains(slices.Collect(maps.Values(phones)), "fcm"),
		"an iPhone and an Android phone are paired (%v)", phones)
	for _, phone := range names(phones) {
		rings, pushes, ok := log.on(phone).rangTwice()
		v.addf(ok, "%s rang exactly twice, for the question and for the result (%d times; %v)", phone, rings, pushes)
	}
	c.judgeAnswer(v, t, log)
	text, err := os.ReadFile(c.report)
	v.addf(err == nil && c.nonce != "" && strings.Contains(string(text), c.nonce), "the report is on disk and contains the nonce (%d bytes)", len(text))
	return v
}

// tapper is the phone that answers; the others are not touched.
const tapper = "iphone"

// judgeAnswer compares what the server recorded with what the phones did.
func (c claim) judgeAnswer(v *verdict, t told, log story) {
	if len(t.decisions) != 1 {
		v.addf(false, "the agent asked once (it asked %d times)", len(t.decisions))
		return
	}
	d := t.decisions[0]
	a := d.GetAnswer()
	taps := log.of("app", "tapped")
	applied := 0
	for _, r := range log.on(tapper).of("app", "tapped") {
		if r.Result != nil && r.Result.Outcome == "APPLIED" && r.Decision == d.GetId() && r.Action == "approve" {
			applied++
		}
	}
	v.addf(d.GetState() == v1.DecisionState_DECISION_STATE_RESOLVED && len(d.GetGrants()) == 1 &&
		a.GetSurface() == v1.Surface_SURFACE_NOTIFICATION && a.GetInstallationLabel() == tapper && applied == 1 && len(taps) == 1,
		"one answer was given, by %s, as a tap on its lock screen (%d taps, %d applied; the server has %s by %q)",
		tapper, len(taps), applied, word(a.GetSurface().String()), a.GetInstallationLabel())
	for _, phone := range names(log.paired()) {
		if phone == tapper {
			continue
		}
		there := log.on(phone)
		gone := there.tookBack(d.GetId(), a.GetAnswerTime().AsTime())
		v.addf(a != nil && gone && there.touched() == 0,
			"the question was taken back from %s after the answer, without being touched (%d touches)", phone, there.touched())
	}
	v.addf(a.GetDeliverTime() != nil, "the agent acknowledged the answer")
}

// word is an enum's name without its prefix.
func word(s string) string { return s[strings.LastIndexByte(s, '_')+1:] }

func (v *verdict) print(w io.Writer) bool {
	missing := 0
	for _, f := range *v {
		mark := "yes"
		if !f.holds {
			mark, missing = "NO", missing+1
		}
		_, _ = fmt.Fprintf(w, "  %-3s %s\n", mark, f.text)
	}
	if missing > 0 {
		_, _ = fmt.Fprintf(w, "failed: %d of %d facts do not hold\n", missing, len(*v))
		return false
	}
	_, _ = fmt.Fprintf(w, "ok: %d facts hold\n", len(*v))
	return true
}
