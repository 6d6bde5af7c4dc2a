package phone

import (
	"context"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// presenceRepeat is how often an app says that a thread is still in front of its
// person; see PROTOCOL.md §4.
const presenceRepeat = 20 * time.Second

// gaze is one thread in front of the person, from opening it to leaving it.
//
//	state  | open             | Leave        | Lock passed  | Vanish
//	none   | reported, open   | –            | –            | –
//	open   | the other ends   | taken back   | taken back   | runs out on the server
type gaze struct {
	thread string
	cancel context.CancelFunc
}

// Looking is the thread that is in front of the person; "" for none.
func (a *App) Looking() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gaze == nil {
		return ""
	}
	return a.gaze.thread
}

// look says that a person has a thread in front of them, and goes on saying so
// until they leave it, open another, or the screen locks by itself.
func (a *App) look(thread string) {
	ctx, cancel := context.WithCancel(a.ctx)
	g := &gaze{thread, cancel}
	a.mu.Lock()
	old := a.gaze
	a.gaze = g
	a.mu.Unlock()
	if old != nil {
		old.cancel()
	}
	if err := a.report(ctx, thread, true); err == nil {
		a.tell(Event{Kind: Present, Thread: thread})
	} else {
		a.fail(Event{Thread: thread}, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx.Err() == nil { // nothing begins once Close has begun
		a.running.Go(func() { a.stare(ctx, g) })
	}
}

// stare repeats the report until the gaze ends, which after Lock it does itself.
func (a *App) stare(ctx context.Context, g *gaze) {
	repeat, lock := time.NewTicker(a.cfg.Repeat), time.NewTimer(a.cfg.Lock)
	defer repeat.Stop()
	defer lock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-lock.C:
			if a.forget(g) {
				a.away(a.ctx, g.thread, "the screen locked by itself") //nolint:contextcheck // the gaze has just ended its own
			}
			return
		case <-repeat.C:
			if err := a.report(ctx, g.thread, true); err != nil && ctx.Err() == nil {
				a.fail(Event{Thread: g.thread}, err)
			}
		}
	}
}

// Leave is the person closing the thread or locking the screen: the card is gone
// and the server is told. It reports whether a thread was open.
func (a *App) Leave(ctx context.Context) bool {
	a.mu.Lock()
	g := a.gaze
	a.opened = nil
	a.mu.Unlock()
	if g == nil || !a.forget(g) {
		return false
	}
	a.away(ctx, g.thread, "the person left it")
	return true
}

// Vanish is the app ending without a word: the server finds out when the last
// report runs out.
func (a *App) Vanish() {
	a.mu.Lock()
	g := a.gaze
	a.opened = nil
	a.mu.Unlock()
	if g != nil && a.forget(g) {
		a.tell(Event{Kind: Left, Thread: g.thread, Why: "the app ended without taking it back"})
	}
}

// forget ends a gaze once.
func (a *App) forget(g *gaze) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gaze != g {
		return false
	}
	a.gaze = nil
	g.cancel()
	return true
}

// away takes the report back.
func (a *App) away(ctx context.Context, thread, why string) {
	if err := a.report(ctx, thread, false); err != nil {
		a.fail(Event{Thread: thread}, err)
		return
	}
	a.tell(Event{Kind: Left, Thread: thread, Why: why})
}

func (a *App) report(ctx context.Context, thread string, foreground bool) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return a.do(ctx, func(ctx context.Context, srv *server) error {
		_, err := srv.devices.ReportPresence(ctx, &v1.ReportPresenceRequest{ThreadId: thread, Foreground: foreground})
		return err
	})
}
