package changelog

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// Codec seals positions into the opaque bytes that clients carry. They grant
// nothing; the seal only keeps a client from inventing a future and so pushing
// a whole store into a new epoch. The key follows from the master key, so
// cursors outlive a restore.
type Codec struct {
	key []byte
}

// NewCodec takes the stamp key, at least 16 bytes.
func NewCodec(key []byte) Codec { return Codec{key: bytes.Clone(key)} }

// ErrMalformed: not something this codec has sealed for this purpose and scope
// of this account. Callers answer with a reset, not with an error.
var ErrMalformed = errors.New("changelog: malformed stamp")

// ErrForbidden: sealed by this codec, but for another scope or account.
var ErrForbidden = errors.New("changelog: stamp of another scope")

// Layout: version(1) use(1) scope hash(8) epoch(16) seq(8, big-endian)
// page key(n) mac(16). Stamps of one scope and epoch therefore sort bytewise
// by seq up to the mac.
const (
	version   = 1
	macLen    = 16
	headLen   = 2 + 8 + 16 + 8
	useCursor = 'c'
	useStamp  = 's'
	usePage   = 'p'
)

// Cursor seals a place to go on from.
func (c Codec) Cursor(account string, s Scope, p Position) []byte {
	return c.seal(useCursor, account, s, p, nil)
}

// Stamp seals the head of a scope at the time of a read.
func (c Codec) Stamp(account string, s Scope, p Position) []byte {
	return c.seal(useStamp, account, s, p, nil)
}

// PageToken seals where a bootstrap goes on: the position it started at and
// the last key it sent.
func (c Codec) PageToken(account string, s Scope, p Position, last Key) []byte {
	return c.seal(usePage, account, s, p, append([]byte{byte(last.Kind)}, last.ID...))
}

// OpenCursor reads what Cursor sealed.
func (c Codec) OpenCursor(account string, s Scope, b []byte) (Position, error) {
	p, _, err := c.open(useCursor, account, s, b)
	return p, err
}

// OpenStamp reads what Stamp sealed.
func (c Codec) OpenStamp(account string, s Scope, b []byte) (Position, error) {
	p, _, err := c.open(useStamp, account, s, b)
	return p, err
}

// OpenPageToken reads what PageToken sealed.
func (c Codec) OpenPageToken(account string, s Scope, b []byte) (Position, Key, error) {
	p, rest, err := c.open(usePage, account, s, b)
	if err != nil {
		return Position{}, Key{}, err
	}
	if len(rest) < 1 {
		return Position{}, Key{}, ErrMalformed
	}
	return p, Key{Kind: Kind(rest[0]), ID: string(rest[1:])}, nil
}

func (c Codec) seal(use byte, account string, s Scope, p Position, rest []byte) []byte {
	b := make([]byte, 0, headLen+len(rest)+macLen)
	b = append(b, version, use)
	b = append(b, scopeHash(account, s)...)
	b = append(b, p.Epoch[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Seq))
	b = append(b, rest...)
	return append(b, c.mac(b)...)
}

func (c Codec) open(use byte, account string, s Scope, b []byte) (Position, []byte, error) {
	if len(b) < headLen+macLen || b[0] != version || b[1] != use {
		return Position{}, nil, ErrMalformed
	}
	body, mac := b[:len(b)-macLen], b[len(b)-macLen:]
	if !hmac.Equal(mac, c.mac(body)) {
		return Position{}, nil, ErrMalformed
	}
	if !bytes.Equal(body[2:10], scopeHash(account, s)) {
		return Position{}, nil, ErrForbidden
	}
	var p Position
	copy(p.Epoch[:], body[10:26])
	p.Seq = Seq(binary.BigEndian.Uint64(body[26:34]))
	return p, body[34:], nil
}

func (c Codec) mac(b []byte) []byte {
	h := hmac.New(sha256.New, c.key)
	h.Write(b)
	return h.Sum(nil)[:macLen]
}

// scopeHash ties a stamp to one scope of one account, so that a stamp of a
// neighbour is recognised as one.
func scopeHash(account string, s Scope) []byte {
	h := sha256.Sum256([]byte(account + "\x00" + s.String()))
	return h[:8]
}
