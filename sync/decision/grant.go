package decision

import (
	"errors"
	"time"
)

// Refusals of a grant. Callers compare with errors.Is; nothing was used.
var (
	// ErrNoGrant: this decision has armed no such grant.
	ErrNoGrant = errors.New("decision: no such grant")
	// ErrGrantUsed: it permits one effect and has.
	ErrGrantUsed = errors.New("decision: grant was used")
	// ErrGrantVoid: it was taken back, or its task ended.
	ErrGrantVoid = errors.New("decision: grant is void")
	// ErrGrantExpired: its time has passed.
	ErrGrantExpired = errors.New("decision: grant has expired")
	// ErrGrantDiffers: it permits another action.
	ErrGrantDiffers = errors.New("decision: grant is for another action")
)

func decideUse(s State, c UseGrant, now time.Time) ([]Event, error) {
	g, ok := s.Grant(c.ID)
	switch {
	case !ok:
		return nil, ErrNoGrant
	case g.State == Consumed:
		return nil, ErrGrantUsed
	case g.State == Void:
		return nil, ErrGrantVoid
	case g.State == GrantExpired || !now.Before(g.ExpireTime):
		// The deadline decides, not whether somebody has noted it yet.
		return nil, ErrGrantExpired
	case g.Digest != c.Digest:
		return nil, ErrGrantDiffers
	}
	return []Event{GrantUsed{ID: c.ID, Effect: c.Effect}}, nil
}

// Good reports whether a grant still stands behind the effect that used it, for
// another try of the same thing: it is not past its time.
func (g Grant) Good(effect string, now time.Time) bool {
	return g.State == Consumed && g.Effect == effect && now.Before(g.ExpireTime)
}
