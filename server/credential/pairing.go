package credential

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

const (
	codeSize  = 8
	digitSize = 4
	// qrSize is how many base-62 digits hold 128 bits.
	qrSize = 22
)

// ErrCode is returned for a text that is no pairing code or no four digits.
var ErrCode = errors.New("credential: not a pairing code")

// Code is what a person types to pair a device without a camera: 40 bits in 8
// characters. It lives for minutes and dies after a few wrong tries; that,
// not its length, is what protects it.
type Code struct{ text Secret }

// NewCode draws a code.
func NewCode(random io.Reader) (Code, error) {
	text, err := draw(random, crockford, codeSize)
	return Code{NewSecret(text)}, err
}

// ParseCode reads what a person typed: case, spaces and hyphens do not matter,
// and O, I and L are read as the digits they look like. Else [ErrCode].
func ParseCode(typed string) (Code, error) {
	// A person separates groups at most; anything longer is no code. Beyond
	// ASCII, upper case would turn foreign letters into ours.
	if len(typed) > 4*codeSize || !ascii(typed) {
		return Code{}, ErrCode
	}
	text := strings.NewReplacer(" ", "", "-", "", "O", "0", "I", "1", "L", "1").Replace(strings.ToUpper(typed))
	if len(text) != codeSize || !only(text, crockford) {
		return Code{}, ErrCode
	}
	return Code{NewSecret(text)}, nil
}

func ascii(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// Reveal gives the code as shown to the person, 7K4M-Q2ZD.
func (c Code) Reveal() string {
	text := c.text.Reveal()
	if text == "" {
		return ""
	}
	return text[:codeSize/2] + "-" + text[codeSize/2:]
}

// Hash is what is stored of the code. It is keyed, since 40 bits alone could be
// tried out by whoever reads the database.
func (c Code) Hash(key Key) Hash { return Hash(key.mac("beckon/pairing-code/1", c.text.Reveal())) }

// String hides the code.
func (c Code) String() string { return redacted }

// Format hides the code from every verb.
func (c Code) Format(f fmt.State, _ rune) { hide(f) }

// MarshalText hides the code from encoders.
func (c Code) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// NewDigits draws the four digits that a new device shows and the old one has
// to be told.
func NewDigits(random io.Reader) (Secret, error) {
	text, err := draw(random, "0123456789", digitSize)
	return NewSecret(text), err
}

// ParseDigits reads four digits as typed, with spaces around or between them.
// Else [ErrCode].
func ParseDigits(typed string) (Secret, error) {
	if len(typed) > 4*digitSize {
		return Secret{}, ErrCode
	}
	text := strings.ReplaceAll(typed, " ", "")
	if len(text) != digitSize || !only(text, "0123456789") {
		return Secret{}, ErrCode
	}
	return NewSecret(text), nil
}

// NewLinkSecret draws 128 bits as 22 characters, for a QR code and for the new
// device's claim on its pairing. Its bytes as text are the key of the pairing
// MAC; the server stores [HashOf] it.
func NewLinkSecret(random io.Reader) (Secret, error) {
	text, err := draw(random, digits62, qrSize)
	return NewSecret(text), err
}
