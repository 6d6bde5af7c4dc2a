package credential

import (
	"fmt"
	"io"
	"math/big"
	"strings"
)

const (
	// digits62 is the alphabet of secrets: no character needs escaping in a
	// URL, a shell or JSON, and a double click selects the whole.
	digits62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// crockford is the alphabet of what people type: it leaves out I, L, O and
	// U (Crockford: Base 32).
	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	// secretSize is how many base-62 digits 256 bits take.
	secretSize = 43
)

// base62 writes bytes as one big-endian number of exactly size digits.
func base62(raw []byte, size int) string {
	text := new(big.Int).SetBytes(raw).Text(62)
	out := make([]byte, size)
	for i := range out {
		out[i] = '0'
	}
	// math/big puts lower case before upper case; the sorting order of ASCII
	// is used here, so that texts sort as their numbers.
	for i, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		out[size-len(text)+i] = c
	}
	return string(out)
}

// goodSecret accepts exactly what base62 writes for 32 bytes: a number of 43
// digits can exceed 256 bits.
func goodSecret(text string) bool {
	return len(text) == secretSize && only(text, digits62) && text <= maxSecret
}

// maxSecret is 2^256−1.
const maxSecret = "yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1" //nolint:gosec // the largest number of its form, no credential

func goodID(text string) bool {
	return len(text) == idSize && only(text, strings.ToLower(crockford))
}

func only(text, alphabet string) bool {
	for i := range len(text) {
		if strings.IndexByte(alphabet, text[i]) < 0 {
			return false
		}
	}
	return true
}

// draw picks n characters evenly from an alphabet of at most 256: bytes beyond
// the last full multiple of its size are thrown away.
func draw(random io.Reader, alphabet string, n int) (string, error) {
	limit := 256 - 256%len(alphabet)
	out := make([]byte, 0, n)
	var one [1]byte
	for len(out) < n {
		if _, err := io.ReadFull(random, one[:]); err != nil {
			return "", fmt.Errorf("credential: random: %w", err)
		}
		if int(one[0]) < limit {
			out = append(out, alphabet[int(one[0])%len(alphabet)])
		}
	}
	return string(out), nil
}
