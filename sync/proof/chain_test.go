package proof_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/beckon-dev/beckon/sync/proof"
)

// chain writes n entries as any other program could.
func chain(n int) []string {
	prev := "null"
	var out []string
	for i := range n {
		line := fmt.Sprintf(`{"seq":%d,"prev":%s,"kind":"k%d"}`, i+1, prev, i)
		sum := sha256.Sum256([]byte(line))
		prev = `"` + base64.StdEncoding.EncodeToString(sum[:]) + `"`
		out = append(out, line)
	}
	return out
}

func TestReadChain(t *testing.T) {
	t.Parallel()
	lines := chain(5)
	c, err := proof.ReadChain(strings.NewReader(strings.Join(lines, "\n") + "\n\n"))
	if err != nil || c.Seq != 5 || c.Head != sha256.Sum256([]byte(lines[4])) {
		t.Fatalf("followed to %d %x: %v", c.Seq, c.Head, err)
	}
	if c, err := proof.ReadChain(strings.NewReader("")); err != nil || c != (proof.Chain{}) {
		t.Errorf("nothing: %v %v", c, err)
	}
}

// Whatever is done to a chain, all but cutting its end is seen, and where.
func TestReadChain_Broken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func([]string) []string
		at     uint64 // entries that still hold
	}{
		"one changed":       {func(l []string) []string { l[1] = strings.Replace(l[1], "k1", "kX", 1); return l }, 2},
		"a space more":      {func(l []string) []string { l[1] += " "; return l }, 2},
		"one gone":          {func(l []string) []string { return slices.Delete(l, 2, 3) }, 2},
		"the first gone":    {func(l []string) []string { return l[1:] }, 0},
		"two swapped":       {func(l []string) []string { l[2], l[3] = l[3], l[2]; return l }, 2},
		"one twice":         {func(l []string) []string { return slices.Insert(l, 1, l[1]) }, 2},
		"no entry":          {func(l []string) []string { l[3] = "{"; return l }, 3},
		"a first with prev": {func(l []string) []string { l[0] = strings.Replace(l[0], "null", `"AA=="`, 1); return l }, 0},
		"too long":          {func(l []string) []string { l[4] += strings.Repeat(" ", proof.MaxEntryBytes); return l }, 4},
	} {
		lines := c.change(chain(5))
		got, err := proof.ReadChain(strings.NewReader(strings.Join(lines, "\n")))
		if !errors.Is(err, proof.ErrChain) || got.Seq != c.at {
			t.Errorf("%s: followed to %d, want %d: %v", name, got.Seq, c.at, err)
		}
	}
}

func FuzzReadChain(f *testing.F) {
	f.Add([]byte(strings.Join(chain(3), "\n")))
	f.Add([]byte("\n\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := proof.ReadChain(bytes.NewReader(b))
		if err == nil && c.Seq != uint64(lineCount(b)) {
			t.Errorf("%d entries of %d lines", c.Seq, lineCount(b))
		}
	})
}

func lineCount(b []byte) int {
	n := 0
	for line := range bytes.Lines(b) {
		if len(bytes.TrimRight(line, "\r\n")) > 0 {
			n++
		}
	}
	return n
}
