package beckon

import (
	"bytes"
	"testing"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

func TestBatchOf(t *testing.T) {
	t.Parallel()
	item := func(size int) *v1.ItemDraft {
		return &v1.ItemDraft{Parts: []*v1.Part{{Part: &v1.Part_Output{Output: &v1.Output{Data: bytes.Repeat([]byte{1}, size)}}}}}
	}
	many := func(n, size int) []*v1.ItemDraft {
		items := make([]*v1.ItemDraft, n)
		for i := range items {
			items[i] = item(size)
		}
		return items
	}
	for _, test := range []struct {
		name    string
		n, size int
		want    int
	}{
		{"few", 3, 10, 3},
		{"a hundred", 100, 10, 100},
		{"more", 101, 10, 100},
		{"large", 100, 64 << 10, 15},
		{"one too large for any batch", 2, 2 << 20, 1},
	} {
		if got := batchOf(many(test.n, test.size)); got != test.want {
			t.Errorf("%s: %d of %d", test.name, got, test.n)
		}
	}
}
