package app_test

import (
	"crypto/ecdsa"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

// signer says whose key signs an answer.
type signer string

const (
	unsigned signer = ""
	install  signer = "install"
	approval signer = "approval"
)

func (h *harness) sign(by device, with signer, c app.AnswerDecision) app.AnswerDecision {
	h.t.Helper()
	if with == unsigned {
		c.Proof = nil
		return c
	}
	key := map[signer]*ecdsa.PrivateKey{install: by.key, approval: by.approval}[with]
	var err error
	c.Proof, err = proof.SignAnswer(key, h.tupleOf(by, c))
	check(h.t, err)
	return c
}

// alterDevice changes a device's row.
func (h *harness) alterDevice(d device, change func(*store.Installation)) {
	h.t.Helper()
	h.update(d.Account, func(tx *store.Tx) error {
		inst, err := tx.Installation(d.Installation)
		if err != nil {
			return err
		}
		change(&inst)
		return tx.PutInstallation(inst)
	})
}

// The ladder as an answer meets it: what a person has to show grows with the
// harm, and refusing is always free.
func TestAnswerDecision_Presence(t *testing.T) {
	t.Parallel()
	type given struct {
		class    decision.Class
		with     signer
		option   string
		unlocked bool
	}
	probation := func(i *store.Installation) {
		i.State, i.ProbationEnd = store.InstallationProbation, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	for name, c := range map[string]struct {
		platform store.Platform
		change   func(*store.Installation)
		given    given
		need     decision.Step // 0 is applied
	}{
		"class 0 unsigned":            {store.PlatformIOS, nil, given{0, unsigned, "approve", false}, 0},
		"class 1 unsigned":            {store.PlatformIOS, nil, given{1, unsigned, "approve", true}, 0},
		"class 2 unsigned":            {store.PlatformIOS, nil, given{2, unsigned, "approve", true}, decision.StepProof},
		"class 2 locked":              {store.PlatformIOS, nil, given{2, install, "approve", false}, 0},
		"class 3 locked":              {store.PlatformIOS, nil, given{3, install, "approve", false}, decision.StepUnlocked},
		"class 3 unlocked":            {store.PlatformIOS, nil, given{3, install, "approve", true}, 0},
		"class 4 unlocked":            {store.PlatformIOS, nil, given{4, install, "approve", true}, decision.StepVerified},
		"class 4 by the approval key": {store.PlatformIOS, nil, given{4, approval, "approve", true}, 0},
		"class 4 refused for nothing": {store.PlatformIOS, nil, given{4, unsigned, "deny", false}, 0},
		"class 2 on probation":        {store.PlatformIOS, probation, given{2, install, "approve", false}, decision.StepUnlocked},
		"class 4 on probation":        {store.PlatformIOS, probation, given{4, approval, "approve", true}, decision.StepOtherDevice},
		"class 1 on a terminal":       {store.PlatformTerminal, nil, given{1, install, "approve", true}, 0},
		"class 2 on a terminal":       {store.PlatformTerminal, nil, given{2, install, "approve", true}, decision.StepUnlocked},
		"class 2 unlocked from elsewhere": {store.PlatformTerminal, func(i *store.Installation) {
			i.UnlockUntil = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		}, given{2, install, "approve", false}, 0},
		"class 3 on a terminal": {store.PlatformTerminal, nil, given{3, install, "approve", true}, decision.StepOtherDevice},
		"refused on a terminal": {store.PlatformTerminal, nil, given{3, unsigned, "deny", false}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			by := h.newDevice(h.account, c.platform)
			if c.change != nil {
				h.alterDevice(by, c.change)
			}
			s, held := h.startTask("one")
			d := h.request(held, func(r *app.RequestDecision) { r.Items[0] = action("it", c.given.class) })
			a := reply(t, d, c.given.option)
			a.Unlocked = c.given.unlocked
			w := h.watch(s.Thread)
			r := h.give(by, h.sign(by, c.given.with, a))
			want := decision.Applied
			if c.need != 0 {
				want = decision.NeedsStepUp
				w.expect("a step-up", effects{Commits: 1, Badge: store.Counters{OpenDecisions: 1}})
			}
			if r.Outcome != want || r.Needed != c.need {
				t.Errorf("%v, needs %v; want %v, %v", r.Outcome, r.Needed, want, c.need)
			}
			if want == decision.Applied && c.given.option == "approve" && c.given.class == decision.Irreversible {
				if got := r.Decision.Grants[0].ExpireTime; !got.Equal(h.clock.Now().Add(time.Hour)) {
					t.Errorf("a class 4 grant lives until %v", got)
				}
			}
		})
	}
}

// A signature that is not the caller's is refused whatever it stands under, and
// nothing changes.
func TestAnswerDecision_Forged(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	s, held := h.startTask("one")
	d := h.request(held)
	other := h.request(held, func(c *app.RequestDecision) { c.Name, c.Items = "other", []decision.Item{action("elsewhere", 1)} })
	good := func() app.AnswerDecision { return h.signed(h.phone, d, "approve") }
	for name, change := range map[string]func(c *app.AnswerDecision){
		"random":           func(c *app.AnswerDecision) { c.Proof = make([]byte, 64) },
		"too short":        func(c *app.AnswerDecision) { c.Proof = c.Proof[:63] },
		"one bit":          func(c *app.AnswerDecision) { c.Proof[40] ^= 1 },
		"another device":   func(c *app.AnswerDecision) { *c = h.signed(tablet, d, "approve") },
		"another question": func(c *app.AnswerDecision) { c.Proof = h.signed(h.phone, other, "approve").Proof },
		"another option":   func(c *app.AnswerDecision) { c.Items[0].Options = []string{"deny"} },
		"another key":      func(c *app.AnswerDecision) { c.Key = "moved" },
		"another view":     func(c *app.AnswerDecision) { c.View[0]++ },
		"no view":          func(c *app.AnswerDecision) { c.View = decision.Digest{} },
		"another revision": func(c *app.AnswerDecision) { c.Revision++ },
		"another digest":   func(c *app.AnswerDecision) { c.Asked[0]++ },
	} {
		w := h.watch(s.Thread)
		c := good()
		change(&c)
		_, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, c)
		sameNamed(t, name, err, app.ErrProof)
		w.expect(name, effects{Badge: store.Counters{OpenDecisions: 2}})
	}
	if r := h.give(h.phone, good()); r.Outcome != decision.Applied {
		t.Errorf("the good one met %v", r.Outcome)
	}
}

func TestAnswerDecision_WhoMayNot(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held)
	stranger := h.newAccount()
	theirs := h.newDevice(stranger, store.PlatformIOS)
	never := d
	never.ID = d.ID[:len(d.ID)-26] + "00000000000000000000000000"
	for name, c := range map[string]struct {
		by   device
		d    decision.State
		want error
	}{
		"another person":          {theirs, d, store.ErrNotFound},
		"question that never was": {h.phone, never, store.ErrNotFound},
		"foreign and never was":   {theirs, never, store.ErrNotFound},
	} {
		_, err := h.app.AnswerDecision(t.Context(), c.by.Principal, h.signed(c.by, c.d, "approve"))
		sameNamed(t, name, err, c.want)
	}
	h.alterDevice(h.phone, func(i *store.Installation) { i.State = store.InstallationRevoked })
	for _, option := range []string{"approve", "deny"} {
		_, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, h.signed(h.phone, d, option))
		sameError(t, err, app.ErrRevoked)
	}
	gone := policy.Principal{Kind: policy.Installation, Account: h.account, Installation: "ins_gone"}
	_, err := h.app.AnswerDecision(t.Context(), gone, reply(t, d, "deny"))
	sameError(t, err, store.ErrNotFound)
	if got := h.decision(d.ID); got.Status != decision.Pending || len(h.signals(s.ID)) != 0 {
		t.Errorf("the question is %v", got.Status)
	}
}

// tap is what a button of a notification sends.
func tap(d decision.State, verb decision.Verb, c app.AnswerDecision) app.AnswerDecision {
	c.Tap = &app.Tap{Verb: verb, Decision: d.ID, Revision: d.Revision, Asked: d.Asked}
	return c
}

// R23: what a button may do.
func TestAnswerDecision_Taps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class  decision.Class
		verb   decision.Verb
		with   signer
		optOut bool
		change func(*harness, *app.AnswerDecision)
		want   decision.Outcome
		need   decision.Step
		err    error
	}{
		"deny, the token alone":    {class: 4, verb: decision.Deny, optOut: true, want: decision.Applied},
		"approve":                  {class: 2, verb: decision.Approve, with: install, want: decision.Applied},
		"approve class 0":          {class: 0, verb: decision.Approve, with: install, want: decision.Applied},
		"approve, the token alone": {class: 0, verb: decision.Approve, want: decision.NeedsStepUp, need: decision.StepProof},
		"approve without opt-in":   {class: 2, verb: decision.Approve, with: install, optOut: true, want: decision.NeedsStepUp, need: decision.StepUnlocked},
		"approve class 3":          {class: 3, verb: decision.Approve, with: install, want: decision.NeedsStepUp, need: decision.StepUnlocked},
		"class 3, approval key":    {class: 3, verb: decision.Approve, with: approval, want: decision.NeedsStepUp, need: decision.StepUnlocked},
		"approve on probation": {class: 1, verb: decision.Approve, with: install, change: func(h *harness, _ *app.AnswerDecision) {
			h.alterDevice(h.phone, func(i *store.Installation) {
				i.State, i.ProbationEnd = store.InstallationProbation, h.clock.Now().Add(time.Hour)
			})
		}, want: decision.NeedsStepUp, need: decision.StepUnlocked},
		"a yes signed for a deny": {class: 2, verb: decision.Deny, change: func(h *harness, c *app.AnswerDecision) {
			*c = h.sign(h.phone, install, *c) // over approve
		}, err: app.ErrProof},
		"a verb nobody made":  {class: 2, verb: "snooze", with: install, err: app.ErrTapSpent},
		"no verb":             {class: 0, verb: "", with: install, err: app.ErrTapSpent},
		"of another decision": {class: 2, verb: decision.Deny, change: func(_ *harness, c *app.AnswerDecision) { c.Tap.Decision = "dec_other" }, err: app.ErrTapSpent},
		"of an older card":    {class: 2, verb: decision.Deny, change: func(_ *harness, c *app.AnswerDecision) { c.Tap.Revision = 9 }, want: decision.Stale},
		"of another card":     {class: 2, verb: decision.Deny, change: func(_ *harness, c *app.AnswerDecision) { c.Tap.Asked[3]++ }, want: decision.Stale},
		"another surface": {class: 3, verb: decision.Approve, with: install, change: func(_ *harness, c *app.AnswerDecision) {
			c.Surface = decision.SurfaceApp // the token says where it is
		}, want: decision.NeedsStepUp, need: decision.StepUnlocked},
		"revoked": {class: 2, verb: decision.Deny, change: func(h *harness, _ *app.AnswerDecision) {
			h.alterDevice(h.phone, func(i *store.Installation) { i.State = store.InstallationRevoked })
		}, err: app.ErrRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.link(func(l *store.AgentLink) { l.LockScreen = !c.optOut })
			_, held := h.startTask("one")
			d := h.request(held, func(r *app.RequestDecision) { r.Items[0] = action("it", c.class) })
			a := h.sign(h.phone, c.with, reply(t, d, "approve"))
			a = tap(d, c.verb, a)
			if c.change != nil {
				c.change(h, &a)
			}
			r, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, a)
			sameError(t, err, c.err)
			if err == nil && (r.Outcome != c.want || r.Needed != c.need) {
				t.Errorf("%v, needs %v; want %v, %v", r.Outcome, r.Needed, c.want, c.need)
			}
			if got := h.decision(d.ID); (got.Status == decision.Resolved) != (c.want == decision.Applied) {
				t.Errorf("the question is %v", got.Status)
			} else if got.Answer != nil && got.Answer.Surface != decision.SurfaceNotification {
				t.Errorf("answered on %v", got.Answer.Surface)
			}
			if c.want == decision.Applied {
				// Replayed it changes nothing, and a bare deny cannot turn a yes.
				if again := h.give(h.phone, a); again.Outcome != decision.Same {
					t.Errorf("replayed: %v", again.Outcome)
				}
				if deny := h.give(h.phone, tap(d, decision.Deny, reply(t, d, "deny"))); c.verb == decision.Approve && deny.Outcome != decision.Conflict {
					t.Errorf("a deny after a yes met %v", deny.Outcome)
				}
			}
		})
	}
}

// A question that a button does not fit is not answered by one.
func TestAnswerDecision_NoButtonForWords(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	d := h.request(held, func(c *app.RequestDecision) {
		c.Kind, c.Items = decision.Text, []decision.Item{{ID: "it", Question: "How?"}}
	})
	_, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, tap(d, decision.Deny, app.AnswerDecision{Decision: d.ID, Key: "k"}))
	sameError(t, err, app.ErrTapSpent)
}
