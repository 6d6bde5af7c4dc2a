package apns

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/net/http2"
)

// The inside is the point: from outside nobody sees whose turn it is.

func woken(wait chan struct{}) bool {
	select {
	case <-wait:
		return true
	default:
		return false
	}
}

func TestPool_WhoGivesUpPassesItsTurnOn(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	first, second, third := make(chan struct{}), make(chan struct{}), make(chan struct{})
	p := &pool{waiting: []chan struct{}{first, second, third}}
	if err := p.await(over, second); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if len(p.waiting) != 2 || woken(first) || woken(third) {
		t.Error("one that gave up out of turn moved the others")
	}
	// The turn of the first came as it gave up.
	p.waiting = p.waiting[1:]
	if err := p.await(over, first); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if len(p.waiting) != 0 || !woken(third) {
		t.Error("a turn was lost")
	}
}

func TestPool_AConnectionThatTakesNoMoreLetsTheNextOneOpenAnother(t *testing.T) {
	t.Parallel()
	cc, wait := &http2.ClientConn{}, make(chan struct{})
	p := &pool{current: &link{conn: cc, using: 1, limit: 1}, waiting: []chan struct{}{wait}}
	p.MarkDead(&http2.ClientConn{})
	if p.current == nil || woken(wait) {
		t.Error("another connection ended this one")
	}
	p.MarkDead(cc)
	if p.current != nil || !woken(wait) {
		t.Error("the next one waits for answers that may never come")
	}
}
