package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/emulator/journal"
)

// errUsage is a command line that makes no sense.
var errUsage = errors.New("usage")

type runCommand struct {
	Dir        string `default:"phones-data"                                                                       help:"Folder for keys, phones and apns.json."                                            type:"path"`
	Phones     string `default:"1"                                                                                 help:"How many phones, or their names separated by commas."`
	Auto       string `default:"none"                                                                              enum:"approve,deny,none"                                                                 help:"Button that the phones tap by themselves: approve, deny or none."`
	Log        string `help:"File that gets a JSON line for every request and everything the phones do, appended." type:"path"`
	Topic      string `default:"dev.beckon.phone"                                                                  help:"Bundle id of the app."`
	App        string `default:"beckon"                                                                            help:"Id of the app in the server's configuration."`
	Production bool   `help:"Give the phones addresses of the production host instead of the sandbox."`
	Fault      string `default:"none"                                                                              help:"Make all phones misbehave: wrong-key, replay, wrong-verb, forged-token, no-proof."`
}

// entry is one line of the log.
type entry struct {
	Source string          `json:"source"`
	Phone  string          `json:"phone,omitempty"`
	Record json.RawMessage `json:"record"`
}

// keep bounds the log in memory; the file has all of it.
const keep = 20_000

// host is the running program.
type host struct {
	listen string
	json   bool
	log    *journal.Journal[entry]
	apns   *apns.Server
	order  []string
	phones map[string]*unit
	// ctx ends when the program does; running are the goroutines that use it.
	ctx     context.Context
	running sync.WaitGroup

	printing sync.Mutex
	out      io.Writer
}

// unit is one phone with its app.
type unit struct {
	device *device.Device
	app    *phone.App
	topic  string

	mu      sync.Mutex
	pairing *pairing
}

// Run serves until a signal.
func (r *runCommand) Run(c call) (err error) {
	names, err := phoneNames(r.Phones)
	if err != nil {
		return err
	}
	fault, err := parseFault(r.Fault)
	if err != nil {
		return err
	}
	var file io.Writer
	if r.Log != "" {
		f, openErr := os.OpenFile(r.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		file = f
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	h := &host{
		listen: c.listen, json: c.json, log: journal.New[entry](file, keep), ctx: ctx, out: c.out, phones: map[string]*unit{},
	}
	defer func() { err = errors.Join(err, h.log.Err()) }()
	defer h.close()
	defer cancel()
	if err := h.open(r, names, fault); err != nil {
		return err
	}
	return h.serve(r)
}

func phoneNames(arg string) ([]string, error) {
	if n, err := strconv.Atoi(arg); err == nil {
		if n < 1 || n > 1000 {
			return nil, fmt.Errorf("%w: --phones is 1 to 1000, or names", errUsage)
		}
		if n == 1 {
			return []string{"phone"}, nil
		}
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("phone-%d", i+1))
		}
		return names, nil
	}
	names := strings.Split(arg, ",")
	for i, name := range names {
		if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`).MatchString(name) || slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("%w: --phones: a name is lower-case letters, digits and -, and stands once", errUsage)
		}
	}
	return names, nil
}

func parseFault(name string) (phone.Fault, error) {
	if name == "none" {
		name = ""
	}
	if f := phone.Fault(name); f.Known() {
		return f, nil
	}
	return "", fmt.Errorf("%w: no fault is called %q", errUsage, name)
}

func parseAuto(name string) (string, error) {
	switch name {
	case "none", "":
		return "", nil
	case phone.Approve, phone.Deny:
		return name, nil
	}
	return "", fmt.Errorf("%w: a button is approve or deny, or none", errUsage)
}

// source gives a writer that files the JSON lines of one part in the log.
func (h *host) source(source, name string) io.Writer { return lines{h.log, source, name} }

type lines struct {
	log           *journal.Journal[entry]
	source, phone string
}

// Write takes one line: journals write entry by entry.
func (l lines) Write(line []byte) (int, error) {
	l.log.Append(entry{Source: l.source, Phone: l.phone, Record: bytes.TrimSpace(bytes.Clone(line))})
	return len(line), nil
}

// open starts the push service on the addresses it had before, then the phones,
// and tells the server by apns.json.
func (h *host) open(r *runCommand, names []string, fault phone.Fault) error {
	dir, err := openFolder(r.Dir)
	if err != nil {
		return err
	}
	before, err := dir.settings()
	if err != nil {
		return err
	}
	certFile, keyFile, err := dir.authority()
	if err != nil {
		return err
	}
	key, err := dir.providerKey()
	if err != nil {
		return err
	}
	h.apns, err = apns.Start(h.ctx, apns.Config{
		SandboxAddr: address(before.SandboxHost), ProductionAddr: address(before.ProductionHost),
		CACertFile: certFile, CAKeyFile: keyFile, Log: h.source("apns", ""), Keep: keep,
	})
	if err != nil {
		return err
	}
	if err := h.apns.RegisterKey(key); err != nil {
		return err
	}
	for _, name := range names {
		if err := h.add(dir, r, name, fault); err != nil {
			return err
		}
	}
	return dir.write(settings{
		KeyFile: dir.file("provider.p8"), KeyID: keyID, TeamID: teamID, App: r.App, Topics: []string{r.Topic},
		SandboxHost: h.apns.URL(apns.Sandbox), ProductionHost: h.apns.URL(apns.Production), CAFile: certFile,
	})
}

func (h *host) add(dir folder, r *runCommand, name string, fault phone.Fault) error {
	token, err := dir.deviceToken(name)
	if err != nil {
		return err
	}
	auto, err := parseAuto(r.Auto)
	if err != nil {
		return err
	}
	u := &unit{topic: r.Topic, device: device.New(device.Config{Name: name, Log: h.source("phone", name), Keep: keep})}
	u.app, err = phone.New(phone.Config{
		Device: u.device, Store: phone.File(dir.file(filepath.Join("phones", name+".json"))),
		Topic: r.Topic, DeviceToken: token, Production: r.Production, AppID: r.App, Auto: auto,
		Observe: h.showAlert, Record: h.recordApp,
	})
	if err != nil {
		u.device.Close()
		return err
	}
	u.app.SetFault(fault)
	h.phones[name] = u
	h.order = append(h.order, name)
	env := apns.Sandbox
	if r.Production {
		env = apns.Production
	}
	return h.apns.AddDevice(apns.Registration{Token: token, Topic: r.Topic, Env: env, Phone: u.device})
}

// recordApp files what an app did, and prints what a person would notice.
func (h *host) recordApp(e phone.Event) {
	raw, err := json.Marshal(e)
	if err != nil {
		return // plain fields
	}
	h.log.Append(entry{Source: "app", Phone: e.Phone, Record: raw})
	if text := describe(e); text != "" && !h.json {
		h.print(text)
	}
}

func (h *host) showAlert(a phone.Alert) {
	if h.json {
		h.print(jsonLine(map[string]any{"event": "alert", "alert": a}))
		return
	}
	h.print(draw(a, h.tapCommand(a)))
}

func (h *host) print(text string) {
	h.printing.Lock()
	defer h.printing.Unlock()
	_, _ = fmt.Fprintln(h.out, text) // a terminal that is gone stops no phone
}

func jsonLine(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a reader compares text
	if err := enc.Encode(v); err != nil {
		return `{"error":"not to be written as JSON"}`
	}
	return strings.TrimSpace(b.String())
}

// serve answers the control address until the program is to end.
func (h *host) serve(r *runCommand) error {
	var lc net.ListenConfig
	l, err := lc.Listen(h.ctx, "tcp", h.listen)
	if err != nil {
		return err
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() { //nolint:forcetypeassert // of a TCP listener
		return errors.Join(fmt.Errorf("%w: --listen must be on this machine: whoever reaches it can approve", errUsage), l.Close())
	}
	h.listen = l.Addr().String()
	srv := &http.Server{Handler: h.handler(), ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return h.ctx }}
	h.running.Go(func() { _ = srv.Serve(l) })
	h.resume()
	h.ready(r)
	<-h.ctx.Done()
	return srv.Close()
}

// resume lets phones that were paired before register again, as apps do when they
// start. The server may come up after them.
func (h *host) resume() {
	for _, name := range h.order {
		u := h.phones[name]
		if !u.app.State().Paired() {
			continue
		}
		h.running.Go(func() {
			err := u.app.Register(h.ctx)
			if err == nil {
				err = u.app.Sync(h.ctx)
			}
			if err != nil && h.ctx.Err() == nil {
				h.recordApp(phone.Event{Time: time.Now().UTC(), Phone: name, Kind: phone.Failed, Error: err.Error()})
			}
		})
	}
}

func (h *host) ready(r *runCommand) {
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		dir = r.Dir
	}
	config := filepath.Join(dir, "apns.json")
	if h.json {
		h.print(jsonLine(map[string]any{
			"event": "ready", "control": h.listen, "config": config, "phones": h.order,
			"sandbox": h.apns.URL(apns.Sandbox), "production": h.apns.URL(apns.Production),
		}))
		return
	}
	h.print(fmt.Sprintf("phones: %s\ncontrol: %s\nserver: beckond --config %s", strings.Join(h.order, ", "), h.listen, config))
}

// close ends everything from the outside in: no more pushes, then no more
// callbacks, then no more connections.
func (h *host) close() {
	if h.apns != nil {
		h.apns.Close()
	}
	for _, u := range h.phones {
		u.device.Close()
	}
	h.running.Wait()
	for _, u := range h.phones {
		u.app.Close()
	}
}
