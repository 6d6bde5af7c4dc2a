package proof

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Chain is how far a chain of audit entries was followed. The zero value stands
// before the first entry.
//
// An entry is one JSON object. Its "seq" is one more than that of the entry
// before, and its "prev" is the SHA-256 of the very bytes of that entry, in
// base64; null for the first. So whoever holds the hash of the newest entry
// holds all of them.
type Chain struct {
	// Seq is the number of the newest entry.
	Seq uint64
	// Head is the hash of its bytes.
	Head Digest
}

// MaxEntryBytes bounds one entry of an audit chain.
const MaxEntryBytes = 64 << 10

// ErrChain answers an entry that does not follow the one before it.
var ErrChain = errors.New("proof: the audit chain is broken")

// Add follows one entry further. The error is an ErrChain and says where.
func (c Chain) Add(entry []byte) (Chain, error) {
	var link struct {
		Seq  uint64 `json:"seq"`
		Prev []byte `json:"prev"`
	}
	next := c.Seq + 1
	if err := json.Unmarshal(entry, &link); err != nil {
		return c, fmt.Errorf("%w at entry %d: not an entry", ErrChain, next)
	}
	if link.Seq != next {
		return c, fmt.Errorf("%w at entry %d: entry %d follows %d", ErrChain, next, link.Seq, c.Seq)
	}
	if c.Seq == 0 && link.Prev != nil || c.Seq > 0 && !bytes.Equal(link.Prev, c.Head[:]) {
		return c, fmt.Errorf("%w at entry %d: what stands before it is not what stood there", ErrChain, next)
	}
	return Chain{Seq: next, Head: sha256.Sum256(entry)}, nil
}

// ReadChain follows entries that are written one to a line, and returns how far
// it got. An empty line at the end is none.
func ReadChain(r io.Reader) (Chain, error) {
	var c Chain
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxEntryBytes)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var err error
		if c, err = c.Add(lines.Bytes()); err != nil {
			return c, err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return c, fmt.Errorf("%w at entry %d: a line of more than %d bytes", ErrChain, c.Seq+1, MaxEntryBytes)
	}
	return c, lines.Err()
}
