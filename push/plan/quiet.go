package plan

import (
	"slices"
	"strconv"
	"time"

	"github.com/beckon-dev/beckon/push"
)

// Sweeping adds withdrawals, or a badge that has fallen to nothing, to the sweep
// that waits at an address, or plans another one for due; nil then is no row to
// write. waits reports whether more can be said by a sweep that was planned.
func Sweeping(account Account, q push.Quiet, add push.SweepBatch, waits bool, a push.Address, due, now time.Time) (push.Quiet, *push.Delivery) {
	var planned *push.Delivery
	q.Sweeps = slices.Clone(q.Sweeps)
	if !waits || len(q.Sweeps) == 0 {
		d := silent(account, push.Sweep, a, due, now)
		planned, q.Sweeps = &d, append(q.Sweeps, push.SweepBatch{Row: d.ID})
	}
	last := &q.Sweeps[len(q.Sweeps)-1]
	last.Zero = last.Zero || add.Zero
	all := slices.Concat(last.Withdrawals, add.Withdrawals)
	last.Withdrawals = all[max(0, len(all)-push.MaxBatch):]
	return q, planned
}

// Recount is the row that carries nothing but the number.
func Recount(account Account, a push.Address, due, now time.Time) push.Delivery {
	return silent(account, push.BadgeOnly, a, due, now)
}

// Counting is who has to be told of a number that fell. The device that made it
// fall counts by its own sync, told are those to which the same change sends an
// alert's withdrawal, with the number. Where the number is 0 only the app may
// set it: Apple's own 0 wipes the screen.
func Counting(addresses []push.Address, by string, told map[string]bool) []push.Address {
	return slices.DeleteFunc(slices.Clone(addresses), func(a push.Address) bool {
		return a.State == push.AddressDead || a.State == push.AddressDenied || told[a.ID] || by != "" && a.Installation == by
	})
}

// silent is a row about no subject. Its name is the moment it was planned at.
func silent(account Account, kind push.Kind, a push.Address, due, now time.Time) push.Delivery {
	intent := push.Intent{
		ID:   push.IntentID(account.Route, kind, strconv.FormatInt(now.UnixMicro(), 10), 0),
		Kind: kind, CreatedAt: now, ExpiresAt: now.Add(WithdrawTTL),
	}
	d := row(account, intent, a)
	d.DueAt, d.CollapseID = due, ""
	return d
}
