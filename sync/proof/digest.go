package proof

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// Digest is a SHA-256 value. As text and in JSON it is 64 lower-case
// hexadecimal digits and nothing else.
type Digest [sha256.Size]byte

// Sum is the digest of bytes as they are, for evidence and other content that
// is addressed by its hash.
func Sum(content []byte) Digest {
	return sha256.Sum256(content)
}

// ParseDigest reads the text form. Upper case is refused with [ErrDigest], so
// that a digest has exactly one spelling wherever text is compared.
func ParseDigest(text string) (Digest, error) {
	var d Digest
	if len(text) != hex.EncodedLen(len(d)) {
		return Digest{}, ErrDigest
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return Digest{}, ErrDigest
		}
	}
	if _, err := hex.Decode(d[:], []byte(text)); err != nil {
		return Digest{}, ErrDigest
	}
	return d, nil
}

// DigestFromBytes reads the 32-byte form used on the wire, or [ErrDigest].
func DigestFromBytes(raw []byte) (Digest, error) {
	var d Digest
	if len(raw) != len(d) {
		return Digest{}, ErrDigest
	}
	copy(d[:], raw)
	return d, nil
}

// String is the text form.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero reports the absent digest: no input is known to hash to it.
func (d Digest) IsZero() bool { return d == Digest{} }

// Equal compares in constant time, for digests of secrets.
func (d Digest) Equal(other Digest) bool {
	return subtle.ConstantTimeCompare(d[:], other[:]) == 1
}

// MarshalText gives the text form; a JSON encoder uses it as a string.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the text form, or returns [ErrDigest].
func (d *Digest) UnmarshalText(text []byte) error {
	parsed, err := ParseDigest(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}
