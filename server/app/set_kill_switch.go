package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// SetKillSwitch stops every agent of the account, or lets them work again.
type SetKillSwitch struct {
	Key string
	On  bool
}

// SetKillSwitch turns the switch (R16). On: claims find nothing, workers hear a
// stop, and what agents call to change something is refused, except to give a
// task back or to end it; nothing ends by the switch itself, so that work can go
// on when it is off again. Any device may turn it on; off takes a full device
// whose person is present. A switch that stands so already stays as it is.
// Errors: *StepUpError, ErrKeyReused, ErrWrongPrincipal, ErrRevoked.
func (a *App) SetKillSwitch(ctx context.Context, p policy.Principal, c SetKillSwitch) (SettingsResult, error) {
	var out SettingsResult
	err := a.onAccount(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		var err error
		out, err = once(a, tx, p, "SetKillSwitch", c.Key, c, func() (SettingsResult, error) { return a.setKillSwitch(tx, p, inst, c.On) })
		return err
	})
	return out, err
}

func (a *App) setKillSwitch(tx *store.Tx, p policy.Principal, inst store.Installation, on bool) (SettingsResult, error) {
	var out SettingsResult
	if !on {
		if err := verified(tx.Read, p); err != nil {
			return out, err
		}
	}
	s, err := tx.Settings()
	if err != nil {
		return out, err
	}
	if s.KillSwitch.On() != on {
		word := "off"
		s.KillSwitch = store.KillSwitch{}
		if on {
			word = "on"
			s.KillSwitch = store.KillSwitch{By: inst.ID, Since: tx.Now()}
		}
		if err := tx.PutSettings(s); err != nil {
			return out, err
		}
		if err := tx.Audit(inst.ID, "kill_switch."+word, store.AccountID(tx.Account()), ""); err != nil {
			return out, err
		}
		if err := tellWorkers(tx, on); err != nil {
			return out, err
		}
	}
	out.Settings = s
	out.AsOf, err = a.asOf(tx)
	return out, err
}

// tellWorkers wakes whoever waits in a call for what the switch changes: the
// holders of leases, the agents that wait for answers, and, once it is off,
// workers that look for work.
func tellWorkers(tx *store.Tx, on bool) error {
	tx.Touch(killSwitchTopic(tx.Account()))
	if on {
		return nil
	}
	tasks, err := tx.LiveTasks("")
	for _, s := range tasks {
		if s.Claimable() {
			tx.OfferReady(s)
		}
	}
	return err
}

func killSwitchTopic(account string) string { return "kill-switch:" + account }

// heldBySwitch is the hold that a worker hears: under the switch every task is
// to stop, though none is ended by it.
func heldBySwitch(tx *store.Read, h task.Hold) (task.Hold, error) {
	s, err := tx.Settings()
	if err == nil && s.KillSwitch.On() && h.Kind != task.HoldStop {
		h = task.Hold{
			Kind: task.HoldStop, By: s.KillSwitch.By, Since: s.KillSwitch.Since,
			Reason: "Every agent of the account is stopped.",
		}
	}
	return h, err
}
