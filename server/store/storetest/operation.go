package storetest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/beckon-dev/beckon/server/store"
)

// kind names an operation or the way a command ends.
type kind string

const (
	kindPutNew    kind = "put new"
	kindPutOver   kind = "put over"
	kindDelete    kind = "delete present"
	kindDeleteNot kind = "delete absent"
	kindGet       kind = "get present"
	kindGetNot    kind = "get absent"
	kindScan      kind = "scan"
	kindScanBack  kind = "scan back"
	kindClear     kind = "clear a range"
	kindCommit    kind = "commit"
	kindFail      kind = "fail"
	kindPanic     kind = "panic"
	kindView      kind = "view"
	kindReopen    kind = "reopen"
)

func allKinds() []kind {
	return []kind{kindPutNew, kindPutOver, kindDelete, kindDeleteNot, kindGet, kindGetNot,
		kindScan, kindScanBack, kindClear, kindCommit, kindFail, kindPanic, kindView, kindReopen}
}

// operation is one call. For put, delete and get the kind says what the call
// hopes to find; it counts as that kind only when it did.
type operation struct {
	kind     kind
	table    store.Table
	key, to  []byte
	value    []byte
	scanStop int
}

func (s *Source) operation(readOnly bool) operation {
	kinds := allKinds()[:9]
	if readOnly {
		kinds = []kind{kindGet, kindGetNot, kindScan, kindScanBack}
	}
	o := operation{
		kind:     kinds[s.random.IntN(len(kinds))],
		table:    tables()[s.random.IntN(2)],
		key:      s.key(),
		to:       s.key(),
		scanStop: 1 + s.random.IntN(60),
	}
	if s.random.IntN(4) == 0 {
		o.to = nil
	}
	// Mostly short, some of about a page, now and then one that needs several.
	size := []int{3, 3, 3, 40, 700, 5000}[s.random.IntN(6)]
	o.value = bytes.Repeat([]byte{byte('a' + s.random.IntN(26))}, 1+s.random.IntN(size))
	return o
}

// key picks one of about 500 keys, some of which are prefixes of others.
func (s *Source) key() []byte {
	alphabet := []byte{0, '1', 'k', 'm', 0xff}
	key := make([]byte, 1+s.random.IntN(4))
	for i := range key {
		key[i] = alphabet[s.random.IntN(len(alphabet))]
	}
	return key
}

// read answers "" when the operation found not what its kind hopes for.
func (o operation) read(r store.Reader) string {
	switch o.kind {
	case kindScan:
		return o.scan(r.Scan)
	case kindScanBack:
		return o.scan(r.ScanBack)
	default: // all others begin with a look
	}
	value, err := r.Get(o.table, o.key)
	switch {
	case err != nil:
		return "error"
	case (value != nil) != (o.kind == kindGet || o.kind == kindPutOver || o.kind == kindDelete):
		return ""
	}
	return fmt.Sprintf("%q=%q", o.key, brief(value))
}

// write performs the operation whatever it found, and answers as read does.
func (o operation) write(w store.Writer) string {
	var answer string
	var err error
	switch o.kind {
	case kindClear:
		return o.clear(w)
	case kindPutNew, kindPutOver:
		answer = o.read(w)
		err = w.Put(o.table, o.key, o.value)
	case kindDelete, kindDeleteNot:
		answer = o.read(w)
		err = w.Delete(o.table, o.key)
	default:
		return o.read(w)
	}
	if err != nil {
		return "error"
	}
	return answer
}

func (o operation) scan(scan scanFunc) string {
	var out []string
	err := scan(o.table, o.key, o.to, func(key, value []byte) bool {
		out = append(out, fmt.Sprintf("%q=%q", key, brief(value)))
		return len(out) < o.scanStop
	})
	if err != nil {
		return "error"
	}
	return strings.Join(out, " ")
}

// clear deletes what a scan shows while it shows it, so whole pages go at once.
func (o operation) clear(w store.Writer) string {
	var out []string
	failed := false
	err := w.Scan(o.table, o.key, o.to, func(key, _ []byte) bool {
		out = append(out, fmt.Sprintf("%q", key))
		failed = failed || w.Delete(o.table, key) != nil
		return len(out) < 2*o.scanStop
	})
	if err != nil || failed {
		return "error"
	}
	return strings.Join(out, " ")
}
