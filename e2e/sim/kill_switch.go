package sim

import (
	"fmt"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/task"
)

// setKillSwitch stops every agent from some device, or lets them work again,
// for which one of the devices is good.
func (w *world) setKillSwitch() {
	on, by, key := !w.model.killed, pick(w, w.devices), w.name("switch")
	w.attempt(call{
		name: "SetKillSwitch", rule: "R16", text: fmt.Sprintf("%s SetKillSwitch %s %v", by.label, key, on),
		do: func() (string, error) {
			r, err := w.app.SetKillSwitch(w.ctx, by.Principal, app.SetKillSwitch{Key: key, On: on})
			return fmt.Sprintf("ok %v", r.Settings.KillSwitch.On()), err
		},
		judge: func() string {
			return w.onceOnly(by.Installation, "SetKillSwitch "+key, "", func() (string, bool) {
				if !on && by != w.devices[0] {
					return "STEP_UP", false
				}
				w.model.killed = on
				return fmt.Sprintf("ok %v", on), true
			})
		},
	})
}

// stopped is what an agent meets that calls to change something: a refusal
// while the switch is on.
func (m *model) stopped(judge func() string) func() string {
	return func() string {
		if m.killed {
			return "KILL_SWITCH"
		}
		return judge()
	}
}

// stopWrapped is what the switch does to a wrapped command that is given back
// or lost: nobody could go on with it.
func (m *model) stopWrapped(t *mTask) {
	if m.killed && t.max == 1 && t.phase == task.Running {
		t.stop, t.paused = true, false
	}
}
