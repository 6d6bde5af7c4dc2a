package thread_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/thread"
)

func TestLeave(t *testing.T) {
	t.Parallel()
	s := thread.State{ID: "thr", Head: 7}
	for name, test := range map[string]struct{ anchor, want uint64 }{
		"an item": {3, 3}, "the last": {7, 7}, "beyond the head": {8, 0}, "the end": {0, 0},
	} {
		want := thread.View{Thread: "thr", Anchor: test.want, Decision: "dec", Installation: "ins", Label: "Desk", Time: now}
		if test.want > 0 {
			want.Offset = 250
		}
		got := thread.Leave(s, thread.View{Anchor: test.anchor, Offset: 250, Decision: "dec", Installation: "ins", Label: "Desk"}, now)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
