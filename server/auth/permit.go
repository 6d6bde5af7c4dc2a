package auth

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/beckon-dev/beckon/sync/proof"
)

const (
	permitType = "bk-permit+jwt"
	permitLife = time.Minute
)

// PermitGrant is the one attempt that a permit is good for.
type PermitGrant struct {
	// Account, Agent and Task are whose attempt it is.
	Account, Agent, Task string
	// Effect and Generation name it: a gateway that keeps them takes each once.
	Effect     string
	Generation uint32
	// App, Connection and Operation are what may be called.
	App, Connection, Operation string
	// Digest is the action digest: with it a gateway checks the arguments.
	Digest proof.Digest
}

type permitBody struct {
	Agt  string       `json:"agt"`
	App  string       `json:"app"`
	Conn string       `json:"conn"`
	Dig  proof.Digest `json:"dig"`
	Exp  int64        `json:"exp"`
	Gen  uint32       `json:"gen"`
	Iat  int64        `json:"iat"`
	Iss  string       `json:"iss"`
	Jti  string       `json:"jti"`
	Op   string       `json:"op"`
	Sub  string       `json:"sub"`
	Task string       `json:"task"`
}

// MintPermit makes a permit of 60 seconds, and says when it ends. Error:
// [ErrGrant].
func (i *Issuer) MintPermit(g PermitGrant) (token string, expires time.Time, err error) {
	if !goodText(g.Account) || !goodText(g.Agent) || !goodText(g.Task) || !goodText(g.Effect) ||
		g.Generation == 0 || g.Digest.IsZero() {
		return "", time.Time{}, fmt.Errorf("%w: permit", ErrGrant)
	}
	now := second(i.cfg.Now())
	expires = now.Add(permitLife)
	head, err := json.Marshal(header{jwt.SigningMethodEdDSA.Alg(), i.cfg.Permit.ID, permitType})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("auth: mint: %w", err)
	}
	body, err := json.Marshal(permitBody{
		Agt: g.Agent, App: g.App, Conn: g.Connection, Dig: g.Digest, Exp: expires.Unix(), Gen: g.Generation,
		Iat: now.Unix(), Iss: i.cfg.Name, Jti: fmt.Sprintf("%s.%d", g.Effect, g.Generation), Op: g.Operation,
		Sub: g.Account, Task: g.Task,
	})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("auth: mint: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode(head) + "." + encode(body)
	sum, err := jwt.SigningMethodEdDSA.Sign(signed, i.permitKey())
	if err != nil {
		return "", time.Time{}, fmt.Errorf("auth: mint: %w", err)
	}
	return signed + "." + encode(sum), expires, nil
}

func (i *Issuer) permitKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(i.cfg.Permit.Key.Reveal())
}

// PermitKeys is the JSON Web Key Set (RFC 7517) by which permits are checked.
func (i *Issuer) PermitKeys() []byte {
	type key struct {
		Alg string `json:"alg"`
		Crv string `json:"crv"`
		Kid string `json:"kid"`
		Kty string `json:"kty"`
		Use string `json:"use"`
		X   string `json:"x"`
	}
	public, _ := i.permitKey().Public().(ed25519.PublicKey)
	set, err := json.Marshal(map[string][]key{"keys": {{
		Alg: jwt.SigningMethodEdDSA.Alg(), Crv: "Ed25519", Kid: i.cfg.Permit.ID, Kty: "OKP", Use: "sig",
		X: base64.RawURLEncoding.EncodeToString(public),
	}}})
	if err != nil {
		panic(err) // strings and nothing else
	}
	return set
}
