package phone

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/emulator/journal"
	"github.com/beckon-dev/beckon/sync/replica"
)

// Verbs a button on the lock screen stands for.
const (
	Approve = "approve"
	Deny    = "deny"
)

// Config is what an app runs on. Device, Store, Topic and DeviceToken have to be
// set; the caller has installed nothing under Topic yet and closes the device
// before the app.
type Config struct {
	// Device is the phone; its name is the label of the installation.
	Device *device.Device
	// Store keeps what has to outlive the process.
	Store File
	// Vendor calls the phone; "" is APNs. It has to fit the system of Device.
	Vendor Vendor
	// Topic is the bundle id or package name, DeviceToken the address the vendor
	// gave this phone. Production tells where one of Apple's is valid; otherwise
	// it is a sandbox token.
	Topic, DeviceToken string
	Production         bool
	// AppID is the client program as the server's operator configured it.
	AppID string
	// Auto is the button that the phone taps by itself where it is shown; "" for
	// none.
	Auto string
	// Observe hears of each push once the app has taken it in, before any
	// automatic tap; nil is nobody.
	Observe func(Alert)
	// Record hears of each event in order; nil is nobody.
	Record func(Event)
	// Window is how long a tap is tried before the phone gives up on it, as iOS
	// gives an app about half a minute; 0 means 25 s.
	Window time.Duration
	// Repeat is how often presence is reported while a thread is open; 0 means the
	// protocol's 20 s. Lock is after how long without a touch the screen locks by
	// itself, which ends it; 0 means 2 minutes.
	Repeat, Lock time.Duration
	// Now is the phone's clock; nil means time.Now.
	Now func() time.Time
}

// App is Beckon's app on one phone. It is safe for concurrent use.
type App struct {
	cfg     Config
	now     func() time.Time
	history *journal.Journal[Event]
	// wrong is the key of the fault WrongKey.
	wrong *ecdsa.PrivateKey

	// Held in this order, each while the calls it covers are on their way:
	// pressing is the one finger, reading the one reader of the views, renewing
	// the one exchange of tokens.
	pressing, reading, renewing sync.Mutex

	// views is what was read of the account ("") and of threads; see reading.
	views map[string]*replica.View

	// ctx is the app's own life; running is what goes on beside the calls.
	ctx     context.Context //nolint:containedctx // ends what nobody waits for
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	state     State
	address   string // what the vendor calls this phone
	threads   []ThreadLine
	gaze      *gaze
	server    *server
	token     string
	tokenEnds time.Time
	auto      string
	fault     Fault
	opened    *Card
	last      Result
}

var _ device.App = (*App)(nil)

// New installs the app on its phone with what it has stored. It calls nobody; an
// app that is paired is to be told to Register.
func New(cfg Config) (*App, error) {
	state, err := cfg.Store.Load()
	if err != nil {
		return nil, err
	}
	wrong, _, err := newKey()
	if err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Vendor = cmp.Or(cfg.Vendor, APNs)
	if cfg.Window == 0 {
		cfg.Window = 25 * time.Second
	}
	cfg.Repeat, cfg.Lock = cmp.Or(cfg.Repeat, presenceRepeat), cmp.Or(cfg.Lock, 2*time.Minute)
	a := &App{
		cfg: cfg, now: cfg.Now, history: journal.New[Event](nil, 0), wrong: wrong,
		views: map[string]*replica.View{}, state: state, auto: cfg.Auto, address: cfg.DeviceToken,
	}
	if state.Paired() {
		if a.server, err = dial(state.Server, state.ServerCA, cfg.Device.Online); err != nil {
			return nil, err
		}
	}
	if err := cfg.Device.Install(cfg.Topic, a); err != nil {
		a.server.close()
		return nil, err
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

// Close ends what the app does by itself and gives connections back. The phone
// has to be closed before.
func (a *App) Close() {
	a.mu.Lock()
	a.cancel()
	a.mu.Unlock()
	a.running.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.server.close()
}

// Name is the name of the phone.
func (a *App) Name() string { return a.cfg.Device.Name() }

// State is what the app has stored.
func (a *App) State() State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

// History is everything the app did, with readers that block.
func (a *App) History() *journal.Journal[Event] { return a.history }

// SetAuto chooses the button that the phone taps by itself; "" for none.
func (a *App) SetAuto(verb string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.auto = verb
}

// Auto is the button that the phone taps by itself.
func (a *App) Auto() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.auto
}

// SetFault makes the phone misbehave from now on; "" makes it honest.
func (a *App) SetFault(f Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = f
}

// Fault is how the phone misbehaves.
func (a *App) Fault() Fault {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fault
}

// change alters the stored state; nothing has changed when it fails.
func (a *App) change(fn func(*State)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := a.state
	fn(&next)
	if err := a.cfg.Store.Save(next); err != nil {
		return err
	}
	a.state = next
	return nil
}

// signingKey is a stored key, or the wrong one under that fault.
func (a *App) signingKey(der []byte) (*ecdsa.PrivateKey, error) {
	if a.Fault() == WrongKey {
		return a.wrong, nil
	}
	return parseKey(der)
}

// tell writes an event down.
func (a *App) tell(e Event) {
	e.Time, e.Phone = a.now().UTC().Truncate(time.Microsecond), a.Name()
	e.Fault = a.Fault()
	a.history.Append(e)
	if a.cfg.Record != nil {
		a.cfg.Record(e)
	}
}

// fail writes down what did not work.
func (a *App) fail(e Event, err error) {
	if err != nil {
		e.Kind, e.Error = Failed, err.Error()
		a.tell(e)
	}
}
