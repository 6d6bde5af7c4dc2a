package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/store"
)

// readCases: what Get, Scan and ScanBack show, in a view and in the middle of a
// command.
func readCases() map[string]func(*testing.T, Harness) {
	return map[string]func(*testing.T, Harness){
		"ranges":                      ranges,
		"an absent table is empty":    absentTable,
		"a command reads its writes":  ownWrites,
		"a scan stops when told":      scanStops,
		"writing during a scan":       writeDuringScan,
		"many pages":                  manyPages,
		"large values":                largeValues,
		"a wide gap is walked across": wideGap,
	}
}

func ranges(t *testing.T, h Harness) {
	engine := start(t, h)
	put(t, engine, alpha, "a", "1", "a\x00", "2", "b", "3", "b\xff", "4", "c", "5", "\xff\xff", "6")
	tests := []struct {
		from, to []byte
		want     []string
	}{
		{nil, nil, []string{"a=1", "a\x00=2", "b=3", "b\xff=4", "c=5", "\xff\xff=6"}},
		{[]byte{}, nil, []string{"a=1", "a\x00=2", "b=3", "b\xff=4", "c=5", "\xff\xff=6"}},
		{[]byte("a"), []byte("b"), []string{"a=1", "a\x00=2"}},
		{[]byte("a\x00"), []byte("b\x00"), []string{"a\x00=2", "b=3"}},
		{[]byte("aa"), []byte("bb"), []string{"b=3"}},
		{[]byte("b"), []byte("c"), []string{"b=3", "b\xff=4"}},
		{[]byte("c"), nil, []string{"c=5", "\xff\xff=6"}},
		{[]byte("d"), []byte("e"), nil},
		{[]byte("\xff\xff\xff"), nil, nil},
		{nil, []byte("a"), nil},
		{nil, []byte{}, nil},
		{[]byte("b"), []byte("b"), nil},
		{[]byte("c"), []byte("a"), nil},
	}
	check := func(where string, r store.Reader) error {
		for _, test := range tests {
			forth, err := collect(r.Scan, alpha, test.from, test.to)
			back, errBack := collect(r.ScanBack, alpha, test.from, test.to)
			if diff := cmp.Diff(test.want, forth); diff != "" {
				t.Errorf("%s: Scan %q to %q: %s", where, test.from, test.to, diff)
			}
			if diff := cmp.Diff(reversed(test.want), back); diff != "" {
				t.Errorf("%s: ScanBack %q to %q: %s", where, test.from, test.to, diff)
			}
			if err := errors.Join(err, errBack); err != nil {
				return err
			}
		}
		return nil
	}
	view(t, engine, func(r store.Reader) error { return check("view", r) })
	update(t, engine, func(w store.Writer) error { return check("command", w) })
	update(t, engine, func(w store.Writer) error {
		// The same content, half of it the command's own.
		err := errors.Join(
			w.Put(alpha, []byte("a"), []byte("1")), w.Put(alpha, []byte("b\xff"), []byte("4")),
			w.Put(alpha, []byte("d"), []byte("x")), w.Delete(alpha, []byte("d")), w.Delete(alpha, []byte("e")),
		)
		return errors.Join(err, check("command with changes", w))
	})
}

func reversed(in []string) []string {
	var out []string
	for i := range in {
		out = append(out, in[len(in)-1-i])
	}
	return out
}

func absentTable(t *testing.T, h Harness) {
	engine := start(t, h)
	check := func(r store.Reader) error {
		value, err := r.Get("never", []byte("k"))
		forth, errForth := collect(r.Scan, "never", nil, nil)
		back, errBack := collect(r.ScanBack, "never", nil, nil)
		if value != nil || forth != nil || back != nil {
			t.Errorf("found %q, %q, %q", value, forth, back)
		}
		return errors.Join(err, errForth, errBack)
	}
	view(t, engine, check)
	update(t, engine, func(w store.Writer) error { return errors.Join(check(w), w.Delete("never", []byte("k"))) })
	view(t, engine, check)
}

func ownWrites(t *testing.T, h Harness) {
	engine := start(t, h)
	put(t, engine, alpha, "b", "old", "d", "old", "f", "old")
	update(t, engine, func(w store.Writer) error {
		err := errors.Join(
			w.Put(alpha, []byte("a"), []byte("new")), w.Put(alpha, []byte("b"), []byte("new")),
			w.Put(alpha, []byte("e"), []byte("new")), w.Delete(alpha, []byte("d")),
			w.Put(alpha, []byte("g"), []byte("new")), w.Delete(alpha, []byte("g")),
			w.Delete(alpha, []byte("f")), w.Put(alpha, []byte("f"), []byte("back")),
		)
		if err != nil {
			return err
		}
		want := []string{"a=new", "b=new", "e=new", "f=back"}
		forth, err := collect(w.Scan, alpha, nil, nil)
		if diff := cmp.Diff(want, forth); diff != "" {
			t.Errorf("Scan: %s", diff)
		}
		back, errBack := collect(w.ScanBack, alpha, nil, nil)
		if diff := cmp.Diff(reversed(want), back); diff != "" {
			t.Errorf("ScanBack: %s", diff)
		}
		var got strings.Builder
		for _, key := range []string{"a", "b", "d", "g", "f"} {
			value, errGet := w.Get(alpha, []byte(key))
			fmt.Fprintf(&got, "%s:%s:%t ", key, value, value == nil)
			err = errors.Join(err, errGet)
		}
		if want := "a:new:false b:new:false d::true g::true f:back:false "; got.String() != want {
			t.Errorf("Get: %q, want %q", got.String(), want)
		}
		return errors.Join(err, errBack)
	})
}

func scanStops(t *testing.T, h Harness) {
	engine := start(t, h)
	put(t, engine, alpha, "b", "1", "d", "1", "f", "1")
	update(t, engine, func(w store.Writer) error {
		err := errors.Join(w.Put(alpha, []byte("a"), []byte("2")), w.Put(alpha, []byte("c"), []byte("2")), w.Put(alpha, []byte("g"), []byte("2")))
		for limit := 1; limit <= 7; limit++ {
			for name, scan := range map[string]scanFunc{"Scan": w.Scan, "ScanBack": w.ScanBack} {
				calls := 0
				err = errors.Join(err, scan(alpha, nil, nil, func(_, _ []byte) bool { calls++; return calls < limit }))
				if calls != min(limit, 6) {
					t.Errorf("%s with limit %d: %d calls", name, limit, calls)
				}
			}
		}
		return err
	})
}

func writeDuringScan(t *testing.T, h Harness) {
	engine := start(t, h)
	var want []string
	for i := range 300 {
		key := fmt.Sprintf("k%03d", i)
		put(t, engine, alpha, key, "1")
		want = append(want, key+"=1")
	}
	// The scan shows the table as it was when it began; the writes stand.
	sweep := func(w store.Writer, scan scanFunc) ([]string, error) {
		var seen []string
		var err error
		scanned := scan(alpha, nil, nil, func(key, value []byte) bool {
			seen = append(seen, fmt.Sprintf("%s=%s", key, value))
			more := append(bytes.Clone(key), '+')
			err = errors.Join(err, w.Delete(alpha, key), w.Put(alpha, more, []byte("2")), w.Delete(alpha, more))
			return err == nil
		})
		return seen, errors.Join(err, scanned)
	}
	for name, put := range map[string]bool{"base": false, "own writes": true} {
		for _, back := range []bool{false, true} {
			err := engine.Update(t.Context(), account, func(w store.Writer) error {
				for i := 0; put && i < 300; i += 2 {
					if err := w.Put(alpha, fmt.Appendf(nil, "k%03d", i), []byte("1")); err != nil {
						return err
					}
				}
				scan, expect := scanFunc(w.Scan), want
				if back {
					scan, expect = w.ScanBack, reversed(want)
				}
				seen, err := sweep(w, scan)
				if diff := cmp.Diff(expect, seen); diff != "" {
					t.Errorf("%s, back %t: %s", name, back, diff)
				}
				left, errLeft := collect(w.Scan, alpha, nil, nil)
				if len(left) != 0 {
					t.Errorf("%s, back %t: %d keys left", name, back, len(left))
				}
				return errors.Join(err, errLeft, errUndo)
			})
			if !errors.Is(err, errUndo) {
				t.Fatal(err)
			}
		}
	}
}

// errUndo drops what a case has done.
var errUndo = errors.New("storetest: undo")

func manyPages(t *testing.T, h Harness) {
	engine := start(t, h)
	const rows = 2000
	filler := bytes.Repeat([]byte("x"), 1000)
	for first := 0; first < rows; first += 500 {
		update(t, engine, func(w store.Writer) error {
			for i := first; i < first+500; i++ {
				if err := w.Put(alpha, fmt.Appendf(nil, "%06d", i), filler); err != nil {
					return err
				}
			}
			return nil
		})
	}
	count := func(scan scanFunc, from, to string) (n int, err error) {
		err = scan(alpha, []byte(from), []byte(to), func(_, value []byte) bool {
			n += len(value) / len(filler)
			return true
		})
		return n, err
	}
	view(t, engine, func(r store.Reader) error {
		forth, err := count(r.Scan, "000100", "001900")
		back, errBack := count(r.ScanBack, "000100", "001900")
		if forth != 1800 || back != 1800 {
			t.Errorf("%d forth and %d back, want 1800", forth, back)
		}
		return errors.Join(err, errBack)
	})
}

func largeValues(t *testing.T, h Harness) {
	engine := start(t, h)
	value := func(i byte) []byte { return bytes.Repeat([]byte{'a' + i, 0, i}, 1<<20/3+1) }
	for i := range byte(6) {
		update(t, engine, func(w store.Writer) error { return w.Put(alpha, []byte{'k', i}, value(i)) })
	}
	update(t, engine, func(w store.Writer) error { // more than one group commit holds
		var err error
		for i := range byte(6) {
			err = errors.Join(err, w.Put(beta, []byte{'k', i}, value(i)))
		}
		return err
	})
	view(t, engine, func(r store.Reader) error {
		for i := range byte(6) {
			for _, table := range tables() {
				got, err := r.Get(table, []byte{'k', i})
				if err != nil || !bytes.Equal(got, value(i)) {
					t.Errorf("%s %d: %d bytes, %v", table, i, len(got), err)
				}
			}
		}
		return nil
	})
}

// wideGap deletes whole pages in the middle of a table and reads across them,
// first inside the command, then after it.
func wideGap(t *testing.T, h Harness) {
	engine := start(t, h)
	filler := bytes.Repeat([]byte("x"), 500)
	update(t, engine, func(w store.Writer) error {
		var err error
		for i := range 300 {
			err = errors.Join(err, w.Put(alpha, fmt.Appendf(nil, "%03d", i), filler))
		}
		return err
	})
	ends := func(r store.Reader) error {
		var forth, back []string
		err := errors.Join(
			r.Scan(alpha, nil, nil, func(key, _ []byte) bool { forth = append(forth, string(key)); return true }),
			r.ScanBack(alpha, nil, nil, func(key, _ []byte) bool { back = append(back, string(key)); return true }),
		)
		want := []string{"000", "001", "298", "299"}
		if diff := cmp.Diff(want, forth); diff != "" {
			t.Errorf("Scan: %s", diff)
		}
		if diff := cmp.Diff(reversed(want), back); diff != "" {
			t.Errorf("ScanBack: %s", diff)
		}
		return err
	}
	update(t, engine, func(w store.Writer) error {
		var err error
		for i := 2; i < 298; i++ {
			err = errors.Join(err, w.Delete(alpha, fmt.Appendf(nil, "%03d", i)))
		}
		return errors.Join(err, ends(w))
	})
	view(t, engine, ends)
}
