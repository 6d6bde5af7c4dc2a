package app_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
)

func (h *harness) judged(d device, at ...app.At) (out []changelog.Reset) {
	h.t.Helper()
	deltas, err := h.app.Pull(h.t.Context(), d.Principal, app.Pull{At: at})
	check(h.t, err)
	for _, delta := range deltas {
		out = append(out, delta.Reset)
	}
	return out
}

func withAlarms(n *atomic.Int64) harnessOption {
	return func(c *app.Config) { c.Alarm = func(app.Alarm) { n.Add(1) } }
}

// R25: a true stamp from ahead of the store means that it was taken back without
// a word. However many devices show one, that is one alarm and one new epoch,
// which resets every older cursor, since nobody knows what was written since;
// and what was alive is held.
func TestAhead_IsOneAlarmAndOneEpoch(t *testing.T) {
	t.Parallel()
	var alarms atomic.Int64
	h := newHarness(t, withAlarms(&alarms))
	old := h.createTask("old")
	copied := h.backupAll()
	behind := h.cursor(changelog.AccountScope)
	for i := range 5 {
		h.createTask(fmt.Sprint("lost ", i))
	}
	ahead := h.cursor(changelog.AccountScope)
	h.takeBack(copied)
	h.createTask("since")
	since := h.cursor(changelog.AccountScope)
	if got := h.judged(h.phone, behind, since); got[0] != changelog.NoReset || got[1] != changelog.NoReset || alarms.Load() != 0 {
		t.Fatalf("nobody has shown anything: %v, %d alarms", got, alarms.Load())
	}
	number := h.store.EpochNumber()
	var devices sync.WaitGroup
	for range 50 {
		devices.Go(func() {
			if _, err := h.app.Pull(context.Background(), h.phone.Principal, app.Pull{At: []app.At{ahead}}); err != nil {
				t.Error(err)
			}
		})
	}
	devices.Wait()
	if alarms.Load() != 1 || h.store.EpochNumber() != number+1 {
		t.Errorf("%d alarms, epoch %d after %d", alarms.Load(), h.store.EpochNumber(), number)
	}
	for name, at := range map[string]app.At{"behind": behind, "since": since, "ahead": ahead} {
		if got := h.judged(h.phone, at); got[0] != changelog.UnknownEpoch {
			t.Errorf("%s: reset %d", name, got[0])
		}
	}
	if got := h.judged(h.phone, h.cursor(changelog.AccountScope)); got[0] != changelog.NoReset || alarms.Load() != 1 {
		t.Errorf("in the new epoch: reset %d, %d alarms", got[0], alarms.Load())
	}
	if got := h.holds(old.ID); got[0] != "READY+REVIEW" {
		t.Errorf("what was alive is %v", got)
	}
	h.afterCard()
}

// A stream hears of it like a pull.
func TestAhead_OverAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var alarms atomic.Int64
		h := newHarness(t, withAlarms(&alarms))
		copied := h.backupAll()
		h.createTask("lost")
		ahead := h.cursor(changelog.AccountScope)
		h.takeBack(copied)
		w := h.open(h.phone, ahead)
		if check(t, <-w.done); alarms.Load() != 1 {
			t.Errorf("%d alarms", alarms.Load())
		}
	})
}

// After a restore that was told, a stamp of the lost future is no alarm.
func TestAhead_NotAfterARestoreThatWasTold(t *testing.T) {
	t.Parallel()
	var alarms atomic.Int64
	h := newHarness(t, withAlarms(&alarms))
	behind := h.cursor(changelog.AccountScope)
	copied := h.backupAll()
	h.createTask("lost")
	ahead := h.cursor(changelog.AccountScope)
	h.restoreAll(copied)
	if got := h.judged(h.phone, behind, ahead); got[0] != changelog.NoReset || got[1] != changelog.UnknownEpoch {
		t.Errorf("behind and past the fork: %v", got)
	}
	if alarms.Load() != 0 {
		t.Errorf("%d alarms", alarms.Load())
	}
}

// FuzzPull_ResetsNobodyElse: whatever one device sends in place of its stamps,
// changed, cut, swapped or made up, the store stays in its epoch and the cursor
// of another device stays good.
func FuzzPull_ResetsNobodyElse(f *testing.F) {
	f.Add([]byte{}, []byte{}, uint16(0), false)
	f.Add([]byte{1, 'c'}, bytes.Repeat([]byte{0xff}, 50), uint16(30), true)
	f.Add([]byte{0, 0, 0, 0xff}, []byte{0xff}, uint16(29), true)
	f.Fuzz(func(t *testing.T, cursor, horizon []byte, at uint16, mix bool) {
		var alarms atomic.Int64
		h := newHarness(t, withAlarms(&alarms))
		mine, good := h.newDevice(h.account, store.PlatformIOS), h.cursor(changelog.AccountScope)
		number := h.store.EpochNumber()
		sent := app.At{Cursor: cursor, Horizon: horizon}
		if mix { // true stamps with something of it in them
			sent = app.At{Cursor: stir(good.Cursor, cursor, int(at)), Horizon: stir(good.Horizon, horizon, int(at))}
		}
		changed := !bytes.Equal(sent.Cursor, good.Cursor) || !bytes.Equal(sent.Horizon, good.Horizon)
		if got := h.judged(mine, sent); changed && got[0] != changelog.Malformed && got[0] != changelog.Forbidden {
			t.Errorf("reset %d", got[0])
		}
		if got := h.judged(h.phone, good); got[0] != changelog.NoReset || h.store.EpochNumber() != number || alarms.Load() != 0 {
			t.Errorf("the other device: reset %d, epoch %d after %d, %d alarms", got[0], h.store.EpochNumber(), number, alarms.Load())
		}
	})
}

// stir puts bytes over others at a place.
func stir(into, with []byte, at int) []byte {
	out := bytes.Clone(into)
	copy(out[at%(len(out)+1):], with)
	return out
}
