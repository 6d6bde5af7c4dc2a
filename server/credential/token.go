package credential

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"strings"
)

// Kind says what a token is for; one of another kind never passes.
type Kind string

// The kinds, as they stand in the text.
const (
	// KindOwner claims a fresh server, once.
	KindOwner Kind = "own"
	// KindRefresh is an installation's refresh token.
	KindRefresh Kind = "rt"
	// KindWeb is a browser session, in a cookie.
	KindWeb Kind = "web"
	// KindAgent is an agent's key.
	KindAgent Kind = "agt"
	// KindTask is what a child process gets for one task and lease.
	KindTask Kind = "tsk"
	// KindTenant is the key of a tenant's backend.
	KindTenant Kind = "adm"
	// KindRecovery is one recovery code.
	KindRecovery Kind = "rec"
)

// Known reports whether k is one of the kinds above.
func (k Kind) Known() bool {
	switch k {
	case KindOwner, KindRefresh, KindWeb, KindAgent, KindTask, KindTenant, KindRecovery:
		return true
	default:
		return false
	}
}

// Pattern finds the text of every kind in a haystack, for leak scanners; a hit
// whose CRC [Parse] refuses is not one of ours.
const Pattern = `bk_(?:own|rt|web|agt|tsk|adm|rec)_[0-9a-hjkmnp-tv-z]{10}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}`

const (
	prefix    = "bk_"
	idSize    = 10
	crcSize   = 6
	maxLength = len(prefix) + 3 + 1 + idSize + 1 + secretSize + 1 + crcSize
)

var (
	// ErrMalformed is returned for a text that is no token.
	ErrMalformed = errors.New("credential: malformed")
	// ErrChecksum is returned for a token with a typo in it.
	ErrChecksum = errors.New("credential: checksum does not match")
	// ErrKind is returned for a token of an unknown or unwanted kind.
	ErrKind = errors.New("credential: wrong kind")
)

// Token is one opaque credential in clear. It exists on its way out to the
// holder and on its way in to be compared; it prints as [redacted].
type Token struct {
	kind Kind
	id   string
	text Secret
}

// New makes a token with a fresh id. The error is that of the random source.
func New(random io.Reader, kind Kind) (Token, error) {
	id, err := draw(random, crockford, idSize)
	if err != nil {
		return Token{}, err
	}
	return NewWithID(random, kind, strings.ToLower(id))
}

// NewWithID makes a token whose row already has an id, as a second secret of
// one family does. Errors: [ErrKind], [ErrMalformed] for the id, and that of
// the random source.
func NewWithID(random io.Reader, kind Kind, id string) (Token, error) {
	var raw [32]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return Token{}, fmt.Errorf("credential: random: %w", err)
	}
	return assemble(kind, id, raw)
}

func assemble(kind Kind, id string, raw [32]byte) (Token, error) {
	if !kind.Known() {
		return Token{}, ErrKind
	}
	if !goodID(id) {
		return Token{}, ErrMalformed
	}
	body := prefix + string(kind) + "_" + id + "_" + base62(raw[:], secretSize)
	return Token{kind, id, NewSecret(body + "_" + checksum(body))}, nil
}

// Parse reads a token and checks its form and CRC, which needs no store. It
// says nothing about whether the token is good. Errors: [ErrMalformed],
// [ErrKind], [ErrChecksum]; none repeats any of the text.
func Parse(text string) (Token, error) {
	if len(text) > maxLength {
		return Token{}, ErrMalformed
	}
	parts := strings.Split(text, "_")
	if len(parts) != 5 || parts[0] != "bk" {
		return Token{}, ErrMalformed
	}
	kind, id, secret, crc := Kind(parts[1]), parts[2], parts[3], parts[4]
	if !kind.Known() {
		return Token{}, ErrKind
	}
	if !goodID(id) || !goodSecret(secret) || len(crc) != crcSize {
		return Token{}, ErrMalformed
	}
	if crc != checksum(text[:len(text)-crcSize-1]) {
		return Token{}, ErrChecksum
	}
	return Token{kind, id, NewSecret(text)}, nil
}

// ParseKind is [Parse] where one kind is wanted; another one is [ErrKind].
func ParseKind(text string, want Kind) (Token, error) {
	token, err := Parse(text)
	if err != nil {
		return Token{}, err
	}
	if token.kind != want {
		return Token{}, ErrKind
	}
	return token, nil
}

// Kind is what the token is for.
func (t Token) Kind() Kind { return t.kind }

// ID is the key of the token's row. It is not secret, and no reason to log it.
func (t Token) ID() string { return t.id }

// Reveal gives the whole text, for the one answer that hands it out.
func (t Token) Reveal() string { return t.text.Reveal() }

// Secret gives the whole text wrapped.
func (t Token) Secret() Secret { return t.text }

// Hash is what is stored of the token.
func (t Token) Hash() Hash { return HashOf(t.text.Reveal()) }

// String hides the token.
func (t Token) String() string { return redacted }

// Format hides the token from every verb.
func (t Token) Format(f fmt.State, _ rune) { hide(f) }

// LogValue hides the token from slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the token from encoders.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Hash is SHA-256 of a secret text, all a server keeps of it.
type Hash [sha256.Size]byte

// HashOf hashes a secret text.
func HashOf(text string) Hash { return sha256.Sum256([]byte(text)) }

// IsZero reports the absent hash, which matches nothing.
func (h Hash) IsZero() bool { return h == Hash{} }

// Same compares two hashes in constant time; an absent one is the same as none,
// which is why this is not called Equal.
func (h Hash) Same(other Hash) bool {
	return subtle.ConstantTimeCompare(h[:], other[:]) == 1 && !h.IsZero()
}

// Match reports in constant time whether a token is the one that was stored.
func (h Hash) Match(token Token) bool { return h.Same(token.Hash()) }

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return base62([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}, crcSize)
}
