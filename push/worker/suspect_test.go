package worker_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/push/worker"
)

// picky refuses the tokens it is told to, whatever the environment.
type picky struct {
	mu      sync.Mutex
	refuses func(token string) bool
}

func (p *picky) set(refuses func(string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = refuses
}

func (p *picky) answer(_ context.Context, _ int, m push.Message) push.Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuses(m.Address.Token) {
		return push.Verdict{Class: push.Suspect, Reason: "DeviceTokenNotForTopic"}
	}
	return push.Verdict{Class: push.OK}
}

// B12: everybody is refused. The lane's target pauses with one alarm, nobody is
// removed, and once it is mended all that waits goes out once.
func TestRun_B12_EverybodyRefusedPausesAndRemovesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(200)
		q.each = true
		vendor := &picky{refuses: func(string) bool { return true }}
		p := &fakeProvider{answer: vendor.answer}
		var log bytes.Buffer
		w, stop := run(t, q, p, func(c *worker.Config) {
			c.Senders = 20
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
		defer stop()
		pass(time.Second)
		// What was out when the tenth was refused, each in two environments.
		first := p.count()
		if pauses := w.Pauses(); len(pauses) != 1 || pauses[0].Reason != "DeviceTokenNotForTopic" || first > 2*20 {
			t.Errorf("%d sends, paused: %+v", first, pauses)
		}
		if !w.Circuit().Closed() {
			t.Error("the whole lane is paused")
		}
		pass(30 * time.Minute)
		if probes := p.count() - first; probes < 2 || probes > 40 {
			t.Errorf("%d sends in half an hour of pause", probes)
		}
		states := q.states()
		if lost := states[push.Doubted]; lost >= outbox.MassRefused || states[push.Pending]+states[push.Retry] != 200-lost {
			t.Errorf("rows %v", states)
		}
		if q.row(150).Reason != outbox.ReasonManyRefused {
			t.Errorf("a row that waits says %q", q.row(150).Reason)
		}
		if strings.Count(log.String(), "level=ERROR") < 1 || strings.Contains(log.String(), "dlv_") || strings.Contains(log.String(), "adr") {
			t.Errorf("the log is %s", log.String())
		}
		vendor.set(func(string) bool { return false })
		sent := p.count()
		pass(10 * time.Minute)
		if got := q.states(); got[push.Accepted] != 200-states[push.Doubted] || len(q.dead) != 0 {
			t.Errorf("mended: rows %v, %d addresses died", got, len(q.dead))
		}
		if n := p.count() - sent; n != q.states()[push.Accepted] {
			t.Errorf("%d sends for what was waiting", n)
		}
		if len(w.Pauses()) != 0 || !strings.Contains(log.String(), "sent to again") {
			t.Errorf("still paused: %+v", w.Pauses())
		}
	})
}

// B11: some tokens among many are dead, and only theirs are removed.
func TestRun_B11_DeadAmongOthersDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(100)
		q.each = true
		q.address.RegisteredAt = time.Now().Add(-time.Minute)
		vendor := &picky{refuses: func(token string) bool { return strings.HasSuffix(token, "7") }}
		_, stop := run(t, q, &fakeProvider{answer: vendor.answer}, func(c *worker.Config) { c.Senders = 1 })
		pass(time.Second)
		stop()
		wantStates(t, q, map[push.State]int{push.Accepted: 90, push.DeadAddress: 10})
		slices.Sort(q.dead)
		if len(q.dead) != 10 || q.dead[0] != "dlv_0007" {
			t.Errorf("died: %v", q.dead)
		}
	})
}
