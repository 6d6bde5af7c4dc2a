package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/server"
)

// Watches is clients with a stream each, in a process of their own; the fields
// mean what they mean for long polls.
type Watches struct {
	Accounts, Clients, Rate, Changes int
	// Call measures from the call that makes a change, and not from when it is
	// durable.
	Call bool
	// Line is how they are connected.
	Line Line
}

// Line is how watchers are connected.
type Line struct {
	// TLS, or plain. HTTP1 is a connection for each stream, otherwise
	// PerConnection share one.
	TLS, HTTP1    bool
	PerConnection int
}

func (l Line) name() string {
	name := "h2"
	if l.HTTP1 {
		name = "h1"
	}
	if l.TLS {
		name += " TLS"
	}
	if l.PerConnection > 1 {
		return fmt.Sprintf("%s, %d a connection", name, l.PerConnection)
	}
	return name
}

func (c Watches) name() string {
	from := "commit"
	if c.Call {
		from = "change"
	}
	if c.Accounts == 1 {
		return fmt.Sprintf("%s to frame, %d streams of one account, %d changes/s", from, c.Clients, c.Rate)
	}
	return fmt.Sprintf("%s to frame, %d accounts with a stream each, %d changes/s", from, c.Accounts, c.Rate)
}

// shown is a server whose people are watched by a crowd.
type shown struct {
	*place

	crowd *crowded
	// config opens the same server once more.
	config server.Config
	// opened is how long the crowd took to be level.
	opened time.Duration
}

// show moves in, and opens so many streams for each person.
func show(ctx context.Context, folder string, accounts, clients int, l Line) (s *shown, err error) {
	cfg := rigConfig(folder)
	g := gathering{HTTP1: l.HTTP1, PerConnection: l.PerConnection, Clients: clients}
	if l.TLS {
		if g.CA, err = makeCertificate(folder); err != nil {
			return nil, err
		}
		cfg.TLSCert, cfg.TLSKey = filepath.Join(folder, certName), filepath.Join(folder, keyName)
	}
	rig, err := openRigWith(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s = &shown{}
	defer func() {
		if err != nil {
			rig.close()
		}
	}()
	if s.place, err = rig.settle(ctx, accounts, false); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, "work"); err != nil {
		return nil, err
	}
	if g.Seats, err = s.seats(ctx); err != nil {
		return nil, err
	}
	rig.run(ctx)
	g.URL = rig.server.URL()
	cfg.Listen = rig.server.Addr().String()
	s.config = cfg
	debug.FreeOSMemory()
	began := time.Now()
	s.crowd, err = gather(ctx, g)
	s.opened = time.Since(began)
	return s, err
}

func (s *shown) end() error {
	err := s.crowd.close()
	s.close()
	return err
}

// ChangeToFrame measures until a client has read the frame that carries a
// change. Every client has to see every change of its account, once.
func ChangeToFrame(ctx context.Context, folder string, c Watches) (r Result, err error) {
	s, err := show(ctx, folder, c.Accounts, c.Clients, c.Line)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := s.quiet(ctx, c.Accounts*c.Clients); err != nil {
		return r, err
	}
	span := s.measure(ctx)
	made, err := s.say(ctx, c)
	if err != nil {
		return r, err
	}
	got, err := s.crowd.ask(wish{Sights: c.Changes * c.Clients})
	if err != nil {
		return r, err
	}
	r = span.end(c.name(), c.Changes*c.Clients)
	took, err := since(made, got.Sights, c.Clients)
	r.P50, r.P99 = Percentile(took, 0.5), Percentile(took, 0.99)
	r.Rate = float64(c.Rate)
	return r, err
}

// change is one message: the n-th of a seat makes n unread.
type change struct{ seat, unread int }

// say lets the agent say something in one account after the other, and returns
// when each change began to count.
func (s *shown) say(ctx context.Context, c Watches) (map[change]time.Time, error) {
	made := make(map[change]time.Time, c.Changes)
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	talk := &watching{place: s.place}
	err := paced(ctx, c.Changes, c.Rate, func(i int) {
		all.Go(func() {
			seat, nth := i%c.Accounts, i/c.Accounts+1
			at := time.Now()
			err := talk.say(ctx, s.people[seat], nth)
			if !c.Call {
				at = s.engine.committed(s.people[seat].device.Account)
			}
			mu.Lock()
			defer mu.Unlock()
			made[change{seat, nth}], failed = at, errors.Join(failed, err)
		})
	})
	all.Wait()
	return made, errors.Join(err, failed)
}

// since gives how long each sight of a change took, if each was seen by all.
func since(made map[change]time.Time, sights []sight, clients int) ([]time.Duration, error) {
	took := make([]time.Duration, 0, len(sights))
	seen := map[change]int{}
	for _, s := range sights {
		key := change{s.Seat, s.Unread}
		at, known := made[key]
		if seen[key]++; !known || seen[key] > clients {
			return nil, errors.New("a client saw a change that was not made, or twice")
		}
		took = append(took, time.Unix(0, s.At).Sub(at))
	}
	return took, nil
}

// Idle opens streams that nothing happens on and tells how many of them a GiB
// holds. All memory of the server's process counts, as it is right after they
// connected: what a process has before is not always given back from the row
// before.
func Idle(ctx context.Context, folder string, accounts, clients int, l Line) (r Result, err error) {
	s, err := show(ctx, folder, accounts, clients, l)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	n := accounts * clients
	full := RssAnonMB()
	r = Result{
		What: fmt.Sprintf("%d idle streams over %s", n, l.name()), RssAnonMB: full,
		PerGiB: float64(n) * 1024 / full, Rate: float64(n) / s.opened.Seconds(),
	}
	return r, heapProfile(fmt.Sprintf("idle-%s", l.name()))
}

// heapProfile writes what lives into the folder for profiles, where there is
// one, and what is left once the rest was given back.
func heapProfile(name string) error {
	folder := os.Getenv(profileVariable)
	if folder == "" {
		return nil
	}
	before := RssAnonMB()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(os.Stderr, "%s: RssAnon %.0f MB, %.0f MB after a collection; heap %d MB in use, %d live; stacks %d MB; %d goroutines\n", name, before, RssAnonMB(),
		m.HeapInuse>>20, m.HeapAlloc>>20, m.StackInuse>>20, runtime.NumGoroutine())
	for _, kind := range []string{"heap", "goroutine"} {
		f, err := os.Create(filepath.Join(folder, name+"."+kind))
		if err != nil {
			return err
		}
		if err := errors.Join(pprof.Lookup(kind).WriteTo(f, 0), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
