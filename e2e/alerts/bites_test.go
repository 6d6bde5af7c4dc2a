package alerts_test

import (
	"slices"
	"testing"

	"github.com/beckon-dev/beckon/e2e/alerts"
	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

// bites are faults, each with the rules that have to notice it.
func bites() map[string]struct {
	mutate func() alerts.Mutation
	rules  []string
} {
	type bite = struct {
		mutate func() alerts.Mutation
		rules  []string
	}
	return map[string]bite{
		"what takes an alert back is not sent":        {withdrawalDropped, []string{"R22", "R21"}},
		"an alert counts as sent and is not":          {alertDropped, []string{"R21"}},
		"the badge is one too high":                   {badgeOff, []string{"R26"}},
		"a resend has another identity":               {newIdentity, []string{"R21"}},
		"whoever is there is not asked":               {silenced, []string{"R21"}},
		"an answered question rings":                  {lateAlert, []string{"R22"}},
		"a phone shows what is for another account":   {tagUnchecked, []string{"B14", "R26"}},
		"a phone keeps what was taken back elsewhere": {deaf, []string{"R22"}},
		"a result calls though it says nothing":       {needless, []string{"R20", "R21", "R22"}},
	}
}

// TestAlerts_BitesFaults: an oracle that never finds anything is worth nothing.
// Each fault is noticed within a few stories; without one, none of them is.
func TestAlerts_BitesFaults(t *testing.T) {
	const stories = 40
	rig := start(t)
	for name, b := range bites() {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= stories; seed++ {
				_, findings, err := tell(t, rig, alerts.Tell(seed), b.mutate)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if len(findings) == 0 {
					continue
				}
				if !slices.Contains(b.rules, findings[0].Rule) {
					t.Errorf("seed %d: noticed as %v, want one of %q", seed, findings[0], b.rules)
				}
				t.Logf("noticed in story %d: %v", seed, findings[0])
				return
			}
			t.Errorf("not noticed in %d stories", stories)
		})
	}
}

// calls tells alerts from what derives from them.
func calls(row push.Delivery) bool {
	return row.Kind == push.DecisionRequired || row.Kind == push.ResultReady
}

func withdrawalDropped() alerts.Mutation {
	return alerts.Mutation{Send: func(row push.Delivery, m push.Message, send func(push.Message) push.Verdict) push.Verdict {
		if row.Kind == push.Withdraw {
			return push.Verdict{Class: push.OK}
		}
		return send(m)
	}}
}

// alertDropped loses every third.
func alertDropped() alerts.Mutation {
	n := 0
	return alerts.Mutation{Send: func(row push.Delivery, m push.Message, send func(push.Message) push.Verdict) push.Verdict {
		if n++; calls(row) && n%3 == 0 {
			return push.Verdict{Class: push.OK}
		}
		return send(m)
	}}
}

func badgeOff() alerts.Mutation {
	return alerts.Mutation{Send: func(_ push.Delivery, m push.Message, send func(push.Message) push.Verdict) push.Verdict {
		m.Payload.Badge.Count++
		return send(m)
	}}
}

func newIdentity() alerts.Mutation {
	tries := map[string]int{}
	return alerts.Mutation{Send: func(row push.Delivery, m push.Message, send func(push.Message) push.Verdict) push.Verdict {
		if tries[row.ID]++; tries[row.ID] > 1 && calls(row) {
			m.CollapseID = "again" + m.CollapseID[:20]
		}
		return send(m)
	}}
}

func silenced() alerts.Mutation {
	return alerts.Mutation{Silence: func(row push.Delivery) bool { return !row.HeldUntil.IsZero() }}
}

// lateAlert sends the question again in the place of what takes it back.
func lateAlert() alerts.Mutation {
	asked := map[string]push.Message{}
	return alerts.Mutation{Send: func(row push.Delivery, m push.Message, send func(push.Message) push.Verdict) push.Verdict {
		if calls(row) {
			asked[row.Key()] = m
		} else if old, ok := asked[row.Key()]; ok && row.Kind == push.Withdraw {
			old.Address, old.Payload.Badge = m.Address, m.Payload.Badge
			return send(old)
		}
		return send(m)
	}}
}

// tagUnchecked is an app that takes every push for its own.
func tagUnchecked() alerts.Mutation {
	return alerts.Mutation{Receive: func(a *phone.App, n device.Notification) (device.Notification, bool) {
		return alerts.Retag(n, a.State().AccountTag), true
	}}
}

// deaf is an app that does nothing about what takes an alert back.
func deaf() alerts.Mutation {
	return alerts.Mutation{Receive: func(_ *phone.App, n device.Notification) (device.Notification, bool) {
		return n, n.Data == nil || n.Data["title"] != ""
	}}
}

// needless rings for a task that no story knows.
func needless() alerts.Mutation {
	return alerts.Mutation{Send: func(row push.Delivery, m push.Message, send func(push.Message) push.Verdict) push.Verdict {
		if row.Kind == push.ResultReady {
			m.Payload.Task, m.CollapseID = "tsk_unheard_of", "unheard of"
		}
		return send(m)
	}}
}
