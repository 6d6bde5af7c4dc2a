package proof

import (
	"encoding/binary"
)

// The domain labels. A label is the first field of every tuple; a changed
// layout gets a new number, never a new meaning.
const (
	labelAnswer      = "beckon/answer/1"
	labelRefresh     = "beckon/refresh/1"
	labelElevate     = "beckon/elevate/1"
	labelPair        = "beckon/pair/1"
	labelView        = "beckon/view/1"
	labelAnswerItems = "beckon/answer-items/1"
)

// tuple builds length-prefixed bytes. Since every field says how long it is,
// two different tuples of one label never have the same bytes.
type tuple struct {
	out []byte
	err error
}

func newTuple(label string) *tuple {
	t := &tuple{out: make([]byte, 0, 512)}
	t.bytes([]byte(label))
	return t
}

func (t *tuple) bytes(field []byte) {
	t.out = binary.BigEndian.AppendUint32(t.out, uint32(len(field)))
	t.out = append(t.out, field...)
}

func (t *tuple) integer(n uint64) {
	t.bytes(binary.BigEndian.AppendUint64(nil, n))
}

func (t *tuple) digest(d Digest) {
	t.bytes(d[:])
}

// text adds a string that may be empty. What is not UTF-8 is refused, because
// a client in JavaScript or Swift could never say the same.
func (t *tuple) text(field, value string) {
	t.fail(field, checkText(value))
	t.bytes([]byte(value))
}

// name adds a string that must be there: a proof about nobody or nothing is a
// mistake of the caller, never something to sign or to accept.
func (t *tuple) name(field, value string) {
	t.fail(field, checkName(value))
	t.bytes([]byte(value))
}

// known adds a digest that must be there.
func (t *tuple) known(field string, d Digest) {
	if d.IsZero() {
		t.fail(field, &InputError{Reason: ReasonMissing})
	}
	t.digest(d)
}

// fail keeps the first error.
func (t *tuple) fail(field string, err error) {
	if t.err == nil && err != nil {
		t.err = inField(field, err)
	}
}

func (t *tuple) done() ([]byte, error) {
	if t.err != nil {
		return nil, t.err
	}
	return t.out, nil
}

func (t *tuple) sum() (Digest, error) {
	raw, err := t.done()
	if err != nil {
		return Digest{}, err
	}
	return Sum(raw), nil
}
