package store

import (
	"encoding/binary"
	"io"
	"strings"
	"time"
)

// Ids are <kind, 3 letters>_<account key, 16>_<time-ordered 128 bits, 26>,
// lower case. The account key inside an id is what routes a call to one
// account without a look-up; it grants nothing.

// Kinds of ids.
const (
	KindTask         = "tsk"
	KindThread       = "thr"
	KindItem         = "itm"
	KindDecision     = "dec"
	KindGrant        = "grt"
	KindEffect       = "eff"
	KindInstallation = "ins"
	KindAgent        = "agt"
	KindAddress      = "adr"
	KindOffer        = "off"
	kindAccount      = "acc"
)

const (
	idDigits      = "0123456789abcdefghijklmnopqrstuv"
	accountKeyLen = 16
	idTailLen     = 26
)

// NewAccountKey draws the routing key of a new account.
func NewAccountKey(random io.Reader) (string, error) {
	var b [10]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	return base32Text(b[:], accountKeyLen), nil
}

// NewID draws an id: 48 bits of milliseconds, then 80 random bits, so that ids
// of one account sort roughly by birth.
func NewID(kind, account string, now time.Time, random io.Reader) (string, error) {
	var b [16]byte
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(b[:6], ms[2:])
	if _, err := io.ReadFull(random, b[6:]); err != nil {
		return "", err
	}
	return kind + "_" + account + "_" + base32Text(b[:], idTailLen), nil
}

// AccountID is the public id of an account.
func AccountID(key string) string { return kindAccount + "_" + key }

// AccountKeyOf returns the account that an id of the wanted kind belongs to.
// Anything that is not such an id is treated like an unknown one.
func AccountKeyOf(kind, id string) (string, bool) {
	rest, ok := strings.CutPrefix(id, kind+"_")
	if !ok || len(rest) != accountKeyLen+1+idTailLen || rest[accountKeyLen] != '_' {
		return "", false
	}
	if strings.Trim(rest[:accountKeyLen], idDigits) != "" || strings.Trim(rest[accountKeyLen+1:], idDigits) != "" {
		return "", false
	}
	return rest[:accountKeyLen], true
}

// AccountKey reads the key out of an account id.
func AccountKey(id string) (string, bool) {
	key, ok := strings.CutPrefix(id, kindAccount+"_")
	if !ok || len(key) != accountKeyLen || strings.Trim(key, idDigits) != "" {
		return "", false
	}
	return key, true
}

func base32Text(b []byte, n int) string {
	out := make([]byte, 0, n)
	var acc uint32
	var bits int
	for _, c := range b {
		acc, bits = acc<<8|uint32(c), bits+8
		for bits >= 5 {
			bits -= 5
			out = append(out, idDigits[acc>>bits&31])
		}
	}
	if bits > 0 {
		out = append(out, idDigits[acc<<(5-bits)&31])
	}
	return string(out)
}
