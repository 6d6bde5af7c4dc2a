package proof

import (
	"errors"
	"fmt"
)

// Reason is the machine-readable word for why input was refused. Callers put
// it into the error they show, so the words are part of the contract.
type Reason string

// The reasons a document or value is refused.
const (
	// ReasonSyntax is anything RFC 8259 does not allow, empty input included.
	ReasonSyntax Reason = "SYNTAX"
	// ReasonTrailing is a complete document followed by more than white space.
	ReasonTrailing Reason = "TRAILING_BYTES"
	// ReasonNotObject is a document whose top level must be an object and is not.
	ReasonNotObject Reason = "NOT_OBJECT"
	// ReasonDuplicateKey is a member name seen before in the same object after
	// unescaping; readers disagree about which one counts.
	ReasonDuplicateKey Reason = "DUPLICATE_KEY"
	// ReasonNumberRange is a number beyond ±(2^53−1), where integers are no
	// longer exact in every language.
	ReasonNumberRange Reason = "NUMBER_RANGE"
	// ReasonNumberPrecision is a number an IEEE 754 double would change, so that
	// the canonical form would show another value than the one that was sent.
	ReasonNumberPrecision Reason = "NUMBER_PRECISION"
	// ReasonLoneSurrogate is half of a surrogate pair in a \u escape.
	ReasonLoneSurrogate Reason = "LONE_SURROGATE"
	// ReasonInvalidUTF8 is a byte sequence that is not UTF-8.
	ReasonInvalidUTF8 Reason = "INVALID_UTF8"
	// ReasonNoncharacter is a code point such as U+FFFE that I-JSON forbids.
	ReasonNoncharacter Reason = "NONCHARACTER"
	// ReasonTooDeep is nesting beyond [MaxDepth].
	ReasonTooDeep Reason = "TOO_DEEP"
	// ReasonTooManyKeys is more than [MaxKeys] members in the whole document.
	ReasonTooManyKeys Reason = "TOO_MANY_KEYS"
	// ReasonMissing is a field that has to be there and is empty.
	ReasonMissing Reason = "MISSING"
	// ReasonRepeated is an id that occurs twice in one list.
	ReasonRepeated Reason = "REPEATED"
	// ReasonExclusive is a field that may not stand beside another one.
	ReasonExclusive Reason = "EXCLUSIVE"
)

// Sentence says the reason to people, as what the input is or has. It is "" for
// a word of another version.
func (r Reason) Sentence() string {
	switch r {
	case ReasonSyntax:
		return "it is not what JSON or a URL looks like here"
	case ReasonTrailing:
		return "something follows after the JSON document"
	case ReasonNotObject:
		return "it has to be a JSON object, as {…}"
	case ReasonDuplicateKey:
		return "an object has the same key twice"
	case ReasonNumberRange:
		return "a number is larger than 9007199254740991, beyond which not every program is exact; send it as a string"
	case ReasonNumberPrecision:
		return "a number has more digits than every program keeps; send it as a string"
	case ReasonLoneSurrogate:
		return "a \\u escape is half a character"
	case ReasonInvalidUTF8:
		return "it is not UTF-8"
	case ReasonNoncharacter:
		return "it has a code point that is no character"
	case ReasonTooDeep:
		return fmt.Sprintf("it is nested more than %d deep", MaxDepth)
	case ReasonTooManyKeys:
		return fmt.Sprintf("it has more than %d keys", MaxKeys)
	case ReasonMissing:
		return "it has to be there"
	case ReasonRepeated:
		return "an id is there twice"
	case ReasonExclusive:
		return "it may not stand beside what else is there"
	default:
		return ""
	}
}

// InputError says which input was refused and why. It carries a position and
// never any of the content, because it may reach a log.
type InputError struct {
	// Field names the refused input, empty when there was only one.
	Field string
	// Reason is why.
	Reason Reason
	// Offset is the byte position in the document for JSON reasons.
	Offset int
}

// Error names field, reason and position.
func (e *InputError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("proof: %s at byte %d", e.Reason, e.Offset)
	}
	return fmt.Sprintf("proof: %s: %s at byte %d", e.Field, e.Reason, e.Offset)
}

// ReasonOf gives the reason of an [InputError] in err's chain, or "".
func ReasonOf(err error) Reason {
	if input, ok := errors.AsType[*InputError](err); ok {
		return input.Reason
	}
	return ""
}

// inField names the input an error is about; nil stays nil.
func inField(field string, err error) error {
	if input, ok := errors.AsType[*InputError](err); ok {
		named := *input
		if named.Field == "" {
			named.Field = field
		} else {
			named.Field = field + "." + named.Field
		}
		return &named
	}
	return err
}

var (
	// ErrDigest is returned for text or bytes that are not a digest.
	ErrDigest = errors.New("proof: not a digest")
	// ErrPublicKey is returned for a public key that is not a P-256 point in
	// uncompressed form.
	ErrPublicKey = errors.New("proof: not a P-256 public key")
	// ErrPrivateKey is returned when asked to sign with anything but a P-256 key.
	ErrPrivateKey = errors.New("proof: not a P-256 private key")
	// ErrMalformed is returned for a signature that could not have been made by
	// any key: wrong length, or r or s zero or not below the group order.
	ErrMalformed = errors.New("proof: malformed signature")
	// ErrMismatch is returned for a well-formed signature or MAC that does not
	// belong to this key and tuple.
	ErrMismatch = errors.New("proof: signature does not match")
	// ErrWeakSecret is returned for a pairing secret under 128 bits.
	ErrWeakSecret = errors.New("proof: pairing secret under 16 bytes")
)
