package alerts

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/e2e/alerts/oracle"
	emuapns "github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
	emufcm "github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
)

// topic is the bundle id and the package name of the app.
const topic = "dev.beckon.phone"

// handset is one phone with the app and whose it is.
type handset struct {
	name    string
	android bool
	device  *device.Device
	app     *phone.App
	program *program
	owner   *account
	token   string
	file    phone.File
	// killed: the vendor calls its token dead, and the app does not know.
	killed bool
	// quiet is how many sends to it will meet no answer.
	quiet int
	// read is how much of its history is in the story.
	read                 int
	quit, offline, dozes bool
}

// program stands between the system and the app, so that a story can wait until
// the app has done what it was woken for.
type program struct {
	mutate func(*phone.App, device.Notification) (device.Notification, bool)

	mu   sync.Mutex
	cond *sync.Cond
	app  *phone.App
	done int
}

func newProgram(mutate func(*phone.App, device.Notification) (device.Notification, bool)) *program {
	p := &program{mutate: mutate}
	p.cond = sync.NewCond(&p.mu)
	return p
}

func (p *program) current() *phone.App {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.app
}

func (p *program) become(a *phone.App) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.app = a
}

func (p *program) finished() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.cond.Broadcast()
}

// wait returns once n callbacks have been carried out since the beginning.
func (p *program) wait(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.done < n {
		p.cond.Wait()
	}
}

// Receive hands a push on.
func (p *program) Receive(ctx context.Context, n device.Notification) {
	defer p.finished()
	a := p.current()
	if p.mutate != nil {
		var passes bool
		if n, passes = p.mutate(a, n); !passes {
			return
		}
	}
	a.Receive(ctx, n)
}

// MessagesDeleted hands the word of FCM on.
func (p *program) MessagesDeleted(ctx context.Context) {
	defer p.finished()
	p.current().MessagesDeleted(ctx)
}

// Open hands a tap on an alert on.
func (p *program) Open(ctx context.Context, n device.Notification) error {
	return p.current().Open(ctx, n)
}

// Act hands a tap on a button on.
func (p *program) Act(ctx context.Context, n device.Notification, action string) error {
	return p.current().Act(ctx, n, action)
}

func (w *world) newHandset(name string, android bool) *handset {
	h := &handset{name: name, android: android, program: newProgram(w.mutate.Receive)}
	h.file = phone.File(filepath.Join(w.Folder, name+".json"))
	if err := os.Remove(string(h.file)); err != nil && !os.IsNotExist(err) {
		w.must(err)
	}
	system := device.IOS
	if android {
		system = device.Android
	}
	h.device = device.New(device.Config{Name: name, Now: w.Now, System: system})
	w.renew(h)
	return h
}

// renew is an app that starts with a new token from its vendor.
func (w *world) renew(h *handset) {
	if h.android {
		h.token = emufcm.NewToken()
		w.must(w.fcm.AddDevice(emufcm.Registration{Token: h.token, App: topic, Phone: h.device}))
	} else {
		raw := make([]byte, 32)
		_, err := rand.Read(raw)
		w.must(err)
		h.token = hex.EncodeToString(raw)
		w.must(w.apns.AddDevice(emuapns.Registration{Token: h.token, Topic: topic, Env: emuapns.Sandbox, Phone: h.device}))
	}
	w.wire.tokens[h.token] = h
	if h.app != nil {
		h.app.Close()
	}
	vendor := phone.APNs
	if h.android {
		vendor = phone.FCM
	}
	var err error
	h.app, err = phone.New(phone.Config{Device: h.device, Store: h.file, Vendor: vendor, Topic: topic, DeviceToken: h.token, Now: w.Now, Repeat: time.Hour, Lock: time.Hour})
	w.must(err)
	h.program.become(h.app)
	w.must(h.device.Install(topic, h.program))
	h.killed, h.quiet = false, 0
}

// logIn pairs a phone with an account; what it belonged to before is forgotten.
func (w *world) logIn(h *handset, a *account) {
	w.launch(h)
	if h.killed {
		w.renew(h)
	}
	offer, err := w.app.OfferPairing(w.ctx, a.desk.Principal)
	w.must(err)
	var refused error
	err = h.app.Pair(w.ctx, w.url, "", offer.Code.Reveal(), func(digits string) {
		_, refused = w.app.ConfirmPairing(w.ctx, a.desk.Principal, offer.ID, credential.NewSecret(digits))
	})
	w.must(refused)
	w.must(err)
	h.owner = a
	w.wire.accounts[h.app.State().AccountTag] = a.name
	w.tell(oracle.Fact{Kind: oracle.LoggedIn, Phone: h.name, Android: h.android, Account: a.name, Installation: h.app.State().Installation})
	w.observe()
}

// principal is the installation that a phone is now.
func (h *handset) principal() policy.Principal {
	return policy.Principal{Kind: policy.Installation, Account: h.owner.key, Installation: h.app.State().Installation}
}

func (w *world) launch(h *handset) {
	h.device.Launch(topic)
	if h.quit {
		h.quit = false
		w.tell(oracle.Fact{Kind: oracle.Launched, Phone: h.name})
	}
}

// openApp is the person who opens the app from the home screen: it registers and
// reads everything.
func (w *world) openApp(h *handset) {
	if h.offline {
		return
	}
	w.launch(h)
	if h.killed {
		w.renew(h)
	}
	w.must(h.app.Register(w.ctx))
	w.tell(oracle.Fact{Kind: oracle.Registered, Phone: h.name})
	w.must(h.app.Sync(w.ctx))
	w.observe()
	w.tell(w.screen(oracle.Synced, h))
}

// screen is what a phone shows now.
func (w *world) screen(kind oracle.Kind, h *handset) oracle.Fact {
	f := oracle.Fact{Kind: kind, Phone: h.name, Badge: h.device.Badge(topic), Count: w.count(h.owner)}
	for _, s := range h.device.Shown(topic) {
		subject, withdraw := w.wire.about(s.Tag, s.ID)
		f.Shown = append(f.Shown, oracle.Shown{Subject: subject, Withdraw: withdraw})
	}
	return f
}

// observe waits until all apps are at rest and writes down what the phones did
// since.
func (w *world) observe() {
	w.noteNames()
	for _, h := range w.phones {
		calls := 0
		for _, e := range h.device.History().All() {
			if e.Kind == device.Received || e.Kind == device.Deleted {
				calls++
			}
		}
		h.program.wait(calls)
		all := h.device.History().All()
		if len(all) == h.read {
			continue
		}
		for _, e := range all[h.read:] {
			w.observeEvent(h, e)
		}
		h.read = len(all)
		if h.owner != nil {
			w.tell(w.screen(oracle.Screen, h))
		}
	}
}

func (w *world) observeEvent(h *handset, e device.Event) {
	f := oracle.Fact{Phone: h.name}
	switch e.Kind {
	case device.Rang:
		f.Kind = oracle.Rang
	case device.Appeared:
		f.Kind = oracle.Appeared
	case device.Replaced:
		f.Kind = oracle.Replaced
	case device.Removed:
		f.Kind, f.Reason = oracle.Gone, e.Reason
	case device.Opened, device.Acted, device.Dismissed:
		f.Kind, f.Reason = oracle.Gone, string(e.Kind)
	case device.Lost:
		f.Kind, f.Reason = oracle.Lost, e.Reason
	default:
		return
	}
	if w.wire.quiet[e.ID] {
		return // it had nothing to show
	}
	if f.Subject, f.Withdraw = w.wire.about(e.Tag, e.ID); f.Subject == "" {
		w.must(fmt.Errorf("%s: nothing that was sent explains %s of %q, %q", h.name, e.Kind, e.Tag, e.ID))
	}
	w.tell(f)
}

// reportPresence is a phone that shows a thread to its person, or nothing.
func (w *world) reportPresence(h *handset, n int, foreground bool) {
	if h.offline || h.quit || len(h.owner.threads) == 0 {
		return
	}
	id := h.owner.threads[n%len(h.owner.threads)]
	until, err := w.app.ReportPresence(w.ctx, h.principal(), app.ReportPresence{Thread: id, Foreground: foreground})
	w.must(err)
	kind := oracle.Absent
	if foreground {
		kind = oracle.Present
	}
	w.tell(oracle.Fact{Kind: kind, Phone: h.name, Thread: id, Until: until})
}
