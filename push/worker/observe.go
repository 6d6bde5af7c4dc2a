package worker

import (
	"hash/maphash"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
)

// pass asks whether a row that was read again may be sent, and if not, when to
// ask again.
func (w *Worker) pass(d push.Delivery, to push.Address) (try outbox.Try, wait time.Time) {
	try = outbox.TryOf(d, to, maphash.String(w.seed, to.Token))
	w.mu.Lock()
	defer w.mu.Unlock()
	try.Probe, wait = w.suspicion.Pass(try, time.Now())
	return try, wait
}

// observe folds a verdict into the circuit and into what is known about refused
// addresses, and logs what that pauses or resumes, once. It returns the verdict
// to settle the row by.
func (w *Worker) observe(try outbox.Try, v push.Verdict) push.Verdict {
	v = try.Heard(v)
	now := time.Now()
	w.mu.Lock()
	before := w.circuit
	w.circuit = w.circuit.Observe(v, now)
	after := w.circuit
	judged := w.suspicion.Judge(try, v, now)
	w.mu.Unlock()
	switch {
	case after.Trips > before.Trips:
		w.Log.Warn("push lane paused", "lane", w.Lane, "reason", after.Reason, "until", after.OpenUntil)
	case after.Closed() && !before.Closed():
		w.Log.Info("push lane resumed", "lane", w.Lane)
	}
	switch judged.Turn {
	case outbox.Paused:
		w.Log.Error("push addresses refused in bulk, check topic, environment and project; sending to them is paused, none is dropped",
			"lane", w.Lane, "app", try.Home.App, "environment", string(try.Home.Env), "reason", judged.Pause.Reason,
			"until", judged.Pause.Until, "refused", judged.Refused, "tried", judged.Tried)
	case outbox.Resumed:
		w.Log.Info("push addresses sent to again", "lane", w.Lane, "app", try.Home.App, "environment", string(try.Home.Env))
	case outbox.NoTurn:
	}
	return judged.Verdict
}

// Circuit returns the lane's pause, for health and metrics.
func (w *Worker) Circuit() outbox.Circuit {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.circuit
}

// Pauses returns which targets of the lane are paused because their addresses
// are refused in bulk, for health and metrics.
func (w *Worker) Pauses() []outbox.Pause {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.suspicion.Pauses()
}
