package app_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/thread"
)

// sameContent compares deltas and leaves out what the edge makes of them.
func sameContent() cmp.Option { return cmpopts.IgnoreFields(app.Delta{}, "Made") }

// reader is a client that pulls from its own positions.
type reader struct {
	device
	at       []app.At
	maxBytes int
}

// Deltas that are shared are those that each caller would have read alone, byte
// by byte, whatever happens in between; and callers at the same place share.
func TestPull_SharedIsWhatAloneIsRead(t *testing.T) {
	t.Parallel()
	const seed = 26
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	h := newHarness(t)
	work, held := h.startTask("one")
	from := []app.At{h.cursor(changelog.AccountScope), h.cursor(changelog.ThreadScope(work.Thread))}
	var readers []*reader
	for i := range 8 {
		readers = append(readers, &reader{
			device: h.newDevice(h.account, store.PlatformIOS), at: []app.At{from[0], from[1]}, maxBytes: []int{0, 1, 600}[i%3],
		})
	}
	shared := 0
	for step := range 300 {
		switch random.IntN(4) {
		case 0:
			h.append(held, thread.RoleAgent, thread.Message, step%2 == 0, fmt.Sprint("item ", step))
		case 1:
			h.answer(h.phone, h.ask(held, fmt.Sprint("ask ", step), decision.WriteReversible), "approve")
		case 2:
			gone := h.newDevice(h.account, store.PlatformAndroid)
			h.alterDevice(gone, func(i *store.Installation) { i.State = store.InstallationRevoked })
		}
		r := readers[random.IntN(len(readers))]
		got, err := h.app.Pull(t.Context(), r.Principal, app.Pull{At: r.at, MaxBytes: r.maxBytes})
		check(t, err)
		alone, err := app.New(h.config).Pull(t.Context(), r.Principal, app.Pull{At: r.at, MaxBytes: r.maxBytes})
		check(t, err)
		if diff := cmp.Diff(alone, got, sameContent()); diff != "" {
			t.Fatalf("step %d (-alone +shared):\n%s", step, diff)
		}
		beside := readers[random.IntN(len(readers))]
		other, err := h.app.Pull(t.Context(), beside.Principal, app.Pull{At: r.at, MaxBytes: r.maxBytes})
		check(t, err)
		for i := range got {
			if got[i].Made == other[i].Made {
				shared++
			}
			r.at[i] = app.At{Scope: got[i].Scope, Cursor: got[i].Next, Horizon: got[i].AsOf}
		}
	}
	if shared < 600 {
		t.Errorf("%d of 600 deltas were shared with whoever asked for the same", shared)
	}
}
