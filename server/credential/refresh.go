package credential

import (
	"time"
)

const (
	// RefreshIdle is how long an installation may stay silent.
	RefreshIdle = 60 * 24 * time.Hour
	// RefreshLife is how long it may go on at all without pairing again.
	RefreshLife = 400 * 24 * time.Hour
	// attemptMin and attemptMax bound the client's name of one exchange.
	attemptMin, attemptMax = 16, 64
)

// Next is the successor of a refresh token for one attempt. It is computed, not
// stored, so a client whose answer was lost asks again and gets the same one,
// and the store holds nothing that could be used. Errors: [ErrKind] for a token
// of another kind, [ErrMalformed] for an attempt outside 16–64 bytes.
func Next(key Key, token Token, attempt string) (Token, error) {
	if token.kind != KindRefresh {
		return Token{}, ErrKind
	}
	if len(attempt) < attemptMin || len(attempt) > attemptMax || key.IsZero() {
		return Token{}, ErrMalformed
	}
	return assemble(KindRefresh, token.id, key.mac("beckon/refresh-next/1", token.Reveal(), attempt))
}

// Family is what the store knows of one installation's refresh tokens.
type Family struct {
	// Current is the token whose possession the client has shown, or the first.
	Current Hash
	// Next is the successor handed out and not yet seen again; zero without one.
	Next Hash
	// Attempt is the hash of the attempt Next is bound to.
	Attempt Hash
	// CreateTime is when the installation was let in.
	CreateTime time.Time
	// UseTime is when a refresh last succeeded.
	UseTime time.Time
	// Revoked ends the family for good.
	Revoked bool
	// Restored is set on every family when the store came out of a backup. The
	// client may then hold a token younger than the store, which is no theft: its
	// proof by the installation's key lets it go on, once.
	Restored bool
}

// NewFamily is the family of a token just handed to a new installation.
func NewFamily(first Hash, now time.Time) Family {
	return Family{Current: first, CreateTime: now, UseTime: now}
}

// RefreshRequest is what was presented. The caller has verified the proof by
// the installation's key before: without it nothing may change, or a thief of
// the string could log the owner out.
type RefreshRequest struct {
	// Presented is the hash of the token.
	Presented Hash
	// Attempt is [HashOf] the attempt.
	Attempt Hash
	// Successor is the hash of what [Next] gives for token and attempt.
	Successor Hash
}

// RefreshOutcome says what came of a request.
type RefreshOutcome int

// The outcomes. Only those that [RefreshOutcome.Issues] hand out the successor.
const (
	// RefreshUnknown is the zero value and never returned.
	RefreshUnknown RefreshOutcome = iota
	// RefreshIssued hands out a successor for the first time.
	RefreshIssued
	// RefreshRepeated hands out the same successor again, to a client that may
	// not have got the first answer.
	RefreshRepeated
	// RefreshReused means two holders of one chain: the family is revoked now,
	// its streams are to be cut and the other installations told.
	RefreshReused
	// RefreshIdled means the installation was silent for too long.
	RefreshIdled
	// RefreshAged means it has to be paired again after its whole life.
	RefreshAged
	// RefreshRevoked means the family had ended before.
	RefreshRevoked
	// RefreshRecovered hands out a successor to a client whose token may be
	// younger than a restored store. Its key has proved that it is the one.
	RefreshRecovered
)

// String gives the word for metrics and tests.
func (o RefreshOutcome) String() string {
	switch o {
	case RefreshIssued:
		return "ISSUED"
	case RefreshRepeated:
		return "REPEATED"
	case RefreshReused:
		return "REUSED"
	case RefreshIdled:
		return "IDLED"
	case RefreshAged:
		return "AGED"
	case RefreshRevoked:
		return "REVOKED"
	case RefreshRecovered:
		return "RECOVERED"
	default:
		return "UNKNOWN"
	}
}

// Issues reports whether the successor is handed out.
func (o RefreshOutcome) Issues() bool {
	return o == RefreshIssued || o == RefreshRepeated || o == RefreshRecovered
}

// DecideRefresh is the whole rule of rotation. It returns the family as it has
// to be stored, which is unchanged unless the outcome issues or is
// [RefreshReused].
//
// A token that is neither current nor next counts as a retired one: its id is
// right, and the proof says that the caller holds the installation's key, so
// either the client's store was copied or an old copy came back.
func DecideRefresh(f Family, r RefreshRequest, now time.Time) (RefreshOutcome, Family) {
	switch {
	case f.Revoked:
		return RefreshRevoked, f
	case now.Sub(f.CreateTime) >= RefreshLife:
		return RefreshAged, f
	case now.Sub(f.UseTime) >= RefreshIdle:
		return RefreshIdled, f
	case f.Next.Same(r.Presented):
		// First use of the successor proves that it arrived.
		f.Current = f.Next
		return RefreshIssued, f.handOut(r, now)
	case !f.Current.Same(r.Presented):
		if f.Restored {
			f.Current = r.Presented
			return RefreshRecovered, f.handOut(r, now)
		}
		return f.end()
	case f.Next.IsZero():
		return RefreshIssued, f.handOut(r, now)
	case f.Attempt.Same(r.Attempt):
		return RefreshRepeated, f.handOut(r, now)
	default:
		return f.end()
	}
}

// handOut notes the successor. A repeated attempt gives the same one; would the
// derived key have changed in between, the client holds neither yet.
func (f Family) handOut(r RefreshRequest, now time.Time) Family {
	f.Next, f.Attempt, f.Restored = r.Successor, r.Attempt, false
	if now.After(f.UseTime) {
		f.UseTime = now
	}
	return f
}

func (f Family) end() (RefreshOutcome, Family) {
	f.Revoked = true
	return RefreshReused, f
}
