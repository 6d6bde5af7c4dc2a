package stack

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"
)

// Phones is a beckon-phones program: strict stand-ins for APNs and FCM and
// emulated phones, in a process that outlives the server's.
type Phones struct {
	t       testing.TB
	Process *Process
	// Config is a configuration for beckond; Control the address of the control
	// calls; LogFile has a JSON line for everything that happened.
	Config, Control, LogFile string
}

// StartPhones starts one iPhone named "phone" and waits until it is ready.
func StartPhones(t testing.TB, bin Binaries, args ...string) *Phones {
	t.Helper()
	dir := t.TempDir()
	p := &Phones{t: t, LogFile: filepath.Join(dir, "phones.log")}
	p.Process = Start(t, nil, bin.Phones, append([]string{
		"run", "--dir", filepath.Join(dir, "phones"), "--listen", "127.0.0.1:0", "--json", "--log", p.LogFile, "--phones", "phone",
	}, args...)...)
	line := p.Process.Expect(`(?m)^(\{.*"event":"ready".*\})$`)[1]
	var ready struct{ Config, Control string }
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		t.Fatal(err)
	}
	p.Config, p.Control = ready.Config, "http://"+ready.Control
	return p
}

// Tapped is what the server said to an answer by a phone.
type Tapped struct {
	Counted bool `json:"counted"`
	Result  struct {
		Outcome string `json:"outcome"`
		Reason  string `json:"reason"`
		Status  int    `json:"status"`
	} `json:"result"`
	Error string `json:"error"`
}

// Pair redeems a code on the phone and returns the digits it shows.
func (p *Phones) Pair(server, code string) string {
	p.t.Helper()
	var res struct{ Digits string }
	p.call(http.MethodPost, "/phones/phone/pair", map[string]string{"server": server, "code": code}, &res)
	return res.Digits
}

// Paired waits until the pairing is over and returns the installation.
func (p *Phones) Paired() string {
	p.t.Helper()
	var res struct {
		Paired       bool
		Installation string
	}
	p.call(http.MethodGet, "/phones/phone/pair", nil, &res)
	if !res.Paired {
		p.t.Fatal("the phone did not get in")
	}
	return res.Installation
}

// Tap taps a button on the lock screen, waiting for one to be there.
func (p *Phones) Tap(action string) Tapped {
	p.t.Helper()
	var res Tapped
	p.call(http.MethodPost, "/phones/phone/tap", map[string]string{"action": action, "wait": "20s"}, &res)
	return res
}

// Fault makes the phone misbehave from now on.
func (p *Phones) Fault(name string) {
	p.t.Helper()
	p.call(http.MethodPost, "/phones/phone/fault", map[string]string{"fault": name}, nil)
}

// Script makes a vendor do something about requests to come; see beckon-phones
// vendor fault --help. Without vendor in it, the phone's own is meant.
func (p *Phones) Script(fault map[string]any) {
	p.t.Helper()
	if fault["vendor"] == nil {
		fault["phone"] = "phone"
	}
	p.call(http.MethodPost, "/faults", fault, nil)
}

// Given is how often the faults scripted so far were given, in their order.
func (p *Phones) Given() []int {
	p.t.Helper()
	var res struct{ Faults []struct{ Given int } }
	p.call(http.MethodGet, "/faults", nil, &res)
	out := []int{}
	for _, f := range res.Faults {
		out = append(out, f.Given)
	}
	return out
}

// Set changes how the phone is; see beckon-phones set --help.
func (p *Phones) Set(condition string) {
	p.t.Helper()
	p.call(http.MethodPost, "/phones/phone/set", map[string]string{"condition": condition}, nil)
}

// Open opens the newest alert in the app, waiting for one to be there.
func (p *Phones) Open() {
	p.t.Helper()
	p.call(http.MethodPost, "/phones/phone/open", map[string]string{"wait": "20s"}, nil)
}

// Screen is what the phone shows and how often it rang.
type Screen struct {
	Badge  int `json:"badge"`
	Rings  int `json:"rings"`
	Screen []struct {
		Title string `json:"title"`
		Body  string `json:"body"`
	} `json:"screen"`
}

// State is the phone as it is now.
func (p *Phones) State() Screen {
	p.t.Helper()
	var res struct{ Phones []Screen }
	p.call(http.MethodGet, "/state", nil, &res)
	if len(res.Phones) != 1 {
		p.t.Fatalf("%d phones", len(res.Phones))
	}
	return res.Phones[0]
}

// Log is everything that happened so far.
func (p *Phones) Log() []Entry {
	p.t.Helper()
	entries, err := ReadLog(p.LogFile)
	if err != nil {
		p.t.Fatal(err)
	}
	return entries
}

// control is a client for the control calls, none of which may hang.
func (p *Phones) control() *http.Client { return &http.Client{Timeout: patience} }

func (p *Phones) call(method, path string, body, res any) {
	p.t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.Control+path, bytes.NewReader(encoded))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := p.control().Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %d %s", path, answer.StatusCode, text)
	}
	if res == nil {
		return
	}
	if err := json.Unmarshal(text, res); err != nil {
		p.t.Fatal(fmt.Errorf("%s: %w: %s", path, err, text))
	}
}

// Await reads the log from its beginning until it holds what is wanted, without
// polling, and returns everything up to there.
func (p *Phones) Await(what string, enough func([]Entry) bool) []Entry {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Control+"/log?from=0&follow=1", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := p.control().Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var seen []Entry
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for !enough(seen) {
		if !lines.Scan() {
			p.t.Fatalf("waiting for %s: %v after %d entries", what, lines.Err(), len(seen))
		}
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			p.t.Fatal(err)
		}
		seen = append(seen, e)
	}
	return seen
}
