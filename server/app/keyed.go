package app

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"

	"github.com/beckon-dev/beckon/server/credential"
)

// Labels of keyed hashes: one use of a key can never pass for another.
const (
	labelPairDigits   = "beckon/pair-digits/1"
	labelUnlockDigits = "beckon/unlock-digits/1"
	labelFirstRefresh = "beckon/refresh-first/1"
	labelAccountTag   = "beckon/account-tag/1"
)

// keyed is HMAC-SHA-256 over a label and length-prefixed parts. Four digits
// under a plain hash could be read by whoever reads the database.
func keyed(key credential.Key, label string, parts ...string) credential.Hash {
	h := hmac.New(sha256.New, key.Reveal())
	for _, part := range append([]string{label}, parts...) {
		_ = binary.Write(h, binary.BigEndian, uint32(len(part))) // a hash takes every write
		h.Write([]byte(part))
	}
	return credential.Hash(h.Sum(nil))
}

// sameHash compares what is stored with what was presented in constant time.
func sameHash(stored []byte, presented credential.Hash) bool {
	return subtle.ConstantTimeCompare(stored, presented[:]) == 1
}
