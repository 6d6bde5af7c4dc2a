package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The systems of the comparison.
const (
	Gorush  = "gorush"
	Beckond = "beckond"
)

// The vendors a trial sends to.
const (
	Apple  = "APNs"
	Google = "FCM"
)

// Shape is how pushes are put to a system.
type Shape string

// The shapes of a trial.
const (
	// Calls is one call for each push: of gorush a notification with one
	// address, of Beckon a question to one person.
	Calls Shape = "calls"
	// Backlog is questions that lay durable when the server started; Beckon only.
	Backlog Shape = "backlog"
	// Thousands is calls with as many addresses as one takes; gorush only.
	Thousands Shape = "thousands"
	// Killed is Calls at a rate, into the middle of which the server is killed
	// and started again.
	Killed Shape = "killed"
)

// Trial is one measurement of one system, on a network of its own in which the
// vendors' names lead to the emulators.
type Trial struct {
	System string
	// Binary is the system's program.
	Binary string
	// Folder is the trial's own.
	Folder  string
	Vendors []string
	// Delay is for how long the vendors keep each answer.
	Delay time.Duration
	Shape Shape
	// Pushes to be accepted, and Accounts with one phone each.
	Pushes, Accounts int
	// Rate is calls a second and Length how long before the kill; for Killed.
	Rate   int
	Length time.Duration
}

// Outcome is what a trial found.
type Outcome struct {
	// Rate is pushes a second, from the first to the last one accepted by the
	// emulators' own log.
	Rate float64
	// CPU is processor time of the server's process for each push: from the
	// first call on, or of its whole life where there are none.
	CPU time.Duration
	// RssAnonMB is the most it held.
	RssAnonMB float64
	// Acknowledged calls before the kill; Lost are those whose push never came,
	// Doubled the pushes that came again.
	Acknowledged, Lost, Doubled int
	// Failed says why there is nothing else.
	Failed string
}

// system is one of the two, ready to be started.
type system interface {
	// start runs the server, again after a kill, and returns once it answers.
	start(ctx context.Context) (*process, error)
	// call puts the i-th push to the server and returns the name it can be told
	// by at the vendor, once the server has acknowledged it.
	call(ctx context.Context, i int) (string, error)
	// close frees what calling took.
	close()
}

// phone is the vendor and address of the n-th account.
func (t Trial) phone(n int) (vendor, token string) {
	vendor = t.Vendors[n%len(t.Vendors)]
	token = deviceToken(n)
	if vendor == Google {
		// As Google's look: an installation id, a colon and 140 characters.
		token = "c" + token[:21] + ":APA91b" + token + token + token[:6]
	}
	return vendor, token
}

// play is a trial inside its network.
func (t Trial) play(ctx context.Context) (o Outcome, err error) {
	v, err := startVendors(ctx, t)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	s, err := t.open(ctx, v.hello)
	if err != nil {
		return o, err
	}
	defer s.close()
	p, err := s.start(ctx)
	if err != nil {
		return o, err
	}
	if t.Shape == Killed {
		return t.kill(ctx, v, s, p)
	}
	defer func() { err = errors.Join(err, p.kill()) }()
	return t.measure(ctx, v, s, p)
}

func (t Trial) open(ctx context.Context, v vendorsHello) (system, error) {
	switch t.System {
	case Gorush:
		return openGorush(t, v)
	case Beckond:
		return openBeckond(ctx, t, v)
	default:
		return nil, fmt.Errorf("no system %q", t.System)
	}
}

// calls is how many the pushes take.
func (t Trial) calls() int {
	switch t.Shape {
	case Backlog:
		return 0
	case Thousands:
		return len(lots(t.Vendors, t.Pushes))
	default:
		return t.Pushes
	}
}

// measure is a trial in which nothing fails.
func (t Trial) measure(ctx context.Context, v *vendors, s system, p *process) (o Outcome, err error) {
	before := time.Duration(0)
	if t.calls() > 0 {
		before = p.cpu()
	}
	err = each(t.calls(), crowd, func(i int) error {
		_, err := s.call(ctx, i)
		return err
	})
	if err != nil {
		return o, fmt.Errorf("calling: %w", err)
	}
	got, err := v.wait(vendorsOrder{Accepted: t.Pushes, Quiet: silence})
	if err != nil {
		return o, err
	}
	distinct := t.Pushes
	if t.Shape == Thousands {
		distinct = t.calls()
	}
	o.RssAnonMB, o.CPU = p.peak(), (p.cpu()-before)/time.Duration(t.Pushes)
	if took := got.Last.Sub(got.First); took > 0 {
		o.Rate = float64(got.Accepted-1) / took.Seconds()
	}
	if got.Accepted != t.Pushes || len(got.Named) != distinct || got.Refused != 0 {
		err = fmt.Errorf("the emulators took %d pushes (%d different) and refused %d (%s), want %d", got.Accepted, len(got.Named), got.Refused, got.Reason, t.Pushes)
	}
	return o, err
}

// silence is after how long without a push no further one is expected.
const silence = 20 * time.Second

// kill ends the server while calls come in, starts it again, and looks which
// acknowledged pushes never came.
func (t Trial) kill(ctx context.Context, v *vendors, s system, p *process) (o Outcome, err error) {
	half := t.Rate * int(t.Length.Seconds())
	calling, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var all sync.WaitGroup
	acknowledged := map[string]bool{}
	var killed error
	err = paced(calling, 2*half, t.Rate, func(i int) {
		if i == half {
			killed = p.kill()
			stop()
			return
		}
		all.Go(func() {
			name, err := s.call(calling, i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				acknowledged[name] = true
			}
		})
	})
	all.Wait()
	if !errors.Is(err, context.Canceled) || killed != nil || ctx.Err() != nil {
		return o, errors.Join(err, killed)
	}
	if p, err = s.start(ctx); err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, p.kill()) }()
	return t.missing(v, acknowledged)
}

// missing waits for what was acknowledged, until nothing more comes.
func (t Trial) missing(v *vendors, acknowledged map[string]bool) (Outcome, error) {
	o := Outcome{Acknowledged: len(acknowledged)}
	for want := len(acknowledged); ; {
		got, err := v.wait(vendorsOrder{Named: want, Quiet: silence})
		if err != nil {
			return o, err
		}
		o.Lost, o.Doubled = 0, got.Accepted-len(got.Named)
		for name := range acknowledged {
			if got.Named[name] == 0 {
				o.Lost++
			}
		}
		if t.System == Beckond && got.Identities != len(got.Named) {
			return o, fmt.Errorf("%d pushes came under %d identities", len(got.Named), got.Identities)
		}
		if o.Lost == 0 || got.Silent {
			return o, nil
		}
		want = len(got.Named) + 1
	}
}

// uses tells whether the trial sends to a vendor.
func (t Trial) uses(vendor string) bool { return slices.Contains(t.Vendors, vendor) }
