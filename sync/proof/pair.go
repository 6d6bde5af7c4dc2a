package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
)

// minPairSecret is 128 bits: less could be searched by whoever sees one MAC.
const minPairSecret = 16

// PairTuple is what a new device says about itself when it redeems a pairing
// offer. The device that showed the QR checks it under the secret in that QR,
// so that nobody between the two can put another key in its place.
type PairTuple struct {
	// ServerID and Offer name the offer that is redeemed.
	ServerID, Offer string
	// PublicKey is the new installation's key as a 65-byte point.
	PublicKey []byte
	// Platform and Label are shown to the person who confirms; Label may be empty.
	Platform, Label string
}

// Encode gives the bytes under the MAC. Fields in order: "beckon/pair/1",
// server id, offer, public key, platform, label. Errors: [*InputError],
// [ErrPublicKey].
func (p PairTuple) Encode() ([]byte, error) {
	if _, err := ParsePublicKey(p.PublicKey); err != nil {
		return nil, err
	}
	t := newTuple(labelPair)
	t.name("server_id", p.ServerID)
	t.name("offer", p.Offer)
	t.bytes(p.PublicKey)
	t.name("platform", p.Platform)
	t.text("label", p.Label)
	return t.done()
}

// PairMAC is HMAC-SHA-256 over the tuple; the key is the secret of the QR, its
// text as bytes. Errors:
// [ErrWeakSecret], and those of [PairTuple.Encode].
func PairMAC(secret []byte, pair PairTuple) ([]byte, error) {
	if len(secret) < minPairSecret {
		return nil, ErrWeakSecret
	}
	raw, err := pair.Encode()
	if err != nil {
		return nil, fmt.Errorf("pair: %w", err)
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(raw)
	return mac.Sum(nil), nil
}

// VerifyPairMAC compares in constant time and returns [ErrMismatch] or an error
// of [PairMAC].
func VerifyPairMAC(secret []byte, pair PairTuple, mac []byte) error {
	want, err := PairMAC(secret, pair)
	if err != nil {
		return err
	}
	if !hmac.Equal(want, mac) {
		return ErrMismatch
	}
	return nil
}
