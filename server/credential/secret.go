package credential

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a string that prints as [redacted] whichever way it is printed,
// logged or encoded. Only [Secret.Reveal] gives it away, so a reviewer finds
// every place that does.
type Secret struct {
	// A pointer, because fmt does not call methods on unexported fields of a
	// surrounding struct: there it prints an address instead of the text.
	text *string
}

// NewSecret wraps a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal gives the text, for the one answer that carries it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports an empty secret.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// Equal compares in constant time for texts of one length.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// String hides the text from fmt and from string building.
func (s Secret) String() string { return redacted }

// Format hides the text from every verb, %#v and %x included.
func (s Secret) Format(f fmt.State, _ rune) { hide(f) }

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the text from encoders that write text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON hides the text from JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// hide writes the placeholder; fmt gives a formatter no way to report an error.
func hide(f fmt.State) { _, _ = io.WriteString(f, redacted) }
