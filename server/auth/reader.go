package auth

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/golang-jwt/jwt/v5"

	"github.com/beckon-dev/beckon/sync/proof"
)

const (
	// maxToken bounds what is looked at, at all. Ours have 400 to 700 bytes.
	maxToken = 4096
	// leeway is how far the clocks of two nodes may differ.
	leeway = 30 * time.Second
	// algorithm is the only one: issuer and verifier are one process group, and
	// HMAC costs a tenth of a signature.
	algorithm = "HS256"
	// maxText bounds every claim that is an id or a word.
	maxText = 128
	// maxScopes bounds the scope list as one text.
	maxScopes = 512
)

// profile is what a kind of token must look like.
type profile struct {
	typ     string
	maxLife time.Duration
	names   []string // exactly these claims, sorted
}

// claims are the verified but still untyped claims. Typed reads note the first
// mistake, so that a profile reads as a list of its claims.
type claims struct {
	raw map[string]json.RawMessage
	err error
}

// read checks everything about a token that does not depend on its profile's
// meaning, cheapest first: nothing is decoded before the shape is right, and no
// claim is read before the signature is.
func (r KeyRing) read(token string, p profile) (*claims, error) {
	header, payload, signature, ok := split(token)
	if !ok {
		return nil, bad(ReasonShape)
	}
	head, ok := object(header)
	if !ok {
		return nil, bad(ReasonHeader)
	}
	h := &claims{raw: head}
	alg, kid, typ := h.text("alg"), h.text("kid"), h.text("typ")
	if h.err != nil || len(head) != 3 {
		return nil, bad(ReasonHeader)
	}
	if typ != p.typ {
		return nil, bad(ReasonType)
	}
	key, known := r.find(kid)
	if !known {
		return nil, bad(ReasonKey)
	}
	if alg != algorithm {
		return nil, bad(ReasonAlgorithm)
	}
	signed := token[:len(header)+1+len(payload)]
	sum, ok := segment(signature)
	if !ok || jwt.SigningMethodHS256.Verify(signed, sum, key.Reveal()) != nil {
		return nil, bad(ReasonSignature)
	}
	body, ok := object(payload)
	if !ok || !exactly(body, p.names) {
		return nil, bad(ReasonClaims)
	}
	return &claims{raw: body}, nil
}

// split looks at bytes only and allocates nothing, however long the input is.
func split(token string) (header, payload, signature string, ok bool) {
	if len(token) > maxToken {
		return "", "", "", false
	}
	dots := 0
	for i := range len(token) {
		switch c := token[i]; {
		case c == '.':
			dots++
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return "", "", "", false
		}
	}
	if dots != 2 {
		return "", "", "", false
	}
	header, rest, _ := strings.Cut(token, ".")
	payload, signature, _ = strings.Cut(rest, ".")
	return header, payload, signature, header != "" && payload != "" && signature != ""
}

// segment decodes base64url without padding; strict, so that no two texts are
// one signature.
func segment(text string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return raw, err == nil
}

// object decodes one JSON object and nothing around it. The I-JSON check
// refuses duplicates, bad text and depth; a map keeps names as they are
// written, where a struct would match them in any case.
func object(text string) (map[string]json.RawMessage, bool) {
	raw, ok := segment(text)
	if !ok || len(raw) < 2 || raw[0] != '{' || raw[len(raw)-1] != '}' {
		return nil, false
	}
	if proof.CheckObject(raw) != nil {
		return nil, false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil, false
	}
	return members, true
}

func exactly(members map[string]json.RawMessage, names []string) bool {
	if len(members) != len(names) {
		return false
	}
	for name := range members {
		if _, found := slices.BinarySearch(names, name); !found {
			return false
		}
	}
	return true
}

func (c *claims) fail() {
	if c.err == nil {
		c.err = bad(ReasonValue)
	}
}

// text reads an id or a word.
func (c *claims) text(name string) string {
	value := c.anyText(name)
	if !goodText(value) {
		c.fail()
	}
	return value
}

func (c *claims) anyText(name string) string {
	raw := c.raw[name]
	var value string
	// null would leave the value empty without an error.
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &value) != nil {
		c.fail()
	}
	return value
}

// scopes reads words with one space between them, or none at all.
func (c *claims) scopes(name string) []string {
	words, ok := splitScopes(c.anyText(name))
	if !ok {
		c.fail()
	}
	return words
}

// integer reads a plain decimal number: no sign, fraction or exponent.
func (c *claims) integer(name string) uint64 {
	raw := string(c.raw[name])
	value, err := strconv.ParseUint(raw, 10, 64)
	if err != nil || value > 1<<53-1 {
		c.fail()
	}
	return value
}

// moment reads seconds since 1970 that a calendar still knows.
func (c *claims) moment(name string) time.Time {
	value := c.integer(name)
	if value > math.MaxUint32 {
		c.fail()
		value = 0
	}
	return time.Unix(int64(value), 0).UTC()
}

// life judges iat and exp. The end is judged last and apart, so that a client
// is told to renew only what would otherwise be good.
func (c *claims) life(p profile, now time.Time) (issued, end time.Time, over error) {
	issued, end = c.moment("iat"), c.moment("exp")
	impossible := issued.After(now.Add(leeway)) || !end.After(issued) || end.Sub(issued) > p.maxLife
	if c.err == nil && impossible {
		c.err = bad(ReasonTime)
	}
	if !now.Before(end.Add(leeway)) {
		over = expired(ReasonOver)
	}
	return issued, end, over
}

// epoch judges the auth epoch: a restored server forgets every token made
// before, and never made one of an epoch to come.
func (c *claims) epoch(current uint64) (value uint64, over error) {
	value = c.integer("ep")
	switch {
	case c.err != nil:
	case value > current:
		c.err = bad(ReasonEpoch)
	case value < current:
		over = expired(ReasonEpoch)
	}
	return value, over
}

func goodText(text string) bool {
	return text != "" && len(text) <= maxText && strings.IndexFunc(text, unicode.IsControl) < 0
}

func splitScopes(text string) (words []string, ok bool) {
	if text == "" {
		return nil, true
	}
	if len(text) > maxScopes {
		return nil, false
	}
	words = strings.Split(text, " ")
	for _, word := range words {
		if !goodWord(word, ":_") {
			return nil, false
		}
	}
	return words, true
}

// goodWord accepts lower-case letters and the extra characters.
func goodWord(word, extra string) bool {
	return word != "" && len(word) <= maxText && strings.IndexFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && !strings.ContainsRune(extra, r)
	}) < 0
}
