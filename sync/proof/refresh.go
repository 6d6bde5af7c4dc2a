package proof

import (
	"crypto/ecdsa"
	"fmt"
)

// RefreshTuple is what an installation signs to exchange its refresh token. A
// thief who holds only the token string can make none of these, so the server
// neither rotates nor revokes for him.
type RefreshTuple struct {
	// ServerID, Account and Installation are as in [AnswerTuple].
	ServerID, Account, Installation string
	// TokenHash is SHA-256 of the refresh token's text.
	TokenHash Digest
	// Attempt is the random name of this exchange, stored by the client before
	// it sends and kept until the answer is stored.
	Attempt string
}

// Encode gives the bytes that are signed. Fields in order: "beckon/refresh/1",
// server id, account, installation, token hash, attempt. An empty field is an
// [*InputError].
func (r RefreshTuple) Encode() ([]byte, error) {
	t := newTuple(labelRefresh)
	t.name("server_id", r.ServerID)
	t.name("account", r.Account)
	t.name("installation", r.Installation)
	t.known("token_hash", r.TokenHash)
	t.name("attempt", r.Attempt)
	return t.done()
}

// SignRefresh makes the proof of a refresh; errors as [SignAnswer].
func SignRefresh(key *ecdsa.PrivateKey, refresh RefreshTuple) ([]byte, error) {
	raw, err := refresh.Encode()
	if err != nil {
		return nil, fmt.Errorf("sign refresh: %w", err)
	}
	return sign(key, raw)
}

// VerifyRefresh checks the proof of a refresh; errors as [VerifyAnswer].
func VerifyRefresh(key *ecdsa.PublicKey, refresh RefreshTuple, signature []byte) error {
	raw, err := refresh.Encode()
	if err != nil {
		return fmt.Errorf("verify refresh: %w", err)
	}
	return verify(key, raw, signature)
}

// ElevateTuple is what the approval key signs to show that its person is there,
// before the account itself is changed.
type ElevateTuple struct {
	// ServerID, Account and Installation are as in [AnswerTuple].
	ServerID, Account, Installation string
	// Nonce is random and used once.
	Nonce string
}

// Encode gives the bytes that are signed. Fields in order: "beckon/elevate/1",
// server id, account, installation, nonce. An empty field is an [*InputError].
func (e ElevateTuple) Encode() ([]byte, error) {
	t := newTuple(labelElevate)
	t.name("server_id", e.ServerID)
	t.name("account", e.Account)
	t.name("installation", e.Installation)
	t.name("nonce", e.Nonce)
	return t.done()
}

// SignElevate makes the proof of presence; errors as [SignAnswer].
func SignElevate(key *ecdsa.PrivateKey, elevate ElevateTuple) ([]byte, error) {
	raw, err := elevate.Encode()
	if err != nil {
		return nil, fmt.Errorf("sign elevate: %w", err)
	}
	return sign(key, raw)
}

// VerifyElevate checks the proof of presence; errors as [VerifyAnswer].
func VerifyElevate(key *ecdsa.PublicKey, elevate ElevateTuple, signature []byte) error {
	raw, err := elevate.Encode()
	if err != nil {
		return fmt.Errorf("verify elevate: %w", err)
	}
	return verify(key, raw, signature)
}
