package store

import (
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"
)

// ErrCorrupt: stored bytes are not a record of the expected kind. The wrapped
// text names the record, never what is in it.
var ErrCorrupt = errors.New("store: record cannot be read")

// recordVersion stands in front of every record. It makes a record of nothing
// but zeros storable, and lets a later release that has to write the same
// message with another meaning tell the two apart. A field added to a message
// does not raise it: that raises the format version of the data folder, for
// unknown fields do not survive a rewrite, and so a folder of a newer release
// is refused as a whole (R30).
const recordVersion = 1

// codec is how values of one type are stored. Implementations are empty
// structs, so a table can carry its codec in its type: what is put into a
// table and what is read from it is settled by the compiler.
type codec[T any] interface {
	// encode fails only for a string that is not UTF-8.
	encode(v T) ([]byte, error)
	// decode fails with ErrCorrupt, or ErrFormatNewer for a record version
	// that is not known yet.
	decode(b []byte) (T, error)
}

// message is the pointer to a generated message.
type message[M any] interface {
	*M
	proto.Message
}

// marshal gives the same bytes for the same value, so that equal entities are
// seen to be equal.
func marshal(m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend([]byte{recordVersion}, m)
	if err != nil {
		// The library's own text names the field, not the value.
		return nil, fmt.Errorf("store: encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return b, nil
}

// unmarshal reads what marshal wrote and hands it to unpack.
func unmarshal[T, M any, P message[M]](b []byte, unpack func(P, *reading) T) (T, error) {
	var zero T
	m := P(new(M))
	name := m.ProtoReflect().Descriptor().Name()
	switch {
	case len(b) == 0:
		return zero, fmt.Errorf("%w: %s: empty", ErrCorrupt, name)
	case b[0] > recordVersion:
		return zero, fmt.Errorf("%w: %s: record version %d", ErrFormatNewer, name, b[0])
	case b[0] != recordVersion:
		return zero, fmt.Errorf("%w: %s: record version %d", ErrCorrupt, name, b[0])
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b[1:], m); err != nil {
		return zero, fmt.Errorf("%w: %s", ErrCorrupt, name)
	}
	var r reading
	v := unpack(m, &r)
	if r.fault != "" {
		return zero, fmt.Errorf("%w: %s: %s out of range", ErrCorrupt, name, r.fault)
	}
	return v, nil
}

// reading remembers the first field of a record that no domain value has, so
// that unpacking reads like a list of fields.
type reading struct{ fault string }

func (r *reading) refuse(field string) {
	if r.fault == "" {
		r.fault = field
	}
}

// number reads an enum of the domain. Whether the domain knows it is the
// domain's business; that it fits is ours.
func number[E ~uint8](r *reading, field string, n uint32) E {
	if n > math.MaxUint8 {
		r.refuse(field)
	}
	return E(n)
}

// bytes32 reads a digest or hash.
func bytes32[D ~[32]byte](r *reading, field string, b []byte) (d D) {
	if len(b) != 0 && len(b) != len(d) {
		r.refuse(field)
	}
	copy(d[:], b)
	return d
}

// from32 leaves out an absent digest.
func from32[D ~[32]byte](d D) []byte {
	var none D
	if d == none {
		return nil
	}
	return d[:]
}

// micros is a time on disk; 0 stands for none, and for the first microsecond
// of 1970, in which nothing happened.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// moment reads what micros wrote.
func moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// span reads a duration.
func span(r *reading, field string, us int64) time.Duration {
	if us > math.MaxInt64/int64(time.Microsecond) || us < math.MinInt64/int64(time.Microsecond) {
		r.refuse(field)
	}
	return time.Duration(us) * time.Microsecond
}

// each maps a list; an empty one becomes none.
func each[A, B any](list []A, fn func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = fn(v)
	}
	return out
}
