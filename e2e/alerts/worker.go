package alerts

import (
	"context"
	"time"

	"github.com/beckon-dev/beckon/e2e/alerts/oracle"
	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/worker"
)

const (
	// rowLease is how long the worker holds rows.
	rowLease = time.Minute
	// lanePause is how long a lane rests after its credentials were refused or it
	// was told to slow down, as the worker's own would.
	lanePause = time.Minute
	// answerIn bounds a send on the machine's clock, silenceIn one whose vendor was
	// told to keep silent.
	answerIn, silenceIn = 10 * time.Second, 30 * time.Millisecond
)

// crash says where in its work the server dies.
type crash int

const (
	survives crash = iota
	diesClaimed
	diesSent
)

// wire knows which subject a push was about.
type wire struct {
	tokens map[string]*handset
	// tags are collapse identities and Android tags; names are what vendors call a
	// push, backs those that take an alert back.
	tags, names map[string]string
	backs       map[string]bool
	// accounts are whose tags pushes carry.
	accounts map[string]string
	// quiet are the names of pushes about no subject.
	quiet map[string]bool
}

func newWire() wire {
	return wire{tokens: map[string]*handset{}, tags: map[string]string{}, names: map[string]string{}, backs: map[string]bool{}, quiet: map[string]bool{}, accounts: map[string]string{}}
}

// about explains an alert by its tag, or by its vendor's name where it has none.
func (x wire) about(tag, name string) (subject string, withdraw bool) {
	subject, ok := x.tags[tag]
	if !ok {
		subject = x.tags[x.names[name]]
	}
	return subject, x.backs[name]
}

func withdraws(k push.Kind) bool { return k == push.Withdraw }

// quiet tells pushes that show nothing, and are about nothing.
func quiet(k push.Kind) bool { return k == push.Sweep || k == push.BadgeOnly }

// work is one round of a lane's worker.
func (w *world) work(lane string, n int, dies crash) {
	if w.paused[lane].After(w.Now()) {
		return
	}
	rows, err := w.app.Outbox().Claim(w.ctx, lane, n, rowLease)
	w.must(err)
	if dies == diesClaimed {
		w.restart()
		return
	}
	var results []worker.Result
	for _, row := range rows {
		results = append(results, w.deliver(lane, row, dies))
	}
	if dies == diesSent {
		w.restart()
		return
	}
	w.must(w.app.Outbox().Finish(w.ctx, results))
}

// deliver takes one row to its verdict.
func (w *world) deliver(lane string, row push.Delivery, dies crash) worker.Result {
	if until := w.paused[lane]; until.After(w.Now()) {
		return worker.Result{Delivery: row, Released: worker.ReleasedPaused, ReleaseAt: until}
	}
	since := len(w.facts)
	m, fresh, err := w.app.Outbox().Fresh(w.ctx, row)
	w.must(err)
	switch {
	case !fresh.Again.IsZero():
		return worker.Result{Delivery: row, Released: fresh.Reason, ReleaseAt: fresh.Again}
	case !fresh.Send():
		return worker.Result{Delivery: row, Skip: fresh}
	case w.mutate.Silence != nil && w.mutate.Silence(row):
		fresh.State, fresh.Reason = push.Suppressed, "in_hand"
		return worker.Result{Delivery: row, Skip: fresh}
	}
	if w.between != nil {
		now := w.between
		w.between = nil
		now()
	}
	at := w.Now()
	send := func(m push.Message) push.Verdict { return w.send(lane, since, m) }
	var v push.Verdict
	if w.mutate.Send != nil {
		v = w.mutate.Send(row, m, send)
	} else {
		v = send(m)
	}
	unsure := v.Class == push.Ambiguous || v.Class == push.Backoff || dies == diesSent
	if h := w.wire.tokens[m.Address.Token]; unsure && h != nil {
		w.tell(oracle.Fact{Kind: oracle.Unsure, Phone: h.name, Subject: row.Key(), Withdraw: withdraws(row.Kind), Quiet: quiet(row.Kind)})
	}
	if v.Class == push.Cred || v.Class == push.SlowAll {
		w.paused[lane] = w.Now().Add(max(lanePause, v.RetryAfter))
	}
	w.observe()
	return worker.Result{Delivery: row, Verdict: v, Sent: m.Address, SentAt: at}
}

// send is one attempt at the vendor, with what it was written down.
func (w *world) send(lane string, since int, m push.Message) push.Verdict {
	h, limit := w.wire.tokens[m.Address.Token], answerIn
	if quiet(m.Payload.Kind) {
		w.wire.quiet[m.ProviderID] = true
	} else {
		w.wire.tags[m.CollapseID] = m.Payload.Key()
		w.wire.names[m.ProviderID] = m.CollapseID
		w.wire.backs[m.ProviderID] = withdraws(m.Payload.Kind)
	}
	if h.quiet > 0 {
		h.quiet--
		limit = silenceIn
	}
	w.tell(oracle.Fact{
		Kind: oracle.Sent, Phone: h.name, Account: w.wire.accounts[m.Payload.Account], Subject: m.Payload.Key(),
		Withdraw: withdraws(m.Payload.Kind), Badge: int(m.Payload.Badge.Count), Since: since, Stale: m.Address.Token != h.token,
		Quiet: quiet(m.Payload.Kind),
	})
	ctx, cancel := context.WithTimeout(w.ctx, limit)
	defer cancel()
	return w.ways[lane].Send(ctx, m)
}

// noteNames learns what Google calls the latest messages, also those whose sender
// was not told.
func (w *world) noteNames() {
	for _, r := range w.fcm.Requests() {
		switch tag := r.Data["tag"]; {
		case r.Name == "":
		case tag == "":
			w.wire.quiet[r.Name] = true
		default:
			w.wire.names[r.Name] = tag
			w.wire.backs[r.Name] = r.Data["title"] == ""
		}
	}
}

// pass lets time go by in pieces, so that the agent keeps its tasks and what is
// due is done when it is.
func (w *world) pass(d time.Duration) {
	for d > 0 {
		step := min(d, piece)
		d -= step
		w.advance(step)
		w.tell(oracle.Fact{Kind: oracle.Passed})
		_, err := w.app.ProcessDue(w.ctx)
		w.must(err)
		w.beat()
		for _, h := range w.phones {
			h.device.Tick()
		}
		w.observe()
	}
}

const (
	// rounds is more than any backoff of a story needs.
	rounds = 400
	// batch is as many rows as a round takes when the server is left alone.
	batch = 64
)

// settle leaves server and vendors alone until nothing waits any more.
func (w *world) settle() {
	w.apns.ClearScript()
	w.fcm.ClearScript()
	for _, h := range w.phones {
		h.quiet = 0
	}
	for range rounds {
		next, waiting := time.Time{}, false
		for lane := range w.ways {
			at, ok, err := w.app.Outbox().NextDue(w.ctx, lane)
			w.must(err)
			if !ok {
				continue
			}
			if at.Before(w.paused[lane]) {
				at = w.paused[lane]
			}
			if !waiting || at.Before(next) {
				next, waiting = at, true
			}
		}
		if !waiting {
			break
		}
		if d := next.Sub(w.Now()); d > 0 {
			w.pass(d)
		}
		for lane := range w.ways {
			w.work(lane, batch, survives)
		}
	}
	for _, h := range w.phones {
		w.tell(w.screen(oracle.Settled, h))
	}
}

// end is how every story ends: left alone; all phones reachable; all apps opened.
func (w *world) end() {
	w.settle()
	for _, h := range w.phones {
		w.setOnline(h, true)
		w.setDoze(h, false)
	}
	w.settle()
	for _, h := range w.phones {
		w.openApp(h)
	}
}
