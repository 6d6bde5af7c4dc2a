package sorted_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/store/internal/sorted"
)

func TestRanges(t *testing.T) {
	t.Parallel()
	m := sorted.New()
	for _, key := range []string{"b", "a", "d", "c", "a\x00"} {
		m.Set([]byte(key), []byte(key))
	}
	tests := []struct {
		from, to []byte
		want     []string
	}{
		{nil, nil, []string{"a", "a\x00", "b", "c", "d"}},
		{[]byte("b"), []byte("d"), []string{"b", "c"}},
		{[]byte("aa"), []byte("cc"), []string{"b", "c"}},
		{[]byte("c"), nil, []string{"c", "d"}},
		{nil, []byte("a\x00"), []string{"a"}},
		{nil, []byte{}, nil},
		{[]byte("c"), []byte("b"), nil},
		{[]byte("z"), nil, nil},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%q-%q", test.from, test.to), func(t *testing.T) {
			t.Parallel()
			var up, down []string
			m.Ascend(test.from, test.to, func(key, _ []byte) bool { up = append(up, string(key)); return true })
			m.Descend(test.from, test.to, func(key, _ []byte) bool { down = append([]string{string(key)}, down...); return true })
			if diff := cmp.Diff(test.want, up); diff != "" {
				t.Errorf("up: %s", diff)
			}
			if diff := cmp.Diff(test.want, down); diff != "" {
				t.Errorf("down: %s", diff)
			}
		})
	}
}

func TestCloneIsIndependent(t *testing.T) {
	t.Parallel()
	m := sorted.New()
	for i := range 500 {
		m.Set(fmt.Appendf(nil, "%03d", i), []byte{1})
	}
	clone := m.Clone()
	m.Ascend(nil, nil, func(key, _ []byte) bool {
		clone.Delete(key) // while the other side is walked
		return true
	})
	if m.Len() != 500 || clone.Len() != 0 {
		t.Fatalf("lengths %d and %d, want 500 and 0", m.Len(), clone.Len())
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		got  error
		want error
	}{
		{"good key", sorted.CheckKey("t", make([]byte, sorted.MaxKey)), nil},
		{"no table", sorted.CheckKey("", []byte("k")), sorted.ErrNoTable},
		{"no key", sorted.CheckKey("t", nil), sorted.ErrNoKey},
		{"long key", sorted.CheckKey("t", make([]byte, sorted.MaxKey+1)), sorted.ErrKeyLong},
		{"good value", sorted.CheckValue(make([]byte, sorted.MaxValue)), nil},
		{"no value", sorted.CheckValue([]byte{}), sorted.ErrNoValue},
		{"large value", sorted.CheckValue(make([]byte, sorted.MaxValue+1)), sorted.ErrValueLarge},
	}
	for _, test := range tests {
		if !errors.Is(test.got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, test.got, test.want)
		}
	}
}
