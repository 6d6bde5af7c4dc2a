package proof

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"fmt"
	"math/big"
)

// The sizes of what travels.
const (
	// PublicKeySize is an uncompressed P-256 point: 0x04, X, Y.
	PublicKeySize = 65
	// SignatureSize is r and s, 32 bytes big-endian each.
	SignatureSize = 64
)

// ParsePublicKey reads an uncompressed SEC 1 point and checks that it lies on
// P-256. Compressed and hybrid points, infinity and every other length are
// [ErrPublicKey], so a key has one spelling and can be compared as bytes.
func ParsePublicKey(raw []byte) (*ecdsa.PublicKey, error) {
	if len(raw) != PublicKeySize {
		return nil, ErrPublicKey
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return nil, ErrPublicKey
	}
	return key, nil
}

// MarshalPublicKey writes the 65-byte form, or [ErrPublicKey] for a key that is
// not on P-256.
func MarshalPublicKey(key *ecdsa.PublicKey) ([]byte, error) {
	if key == nil || key.Curve != elliptic.P256() {
		return nil, ErrPublicKey
	}
	raw, err := key.Bytes()
	if err != nil {
		return nil, ErrPublicKey
	}
	return raw, nil
}

// sign is deterministic (RFC 6979), so that a client with a poor random source
// cannot leak its key and vectors can be compared byte by byte.
func sign(key *ecdsa.PrivateKey, message []byte) ([]byte, error) {
	if key == nil || key.Curve != elliptic.P256() {
		return nil, ErrPrivateKey
	}
	sum := sha256.Sum256(message)
	der, err := key.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot sign", ErrPrivateKey)
	}
	var parts struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &parts); err != nil {
		return nil, fmt.Errorf("%w: cannot sign", ErrPrivateKey)
	}
	out := make([]byte, SignatureSize)
	parts.R.FillBytes(out[:SignatureSize/2])
	parts.S.FillBytes(out[SignatureSize/2:])
	return out, nil
}

// verify accepts both s and its negative. WebCrypto and the phones' key stores
// do not normalise s, and no part of Beckon uses a signature as an identity, so
// demanding the low one would refuse honest proofs and prevent nothing.
func verify(key *ecdsa.PublicKey, message, signature []byte) error {
	if key == nil || key.Curve != elliptic.P256() {
		return ErrPublicKey
	}
	if len(signature) != SignatureSize {
		return ErrMalformed
	}
	r := new(big.Int).SetBytes(signature[:SignatureSize/2])
	s := new(big.Int).SetBytes(signature[SignatureSize/2:])
	order := key.Params().N
	if r.Sign() == 0 || s.Sign() == 0 || r.Cmp(order) >= 0 || s.Cmp(order) >= 0 {
		return ErrMalformed
	}
	sum := sha256.Sum256(message)
	if !ecdsa.Verify(key, sum[:], r, s) {
		return ErrMismatch
	}
	return nil
}
