package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/journal"
)

var (
	// ErrNotShown answers a tap or a dismissal of an alert that is no longer on
	// the screen.
	ErrNotShown = errors.New("device: no such alert on the screen")
	// ErrClosed answers an installation on a phone that was closed.
	ErrClosed = errors.New("device: closed")
)

// Config is what a phone is made of. The zero value is usable.
type Config struct {
	// Name stands in every event, to tell phones apart in one log.
	Name string
	// Now is the phone's clock; nil means time.Now.
	Now func() time.Time
	// Log gets one JSON line per event; nil for memory only.
	Log io.Writer
	// Keep bounds the events held in memory; 0 keeps all.
	Keep int
	// System decides the rules that differ between phones; "" means IOS.
	System System
}

// System is the operating system of a phone.
type System string

// The two systems.
const (
	IOS     System = "ios"
	Android System = "android"
)

// Device is one phone. It is safe for concurrent use. Close it when an app with
// callbacks was installed.
type Device struct {
	name    string
	now     func() time.Time
	history *journal.Journal[Event]
	ctx     context.Context //nolint:containedctx // the phone's own lifetime, handed to callbacks
	cancel  context.CancelFunc
	running sync.WaitGroup

	system System

	mu       sync.Mutex
	closed   bool
	seq      int
	apps     map[string]*installed
	queue    []func(context.Context)
	draining bool
	offline  bool
	reorder  bool      // what Apple stored comes behind the next push
	since    time.Time // of offline
	doze     bool
	received []time.Time // FCM messages of the last hour, for the limit by device
}

type installed struct {
	program App // nil for an app without code
	badge   int
	screen  []Shown // oldest first
	silent  bool    // the person switched its notifications off
	quit    bool    // the person ended it
	posted  int     // alerts that came to be seen, for the priority on Android
	apple   appleBox
	google  googleBox
}

// New returns a phone without apps.
func New(cfg Config) *Device {
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Device{
		name:    cfg.Name,
		now:     now,
		history: journal.New[Event](cfg.Log, cfg.Keep),
		ctx:     ctx,
		cancel:  cancel,
		apps:    make(map[string]*installed),
		system:  cmp.Or(cfg.System, IOS),
	}
}

// Install puts an app on the phone; an earlier program under the name is
// replaced and what it has on screen stays, as with an update. program may be
// nil: alerts then show and nothing reacts. The error is ErrClosed.
func (d *Device) Install(app string, program App) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if in, ok := d.apps[app]; ok {
		in.program = program
		return nil
	}
	d.apps[app] = &installed{program: program}
	return nil
}

// Uninstall takes an app and what it shows off the phone. Later pushes for it
// are ignored; telling the vendor is the business of the vendor's emulator.
func (d *Device) Uninstall(app string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in, ok := d.apps[app]; ok {
		d.clear(app, in, ByUninstall)
		delete(d.apps, app)
	}
}

// Close ends the callbacks: it cancels their context and waits for the one that
// runs. The history stays readable.
func (d *Device) Close() {
	d.mu.Lock()
	d.closed = true
	d.queue = nil
	d.mu.Unlock()
	d.cancel()
	d.running.Wait()
}

// Name returns the name the phone was made with.
func (d *Device) Name() string { return d.name }

// Shown returns what an app has on screen, oldest first.
func (d *Device) Shown(app string) []Shown {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in, ok := d.apps[app]; ok {
		return slices.Clone(in.screen)
	}
	return nil
}

// Badge returns the number on an app's icon.
func (d *Device) Badge(app string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in, ok := d.apps[app]; ok {
		return in.badge
	}
	return 0
}

// History is everything that happened on the phone, with readers that block.
func (d *Device) History() *journal.Journal[Event] { return d.history }

// Rings counts how often an app interrupted the person with a new alert.
func (d *Device) Rings(app string) int {
	n := 0
	for _, e := range d.history.All() {
		if e.App == app && e.Kind == Rang {
			n++
		}
	}
	return n
}

// Deliver hands one push to the phone past any vendor's store, network and limits:
// what AcceptAPNs and AcceptFCM do once the push gets through. The screen and the
// history show its effect when Deliver returns; the app's code may still be
// running.
func (d *Device) Deliver(n Notification) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in, ok := d.find(n); ok {
		d.arrive(in, n, false)
	}
}

// find looks up the app of a push and writes down that there is none.
func (d *Device) find(n Notification) (*installed, bool) {
	in, ok := d.apps[n.App]
	if !ok {
		d.record(n.event(Ignored))
	}
	return in, ok
}

// arrive does what the system does with a push that got through. high is the
// priority of an FCM message.
func (d *Device) arrive(in *installed, n Notification, high bool) {
	if in.quit && d.system == Android {
		d.lose(n, ByForceQuit)
		return
	}
	if n.Alert && n.Level == "" {
		n.Level = Active
	}
	seen := n.Alert && !in.silent
	// The badge goes first: a 0 that comes with an alert removes the old ones,
	// not the alert it came with.
	if n.Badge != nil && !in.silent {
		d.setBadge(n.App, in, *n.Badge)
	}
	switch {
	case seen:
		d.show(in, n)
	case n.Alert:
		d.lose(n, BySwitch)
	}
	// An extension has nothing to change where no alert is going to be seen.
	extension := n.Mutable && (seen || !n.Alert)
	switch {
	case extension || n.Wake && !in.quit:
		d.record(n.event(Received))
		d.hand(in, n, high)
	case n.Wake && !n.Alert:
		d.lose(n, ByForceQuit)
	}
}

// show puts an alert on the screen or in the place of the one with its tag.
func (d *Device) show(in *installed, n Notification) {
	in.posted++
	in.google.invisible = nil
	shown := Shown{Key: n.Tag, Notification: n, At: d.now()}
	if n.Tag != "" {
		i := slices.IndexFunc(in.screen, func(s Shown) bool { return s.Tag == n.Tag })
		if i >= 0 {
			e := n.event(Replaced)
			e.Key, e.Resend = n.Tag, in.screen[i].ID == n.ID
			in.screen = append(slices.Delete(in.screen, i, i+1), shown)
			d.record(e)
			return
		}
	} else {
		shown.Key = in.freeKey(n.ID)
	}
	in.screen = append(in.screen, shown)
	kind := Rang
	if n.Level == Passive {
		kind = Appeared
	}
	e := n.event(kind)
	e.Key = shown.Key
	d.record(e)
}

// freeKey names an alert without tag. The same delivery ID may come twice, and
// without a tag nothing replaces it, so the second needs a name of its own.
func (in *installed) freeKey(id string) string {
	key := id
	for n := 2; slices.ContainsFunc(in.screen, func(s Shown) bool { return s.Key == key }); n++ {
		key = fmt.Sprintf("%s#%d", id, n)
	}
	return key
}

// setBadge sets the number; 0 makes iOS remove all alerts of the app (seen:
// mattermost/mattermost-push-proxy#102).
func (d *Device) setBadge(app string, in *installed, n int) {
	in.badge = n
	d.record(Event{App: app, Kind: Badged, Badge: &n})
	if n == 0 && d.system == IOS {
		d.clear(app, in, ByBadge)
	}
}

func (d *Device) clear(app string, in *installed, reason string) {
	for _, s := range in.screen {
		d.record(Event{App: app, Kind: Removed, Key: s.Key, ID: s.ID, Tag: s.Tag, Reason: reason})
	}
	in.screen = nil
}

// record stamps an event. d.mu is held, which keeps the history in the order of
// the changes.
func (d *Device) record(e Event) {
	e.Seq, e.Time, e.Device = d.seq, d.now().UTC().Truncate(time.Microsecond), d.name
	d.seq++
	d.history.Append(e)
}

func (n *Notification) event(kind Kind) Event {
	return Event{
		App: n.App, Kind: kind, ID: n.ID, Tag: n.Tag,
		Title: n.Title, Body: n.Body, LocKey: n.LocKey, Level: n.Level,
	}
}

// hand queues a push for the app's code.
func (d *Device) hand(in *installed, n Notification, high bool) {
	program := in.program
	if program == nil {
		in.google.shown(high, false, d.now())
		return
	}
	d.run(func(ctx context.Context) {
		d.mu.Lock()
		before := in.posted
		d.mu.Unlock()
		program.Receive(ctx, n)
		d.mu.Lock()
		defer d.mu.Unlock()
		in.google.shown(high, in.posted > before, d.now())
	})
}

// run queues a call of an app's code. The goroutine that runs the queue lives only
// while there is something to run, so that thousands of idle phones cost none.
// d.mu is held.
func (d *Device) run(call func(context.Context)) {
	if d.closed {
		return
	}
	d.queue = append(d.queue, call)
	if !d.draining {
		d.draining = true
		d.running.Go(d.drain)
	}
}

func (d *Device) drain() {
	for {
		d.mu.Lock()
		if len(d.queue) == 0 {
			d.draining = false
			d.mu.Unlock()
			return
		}
		next := d.queue[0]
		d.queue = d.queue[1:]
		d.mu.Unlock()
		next(d.ctx)
	}
}
