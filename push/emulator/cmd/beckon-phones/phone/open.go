package phone

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// Tap is a person's tap on an alert: the app opens on it, reads what it is about
// from the server, and marks a result as read. Errors: device.ErrNotShown,
// ErrForeign, those of the server.
func (a *App) Tap(ctx context.Context, key string) (Card, error) {
	a.pressing.Lock()
	defer a.pressing.Unlock()
	if err := a.cfg.Device.Open(ctx, a.cfg.Topic, key); err != nil {
		return Card{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return *a.opened, nil
}

// Open is called by the system when an alert was tapped.
func (a *App) Open(ctx context.Context, n device.Notification) error {
	p, err := a.mine(n)
	if err != nil {
		return err
	}
	card, err := a.show(ctx, p)
	if err == nil {
		a.tell(event(Opened, n, p))
		a.present(card) //nolint:contextcheck // presence outlasts the tap
		err = a.Sync(ctx)
	}
	if err != nil {
		a.fail(event(Failed, n, p), err)
	}
	return err
}

// show reads the subject of a push by sync.
func (a *App) show(ctx context.Context, p *v1.PushPayload) (Card, error) {
	a.reading.Lock()
	defer a.reading.Unlock()
	if err := a.read(ctx, "", p.GetAsOf()); err != nil {
		return Card{}, err
	}
	if err := a.read(ctx, p.GetThread(), ""); err != nil {
		return Card{}, err
	}
	if p.GetKind() == v1.PushKind_PUSH_KIND_DECISION_REQUIRED {
		var d v1.Decision
		if !a.held(p.GetThread(), changelog.Decision, p.GetDecision(), &d) {
			return Card{}, ErrGone
		}
		return decisionCard(&d), nil
	}
	card := a.resultCard(p.GetThread(), p.GetTask())
	return card, a.markRead(ctx, p.GetThread())
}

// markRead says that the person has seen all of a thread.
func (a *App) markRead(ctx context.Context, thread string) error {
	var t v1.Thread
	if !a.held("", changelog.ThreadHeader, thread, &t) {
		return nil
	}
	mark := &v1.ReadMark{Generation: t.GetReadMark().GetGeneration(), NotablePosition: t.GetNotableHead()}
	return a.do(ctx, func(ctx context.Context, srv *server) error {
		_, err := srv.threads.MarkRead(ctx, &v1.MarkReadRequest{ThreadId: thread, ReadMark: mark})
		return err
	})
}
