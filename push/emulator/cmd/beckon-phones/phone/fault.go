package phone

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// Fault is one way to misbehave; the zero value is an honest phone.
type Fault string

// The faults a server has to notice.
const (
	// WrongKey signs every proof with a key that the server does not know.
	WrongKey Fault = "wrong-key"
	// Replay redeems each button twice, the second time under a new answer key;
	// the result is the second one's.
	Replay Fault = "replay"
	// WrongVerb redeems the token of another button than the one that was tapped.
	WrongVerb Fault = "wrong-verb"
	// ForgedToken changes the verb inside a token and keeps its signature.
	ForgedToken Fault = "forged-token"
	// NoProof approves with the token alone.
	NoProof Fault = "no-proof"
)

// Faults are all of them, for help texts and checks.
func Faults() []Fault { return []Fault{WrongKey, Replay, WrongVerb, ForgedToken, NoProof} }

// Known reports whether the fault is one of them or none.
func (f Fault) Known() bool { return f == "" || slices.Contains(Faults(), f) }

// forge swaps the verb in the claims of a tap token.
func forge(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return token + "x"
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &claims) != nil {
		return token + "x"
	}
	verb := `"approve"`
	if string(claims["verb"]) == verb {
		verb = `"deny"`
	}
	claims["verb"] = json.RawMessage(verb)
	raw, err = json.Marshal(claims)
	if err != nil {
		return token + "x"
	}
	parts[1] = base64.RawURLEncoding.EncodeToString(raw)
	return strings.Join(parts, ".")
}
