package sim

import (
	"crypto/ecdsa"
	"fmt"
	"maps"
	"slices"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// answerDecision answers in an app: good, stale, unread, unproven, forged or
// broken, first or late, the same as before or another.
func (w *world) answerDecision() {
	d := w.someDecision()
	if d == nil {
		return
	}
	if other := w.someWritten(); other != nil && w.chance(4) {
		d = other
	}
	by := pick(w, w.devices)
	r := reply{d: d, revision: w.shown(d), digest: !w.chance(20), seen: !w.chance(12), device: by.Installation, broken: w.chance(20)}
	for range d.q.acts {
		option := d.q.yes()
		if w.chance(3) {
			option = d.q.no()
		}
		r.options = append(r.options, option)
	}
	if d.q.editable && r.options[0] == d.q.yes() && !w.chance(3) {
		r.options[0] = "edit"
	}
	w.write(&r)
	if d.q.kind == decision.Text {
		r.text = pick(w, []string{"red", "blue"})
	}
	if d.q.ofServer() && r.options[0] == decision.ExitSendBack {
		r.text = pick(w, []string{"shorter", "longer"})
	}
	cmd := w.answerOf(r)
	cmd.Surface, cmd.Interactive, cmd.Unlocked = decision.SurfaceApp, true, !w.chance(6)
	how := pick(w, []string{"key", "key", "key", "approval", "approval", "none", "forged"})
	bad := false
	switch {
	case how == "forged":
		w.sign(by, w.devices[(w.index(by)+1)%len(w.devices)].key, &cmd)
		bad = true
	case how == "approval" && by.approval != nil:
		w.sign(by, by.approval, &cmd)
		r.strength = decision.StepVerified
	case how == "none":
		r.strength = decision.StepCredential
	default:
		w.sign(by, by.key, &cmd)
		r.strength = decision.StepProof
		if cmd.Unlocked && !by.terminal {
			r.strength = decision.StepUnlocked
		}
	}
	r.needed = neededInApp(d.q.class, by)
	w.answerWith(by, r, cmd, bad, how)
}

// neededInApp is how present a person must be who does not refuse.
func neededInApp(class decision.Class, by *device) decision.Step {
	if by.terminal {
		switch {
		case class > decision.WriteReversible:
			return decision.StepOtherDevice
		case class == decision.WriteReversible:
			return decision.StepUnlocked // and nothing unlocks it here
		default:
			return decision.StepProof
		}
	}
	switch class {
	case decision.ReadPublic, decision.ReadPrivate:
		return decision.StepCredential
	case decision.WriteReversible:
		return decision.StepProof
	case decision.Outward:
		return decision.StepUnlocked
	default:
		return decision.StepVerified
	}
}

func (w *world) index(d *device) int {
	for i, other := range w.devices {
		if other == d {
			return i
		}
	}
	return 0
}

// shown is the revision of a card that somebody answers, mostly the newest.
func (w *world) shown(d *mDecision) uint32 {
	switch {
	case !w.chance(20):
		return d.revision
	case d.revision > 1:
		return d.revision - 1
	default:
		return d.revision + 1
	}
}

// answerOf is the reply on the wire.
func (w *world) answerOf(r reply) app.AnswerDecision {
	c := app.AnswerDecision{Decision: r.d.id, Revision: r.revision, Key: w.name("answer")}
	w.view(func(tx *store.Read) error {
		s, err := tx.Decision(r.d.id)
		c.Asked = s.Asked // as its card shows it
		return err
	})
	if !r.digest {
		c.Asked[0] ^= 1
	}
	view, err := proof.ViewDigest(r.d.id, uint64(r.d.revision), nil)
	w.must(err)
	if c.View = decision.Digest(view); !r.seen {
		c.View[0] ^= 1
	}
	for i, o := range r.options {
		if r.broken {
			o = "no such option"
		}
		it := decision.AnswerItem{Item: r.d.q.items()[i].ID, Options: []string{o}}
		if i == 0 {
			it.Text = r.text
			r.put(w, &it)
		}
		c.Items = append(c.Items, it)
	}
	return c
}

// sign proves an answer of a device with a key.
func (w *world) sign(by *device, key *ecdsa.PrivateKey, c *app.AnswerDecision) {
	items := make([]proof.AnswerItem, len(c.Items))
	for i, it := range c.Items {
		items[i] = proof.AnswerItem{
			ItemID: it.Item, OptionIDs: it.Options, Text: it.Text, EditedArgs: proof.Digest(it.Edited), Content: proof.Digest(it.ContentDigest),
		}
	}
	digest, err := proof.AnswerDigest(items)
	w.must(err)
	c.Proof, err = proof.SignAnswer(key, proof.AnswerTuple{
		ServerID: w.app.ServerID(), Account: store.AccountID(w.account), Installation: by.Installation,
		Decision: c.Decision, Revision: uint64(c.Revision), Asked: proof.Digest(c.Asked), View: proof.Digest(c.View),
		Answer: digest, AnswerKey: c.Key,
	})
	w.must(err)
}

func (w *world) answerWith(by *device, r reply, cmd app.AnswerDecision, bad bool, how string) {
	w.attempt(call{
		name: "AnswerDecision", rule: "R10", decision: r.d,
		text: fmt.Sprintf("%s AnswerDecision %s %s %s %s", by.label, r.d.id, r.d.q.name, r.body(), how),
		do: func() (string, error) {
			got, err := w.app.AnswerDecision(w.ctx, by.Principal, cmd)
			text := got.Outcome.String()
			if got.Winner != nil {
				text += " by " + got.Winner.Installation
			}
			return text, err
		},
		judge: func() string {
			if r.written.unreadable {
				return "FIELD " + r.d.q.field() // nobody can tell what was signed
			}
			if bad {
				return "BAD_PROOF"
			}
			answer := w.model.answer(r)
			if r.written.sent != "" {
				w.visits[Cell{"written", r.d.q.name, firstWord(answer)}]++
			}
			return answer
		},
	})
}

// tap presses a button of a notification that some device still shows, however
// old it is.
func (w *world) tap() {
	by := pick(w, w.devices)
	if len(by.tray) == 0 {
		return
	}
	m := pick(w, by.tray)
	if len(m.Payload.Actions) == 0 {
		return
	}
	button := pick(w, m.Payload.Actions)
	grant := w.taps[button.Token]
	d := w.model.decisionOf(grant.Decision)
	r := reply{d: d, revision: grant.Revision, digest: true, seen: true, device: by.Installation, strength: decision.StepProof}
	option := d.q.no()
	if button.Verb == push.Approve {
		option = d.q.yes()
	}
	r.options = []string{option}
	cmd := w.answerOf(r)
	cmd.Surface = decision.SurfaceNotification
	cmd.Tap = &app.Tap{
		Verb: decision.Verb(grant.Verb), Decision: grant.Decision, Revision: grant.Revision, Asked: grant.Asked,
	}
	if button.Verb == push.Deny && w.chance(2) {
		r.strength = decision.StepCredential // the button alone
	} else {
		w.sign(by, by.key, &cmd)
	}
	r.needed = max(neededInApp(d.q.class, by), decision.StepProof)
	if d.q.class > decision.WriteReversible || !w.agentOf(d.task.agent).optedIn {
		r.needed = decision.StepUnlocked
	}
	w.answerWith(by, r, cmd, false, "tap "+string(button.Verb))
}

// stopTask stops a task, or repeats a stop.
func (w *world) stopTask() {
	if len(w.model.tasks) == 0 {
		return
	}
	t, by := w.someTask(), pick(w, w.devices)
	if again := find(w.model.tasks, func(t *mTask) bool { return t.phase == task.Running && t.versions > 0 }); again != nil && w.chance(3) {
		t = again // whose next result nobody will be asked about
	}
	key := fmt.Sprintf("stop%d", w.rand.IntN(12))
	outcomes := map[app.StopOutcome]string{app.Stopped: "stopped", app.Stopping: "stopping", app.AlreadyFinished: "already finished"}
	w.attempt(call{
		name: "StopTask", rule: "R7", task: t, text: fmt.Sprintf("%s StopTask %s %s", by.label, t.id, key),
		do: func() (string, error) {
			r, err := w.app.StopTask(w.ctx, by.Principal, app.StopTask{Key: key, Task: t.id, Reason: "Enough."})
			return outcomes[r.Outcome], err
		},
		judge: func() string {
			return w.onceOnly(by.Installation, "StopTask "+key, t.id, func() (string, bool) { return w.model.stopTask(t), true })
		},
	})
}

// pauseOrResume holds a task or lets it go on, or repeats that.
func (w *world) pauseOrResume() {
	if len(w.model.tasks) == 0 {
		return
	}
	t, by := w.rareTask(), pick(w, w.devices)
	granted := !w.chance(3) // or hardly an approval is taken back in a task that sleeps and is held
	if asleep := find(w.model.tasks, func(t *mTask) bool {
		return t.phase == task.Waiting && !t.paused && (!granted || t.granted())
	}); asleep != nil && !w.chance(3) {
		t = asleep
	}
	name, resume := "PauseTask", w.chance(6)
	if t.paused {
		resume = w.chance(2)
	}
	if resume {
		name = "ResumeTask"
	}
	key := fmt.Sprintf("hold%d", w.rand.IntN(40))
	w.attempt(call{
		name: name, rule: "R1", task: t, text: fmt.Sprintf("%s %s %s %s", by.label, name, t.id, key),
		do: func() (string, error) {
			var r app.HeldResult
			var err error
			if resume {
				r, err = w.app.ResumeTask(w.ctx, by.Principal, app.ResumeTask{Key: key, Task: t.id})
			} else {
				r, err = w.app.PauseTask(w.ctx, by.Principal, app.PauseTask{Key: key, Task: t.id, Reason: "Wait."})
			}
			return "ok " + r.Task.Phase.String() + " " + r.Task.Hold.Kind.String(), err
		},
		judge: func() string {
			return w.onceOnly(by.Installation, name+" "+key, t.id, func() (string, bool) {
				if resume {
					return w.model.resume(t), true
				}
				return w.model.pause(t), true
			})
		},
	})
	if t.phase == task.Waiting && t.paused && t.granted() {
		w.revokeGrant(t) // who stops to think about a task may change their mind
	}
}

// someTask picks a task, mostly one that lives, and at times by its state.
func (w *world) someTask() *mTask {
	if !w.chance(3) {
		return w.rareTask()
	}
	t := pick(w, w.model.tasks)
	for range 2 {
		if !t.live() {
			t = pick(w, w.model.tasks)
		}
	}
	return t
}

// rare picks among the states that things are in, and not among the things, or
// what is rare would hardly ever be met.
func rare[T any](w *world, all []T, state func(T) string) T {
	byState := map[string][]T{}
	for _, one := range all {
		byState[state(one)] = append(byState[state(one)], one)
	}
	return pick(w, byState[pick(w, slices.Sorted(maps.Keys(byState)))])
}

// rareTask picks a task by the state it is in.
func (w *world) rareTask() *mTask {
	return rare(w, w.model.tasks, (*mTask).state)
}

// sendMessage writes to a thread.
func (w *world) sendMessage() {
	if len(w.model.threads) == 0 {
		return
	}
	th, by := pick(w, w.model.threads), pick(w, w.devices)
	if w.chance(2) {
		th = w.rareTask().thread
	}
	key := w.name("message")
	if w.chance(10) {
		key = "message"
	}
	newest := th.last
	if n := len(th.live); n > 0 {
		newest = th.live[n-1]
	}
	w.attempt(call{
		name: "SendMessage", rule: "R8", task: newest, text: fmt.Sprintf("%s SendMessage %s %s", by.label, th.id, key),
		do: func() (string, error) {
			r, err := w.app.SendMessage(w.ctx, by.Principal, app.SendMessage{Key: key, Thread: th.id, Text: "hello " + key})
			return "ok " + r.Task.Phase.String(), err
		},
		judge: func() string {
			return w.onceOnly(by.Installation, "SendMessage "+key, th.id, func() (string, bool) {
				answer, t := w.model.send(th, "hello "+key)
				return answer, t != nil
			})
		},
	})
}

// markRead moves the read mark, sometimes back under a new generation.
func (w *world) markRead() {
	if len(w.model.threads) == 0 {
		return
	}
	th, by := pick(w, w.model.threads), pick(w, w.devices)
	mark := thread.ReadMark{Generation: th.readGen, Position: th.notable}
	switch w.rand.IntN(6) {
	case 0:
		mark = thread.ReadMark{Generation: th.readGen + 1, Position: uint64(w.rand.IntN(3))}
	case 1:
		mark.Position = uint64(w.rand.IntN(20))
	case 2:
		mark.Generation = 0
	}
	w.attempt(call{
		name: "MarkRead", rule: "R24", text: fmt.Sprintf("%s MarkRead %s %d:%d", by.label, th.id, mark.Generation, mark.Position),
		do: func() (string, error) {
			r, err := w.app.MarkRead(w.ctx, by.Principal, th.id, mark)
			return fmt.Sprintf("ok %d %d", r.Mark.Generation, r.Mark.Position), err
		},
		judge: func() string {
			before := th.readPos
			answer := w.model.markRead(th, mark.Generation, mark.Position)
			for _, t := range w.model.tasks {
				if t.thread == th && before < t.endPosition && t.endPosition <= th.readPos {
					t.readBy = by.Installation
				}
			}
			return answer
		},
	})
}
