package proof

import (
	"fmt"

	"github.com/gowebpki/jcs"
)

// CheckObject refuses with an [*InputError] whatever [CanonicalObject] would,
// for readers that need the checks and not the form.
func CheckObject(raw []byte) error {
	return check(raw, true)
}

// Canonical gives the RFC 8785 form of any I-JSON value, so that two spellings
// of the same value have the same bytes. What is not I-JSON, or would lose
// something on the way, is refused with an [*InputError] before the
// canonicaliser sees it. The caller bounds the length of raw.
func Canonical(raw []byte) ([]byte, error) {
	return canonical(raw, false)
}

// CanonicalObject is [Canonical] for arguments, targets, form content and
// schemas, which are objects or refused with [ReasonNotObject].
func CanonicalObject(raw []byte) ([]byte, error) {
	return canonical(raw, true)
}

func canonical(raw []byte, object bool) ([]byte, error) {
	if err := check(raw, object); err != nil {
		return nil, err
	}
	return transform(raw)
}

// transform canonicalises what has been checked. An error here means that the
// check and the library disagree, which the fuzz test looks for.
func transform(raw []byte) ([]byte, error) {
	out, err := jcs.Transform(raw)
	if err != nil {
		// The library's message quotes the input, so it is not passed on.
		return nil, fmt.Errorf("canonicalise: %w", &InputError{Reason: ReasonSyntax})
	}
	return out, nil
}
