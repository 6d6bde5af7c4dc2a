package sim

import (
	"slices"
	"time"

	"github.com/beckon-dev/beckon/push"
)

// quietKey is one kind of push that shows nothing, at one address.
type quietKey struct {
	kind    push.Kind
	address string
}

// sweep is the app of a phone that is woken: R22. What it takes away was taken
// back before, and it is woken twice in an hour at most.
func (w *world) sweep(m push.Message) {
	for _, tag := range m.Payload.Tags {
		subject, known := w.vendor.identities[tag]
		if !known || !w.vendor.back[w.takenFrom(subject, m.Address.ID)] {
			w.failf("R22", "a sweep takes away %q of %s, which no withdrawal took back", tag, subject)
		}
	}
	key := quietKey{push.Sweep, m.Address.ID}
	if sent := w.vendor.quiet[key]; len(sent) >= 2 && w.now().Sub(sent[len(sent)-2]) < time.Hour {
		w.failf("R22", "%s is woken three times in an hour, after %v", m.Address.ID, sent)
	}
	w.quietly(key)
}

// recount is a phone that is told the number: never 0, and not often.
func (w *world) recount(m push.Message) {
	key := quietKey{push.BadgeOnly, m.Address.ID}
	if m.Payload.Badge.Count == 0 {
		w.failf("R22", "%s is sent a 0, which would wipe its screen", m.Address.ID)
	}
	w.quietly(key)
}

func (w *world) quietly(key quietKey) {
	w.vendor.quiet[key] = append(w.vendor.quiet[key], w.now())
}

// takenFrom is the call about a subject at an address.
func (w *world) takenFrom(subject, address string) screenKey {
	i := slices.IndexFunc([]push.Kind{push.DecisionRequired, push.ResultReady}, func(k push.Kind) bool {
		return w.vendor.back[screenKey{k, subject, address}]
	})
	return screenKey{[]push.Kind{push.DecisionRequired, push.ResultReady}[max(i, 0)], subject, address}
}
