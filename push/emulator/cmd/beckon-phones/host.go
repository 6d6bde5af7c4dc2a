package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/push/emulator/journal"
)

// errUsage is a command line that makes no sense.
var errUsage = errors.New("usage")

type runCommand struct {
	Dir        string `default:"phones-data"                                                                       help:"Folder for keys, phones and server.json."                                                                                   type:"path"`
	Phones     string `default:"iphone,pixel:android"                                                              help:"Names of the phones separated by commas, each an iPhone or, with :android after it, an Android phone; or how many iPhones."`
	Auto       string `default:"none"                                                                              enum:"approve,deny,none"                                                                                                          help:"Button that the phones tap by themselves: approve, deny or none."`
	Log        string `help:"File that gets a JSON line for every request and everything the phones do, appended." type:"path"`
	Topic      string `default:"dev.beckon.phone"                                                                  help:"Bundle id and package name of the app."`
	App        string `default:"beckon"                                                                            help:"Id of the app in the server's configuration."`
	Production bool   `help:"Give the iPhones addresses of Apple's production host instead of the sandbox."`
	Fault      string `default:"none"                                                                              help:"Make all phones misbehave: wrong-key, replay, wrong-verb, forged-token, no-proof."`
}

// keep bounds the log in memory; the file has all of it.
const keep = 20_000

// host is the running program.
type host struct {
	listen string
	json   bool
	log    *journal.Journal[entry]
	apns   *apns.Server
	fcm    *fcm.Server
	dir    folder
	order  []string
	phones map[string]*unit
	// addresses leads from every address that a phone has, or had, to its *unit.
	addresses sync.Map
	orders    orders
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
	vendor phone.Vendor
	env    apns.Env

	// changing is held while the phone's condition is changed.
	changing sync.Mutex
	mu       sync.Mutex
	pairing  *pairing
}

// model is the phone as it was asked for.
func (u *unit) model() model { return model{u.app.Name(), u.vendor} }

// Run serves until a signal.
func (r *runCommand) Run(c call) (err error) {
	models, err := parsePhones(r.Phones)
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
	if err := h.open(r, models, fault); err != nil {
		return taken(err)
	}
	return taken(h.serve(r))
}

// taken explains that something else listens where this program wants to.
func taken(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("phones seem to run already: 'beckon-phones state' shows them; others need another address by --listen and a folder of their own by --dir (%w)", err)
	}
	return err
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

// recordApp files what an app did, and prints what a person would notice.
func (h *host) recordApp(e phone.Event) {
	raw, err := json.Marshal(e)
	if err != nil {
		return // plain fields
	}
	vendor := h.phones[e.Phone].vendor
	line := entry{Source: "app", Phone: e.Phone, Vendor: vendor, Record: raw}
	readApp(e, &line)
	h.log.Append(line)
	if text := describe(e); text != "" && !h.json {
		h.print(called(e.Phone, vendor) + ": " + text)
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
	h.running.Go(h.tick)
	h.resume()
	h.ready(r)
	<-h.ctx.Done()
	return srv.Close()
}

// tick lets the phones do what falls due by the clock alone: what the vendors
// stored or held back for them.
func (h *host) tick() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-ticker.C:
			for _, u := range h.phones {
				u.device.Tick()
			}
		}
	}
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
	config := filepath.Join(dir, configName)
	if h.json {
		h.print(jsonLine(map[string]any{
			"event": "ready", "control": h.listen, "config": config, "phones": h.order,
			"sandbox": h.apns.URL(apns.Sandbox), "production": h.apns.URL(apns.Production), "fcm": h.fcm.URL(),
		}))
		return
	}
	var names []string
	for _, name := range h.order {
		names = append(names, called(name, h.phones[name].vendor))
	}
	h.print(fmt.Sprintf("phones: %s\ncontrol: %s\npage: http://%s/\nserver: beckond --config %s", strings.Join(names, ", "), h.listen, h.listen, config))
}

// close ends everything from the outside in: no more pushes, then no more
// callbacks, then no more connections.
func (h *host) close() {
	if h.apns != nil {
		h.apns.Close()
	}
	if h.fcm != nil {
		h.fcm.Close()
	}
	for _, u := range h.phones {
		u.device.Close()
	}
	h.running.Wait()
	for _, u := range h.phones {
		u.app.Close()
	}
}
