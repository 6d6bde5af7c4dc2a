package task

import "time"

// SignalKind says what a task is being told.
type SignalKind uint8

// Kinds of signals, as on the wire and on disk.
const (
	DecisionClosed  SignalKind = 1
	Message         SignalKind = 2
	HoldLifted      SignalKind = 3
	WaitTimeout     SignalKind = 4
	ApprovalRevoked SignalKind = 5
	// ResultSentBack: the person wants another result; Text says what is missing.
	ResultSentBack SignalKind = 6
	// EffectSettled: an uncertain effect is settled now.
	EffectSettled SignalKind = 7
	// EffectUncertain: the lease is gone and nobody has said how an effect went.
	EffectUncertain SignalKind = 8
	// TimerFired: Timer names it, Data is what it was set with.
	TimerFired SignalKind = 9
	// Silence reminds a worker that it has said nothing for a while.
	Silence SignalKind = 11
)

// Signal is something a task must be told. It is stored in the transaction of
// its cause and delivered with every claim until it is acknowledged.
type Signal struct {
	ID       uint64
	Kind     SignalKind
	Decision string
	Item     string
	Effect   string
	Timer    string
	Text     string
	Data     []byte
	Time     time.Time
}

// Waking reports whether a signal ends the sleep of a task that waits for w by
// itself. A decision that w names does so through the set: two named decisions
// under all wake once.
func Waking(s Signal, w Wait) bool {
	switch s.Kind {
	case Message, HoldLifted, ApprovalRevoked, ResultSentBack, EffectSettled, EffectUncertain:
		return true
	case DecisionClosed:
		return !w.Names(s.Decision)
	case TimerFired:
		// A timer that the set names ends the sleep through the set, and one that
		// it does not name was not waited for.
		return false
	case Silence:
		// Who sleeps has said so.
		return false
	case WaitTimeout:
		// The until of a set is read from the set: a timeout that was stored for
		// an earlier sleep must not end this one.
		return false
	default:
		return false
	}
}
