package beckon

import (
	"context"
	"errors"
	"sync"
)

// errResumed ends what Follow was at: begin again over new connections.
var errResumed = errors.New("beckon: the device was asleep")

// Resume is for a device that was asleep, or is on another network now: what it
// had open may be dead without anybody having said so. It leaves every
// connection of the person without asking (see [API.Reconnect]), and Follow,
// whatever it waits for, reads at once: the inbox is right one round trip later.
// It may be called from any goroutine, and does no harm where nothing follows.
func (i *Inbox) Resume() {
	i.api.Reconnect()
	i.waking.wake()
}

// waking lets Resume end a round of Follow.
type waking struct {
	mu     sync.Mutex
	called bool
	end    context.CancelCauseFunc
}

func (w *waking) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.called = true
	if w.end != nil {
		w.end(errResumed)
	}
}

// round is the context of a round; Resume ends it, also when it was called
// between two.
func (w *waking) round(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = end
	if w.called {
		end(errResumed)
	}
	return ctx, end
}

// over forgets a round and reports whether Resume was called.
func (w *waking) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	called := w.called
	w.called, w.end = false, nil
	return called
}
