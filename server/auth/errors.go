package auth

import (
	"errors"
)

var (
	// ErrBadToken is returned for a token that is not one of ours, was made for
	// something else, or was changed.
	ErrBadToken = errors.New("auth: bad token")
	// ErrExpired is returned for a genuine token whose time or auth epoch is
	// over; the client gets a new one.
	ErrExpired = errors.New("auth: token expired")
	// ErrConfig is returned by [NewIssuer] for a configuration that would be
	// unsafe to start with.
	ErrConfig = errors.New("auth: unusable token configuration")
	// ErrGrant is returned when asked to mint what the reader would refuse.
	ErrGrant = errors.New("auth: nothing a token can say")
)

// Reason says which check refused a token, for metrics and tests. Clients get
// one text for all of them.
type Reason string

// The reasons.
const (
	// ReasonShape: length, alphabet, number of parts or base64.
	ReasonShape Reason = "shape"
	// ReasonHeader: not one strict JSON object with exactly alg, kid and typ.
	ReasonHeader Reason = "header"
	// ReasonType: typ of another profile.
	ReasonType Reason = "typ"
	// ReasonAlgorithm: alg is not the key's.
	ReasonAlgorithm Reason = "alg"
	// ReasonKey: kid names none of our keys.
	ReasonKey Reason = "kid"
	// ReasonSignature: not signed by that key.
	ReasonSignature Reason = "signature"
	// ReasonClaims: not one strict JSON object with exactly the profile's claims.
	ReasonClaims Reason = "claims"
	// ReasonValue: a claim of the wrong type or form.
	ReasonValue Reason = "value"
	// ReasonIssuer: iss or aud of somebody else.
	ReasonIssuer Reason = "issuer"
	// ReasonTime: issued in the future, or living longer than allowed.
	ReasonTime Reason = "time"
	// ReasonEpoch: of an auth epoch that is over, or that never was.
	ReasonEpoch Reason = "epoch"
	// ReasonOver: past its end.
	ReasonOver Reason = "expired"
)

// RefusedError is the error of a verification. It matches [ErrBadToken] or
// [ErrExpired] and holds nothing from the token.
type RefusedError struct {
	// Reason is the check that failed.
	Reason Reason
	kind   error
}

// Error names the kind and the check.
func (r *RefusedError) Error() string { return r.kind.Error() + ": " + string(r.Reason) }

// Unwrap gives [ErrBadToken] or [ErrExpired].
func (r *RefusedError) Unwrap() error { return r.kind }

func bad(why Reason) error { return &RefusedError{why, ErrBadToken} }

func expired(why Reason) error { return &RefusedError{why, ErrExpired} }
