package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
)

// ledger is a world whose agent does things to the outside. The outside keeps
// count, everybody says what is true as far as they know it, and whoever lost a
// lease does nothing any more: then nothing may happen twice.
type ledger struct {
	*world
	agent  *agent
	tasks  []*doer
	grants []permission
	// gos counts how often GO was said, by effect and generation.
	gos map[attemptOf]int
	// ran is what the outside knows.
	ran map[attemptOf]bool
	// reason is why another generation may begin, by effect.
	reason map[string]string
	killed bool
	// committed: the last call left something behind.
	committed bool
}

// doer is a task with the lease its worker knows of; paused is the person's.
type doer struct {
	id, thread, lease string
	paused            bool
}

type attemptOf struct {
	effect     string
	generation uint32
}

// permission is a grant as the person gave it.
type permission struct {
	id, task string
	action   decision.Action
	revoked  bool
}

// RunEffects drives one seed of effects. The error is a [*RuleError], or that of
// the environment.
func RunEffects(ctx context.Context, cfg Config) (report Report, err error) {
	l := &ledger{world: newWorld(ctx, cfg), gos: map[attemptOf]int{}, ran: map[attemptOf]bool{}, reason: map[string]string{}}
	if err := l.begin(); err != nil {
		return report, err
	}
	l.agent = l.agents[0]
	defer func() {
		if cause := recover(); cause != nil {
			failure, ok := cause.(*RuleError)
			if !ok {
				panic(cause)
			}
			err = failure
		}
		if closing := l.engine.Close(); err == nil {
			err = closing
		}
		report.Trace, report.Visits = l.trace, l.visits
	}()
	for l.step = 1; l.step <= cfg.Steps; l.step++ {
		l.turn()
		l.checkEffects()
	}
	l.settleAll()
	return report, nil
}

// try makes a call in today's weather and tells whether its answer arrived.
func (l *ledger) try(text string, do func() error) (heard bool, err error) {
	crashAt := 0
	if l.chance(12) {
		crashAt = 1
	}
	l.engine.begin(crashAt, l.chance(2))
	err = do()
	died := l.engine.dead
	l.engine.dead, l.committed = false, l.engine.commits > 0
	word := say("ok", err)
	if died {
		word = fmt.Sprintf("the process died, %d commits", l.engine.commits)
		l.must(l.start())
	}
	l.note(text, word)
	l.visits[Cell{answers, firstWord(word), firstWord(text)}]++
	return !died, err
}

func (l *ledger) turn() {
	switch n := l.rand.IntN(100); {
	case n < 8 || len(l.tasks) == 0:
		l.startOne()
	case n < 22:
		l.approve()
	case n < 48:
		l.beginOne()
	case n < 62:
		l.confirmOne()
	case n < 68:
		l.reportOne()
	case n < 78:
		l.resolveOne()
	case n < 86:
		l.worker()
	case n < 92:
		l.persons()
	case n < 94:
		l.restart()
	default:
		l.wall = l.wall.Add(time.Duration(l.rand.IntN(20)) * time.Second)
		_, _ = l.try("ProcessDue", func() error { _, err := l.app.ProcessDue(l.ctx); return err })
	}
}

func (l *ledger) startOne() {
	if len(l.tasks) >= 4 {
		l.tasks = l.tasks[1:]
	}
	d := &doer{}
	cmd := app.CreateTask{Key: l.name("k"), Title: "t", MaxAttempts: 4, Claim: &app.ClaimOptions{ID: l.name("claim")}}
	if l.chance(4) {
		// Some time an effect has begun when nobody wants its task any more.
		cmd.Deadline = l.now().Add(time.Duration(1+l.rand.IntN(60)) * time.Second)
	}
	_, _ = l.try("CreateTask", func() error {
		r, err := l.app.CreateTask(l.ctx, l.agent.Principal, cmd)
		if err == nil {
			d.id, d.thread, d.lease = r.Task.ID, r.Task.Thread, r.Task.Lease.ID
		}
		return err
	})
	if d.id != "" {
		l.tasks = append(l.tasks, d)
	}
}

// held names a task as its worker would.
func (d *doer) held() app.Held { return app.Held{Task: d.id, Lease: d.lease} }

// approve asks for one of a few actions and says yes.
func (l *ledger) approve() {
	d := pick(l.world, l.tasks)
	class := decision.WriteReversible
	act := decision.Action{App: "mail", Operation: "send", ArgsJSON: fmt.Appendf(nil, `{"to":%d}`, l.rand.IntN(3)), Class: &class}
	var asked decision.State
	heard, err := l.try("RequestDecision "+d.id, func() (err error) {
		asked, err = l.app.RequestDecision(l.ctx, l.agent.Principal, app.RequestDecision{
			Held: d.held(), Name: l.name("q"), Kind: decision.ConfirmAction, Title: "May I?",
			Items: []decision.Item{{ID: "it", Action: &act}},
		})
		return err
	})
	if err != nil || !heard {
		return
	}
	if r, ok := l.answerCard(asked, "approve"); ok && len(r.Decision.Grants) == 1 {
		l.grants = append(l.grants, permission{id: r.Decision.Grants[0].ID, task: d.id, action: *r.Decision.Items[0].Action})
	}
}

// answerCard answers on the phone, with its person there.
func (l *ledger) answerCard(d decision.State, option string) (app.AnswerResult, bool) {
	by := l.devices[0]
	view, err := proof.ViewDigest(d.ID, uint64(d.Revision), nil)
	l.must(err)
	cmd := app.AnswerDecision{
		Decision: d.ID, Revision: d.Revision, Asked: d.Asked, View: decision.Digest(view), Key: l.name("a"),
		Items:   []decision.AnswerItem{{Item: d.Items[0].ID, Options: []string{option}}},
		Surface: decision.SurfaceApp, Interactive: true, Unlocked: true,
	}
	l.sign(by, by.key, &cmd)
	var r app.AnswerResult
	heard, err := l.try("AnswerDecision "+d.ID+" "+option, func() (err error) {
		r, err = l.app.AnswerDecision(l.ctx, by.Principal, cmd)
		return err
	})
	return r, err == nil && heard
}

// beginOne asks for GO: by a grant, sometimes a used or a foreign one, and
// sometimes for what was never approved.
func (l *ledger) beginOne() {
	d := pick(l.world, l.tasks)
	c := app.BeginEffect{Held: d.held(), Name: fmt.Sprint("e", l.rand.IntN(3)), Attempt: l.name("attempt")}
	var by *permission
	if n := len(l.grants); n > 0 {
		by = &l.grants[l.rand.IntN(n)]
		for range 6 { // mostly one of this task
			if by.task != d.id {
				by = &l.grants[l.rand.IntN(n)]
			}
		}
		c.Grant = by.id
	}
	changed := by == nil || l.chance(6)
	if changed {
		class := decision.WriteReversible
		c.Action = &decision.Action{App: "mail", Operation: "send", ArgsJSON: []byte(`{"to":"everybody"}`), Class: &class}
	}
	before, _ := l.stored(d, c.Name)
	var r app.BeginResult
	heard, err := l.try(fmt.Sprintf("BeginEffect %s %s %s", d.id, c.Name, c.Grant), func() (err error) {
		r, err = l.app.BeginEffect(l.ctx, l.agent.Principal, c)
		return err
	})
	e, found := l.stored(d, c.Name)
	if !found || e.Attempt != c.Attempt {
		if r.Go {
			l.failf("R14", "GO was said and is not stored")
		}
		return
	}
	l.wentFor(d, by, changed, before, e)
	if err != nil || !heard {
		return // nobody heard GO, so nothing is run
	}
	if !r.Go || string(r.Effect.Action.ArgsJSON) != string(by.action.ArgsJSON) {
		l.failf("R14", "told %v to run %s, approved was %s", r.Go, r.Effect.Action.ArgsJSON, by.action.ArgsJSON)
	}
	if !l.chance(3) { // the others die before
		l.happens(e)
	}
}

// happens is the outside doing it.
func (l *ledger) happens(e effect.State) {
	for g := uint32(1); g < e.Generation; g++ {
		if l.ran[attemptOf{e.ID, g}] {
			l.failf("R15", "effect %s happened in generations %d and %d", e.ID, g, e.Generation)
		}
	}
	l.ran[attemptOf{e.ID, e.Generation}] = true
	l.note("the outside did "+e.Key, "")
}

// wentFor judges a GO.
func (l *ledger) wentFor(d *doer, by *permission, changed bool, before, e effect.State) {
	at := attemptOf{e.ID, e.Generation}
	l.gos[at]++
	switch {
	case l.gos[at] > 1:
		l.failf("R14", "GO was said %d times for generation %d of %s", l.gos[at], e.Generation, e.ID)
	case l.killed || d.paused:
		l.failf("R14", "GO while every agent was stopped (%v) or the task paused (%v)", l.killed, d.paused)
	case changed:
		l.failf("R14", "GO for what was never approved")
	case e.Generation == 1 && (by.revoked || by.task != d.id || e.Grant != by.id):
		l.failf("R14", "GO by grant %+v", *by)
	case proof.Digest(by.action.Digest) != e.Digest:
		l.failf("R14", "GO for another action than the one approved")
	case e.Generation > 1 && l.reason[e.ID] == "":
		l.failf("R15", "GO for generation %d of %s, which was %s, for no reason", e.Generation, e.ID, before.Status)
	case e.Generation > 3 && l.reason[e.ID] == "failure":
		l.failf("R15", "GO for generation %d after failures", e.Generation)
	}
	delete(l.reason, e.ID)
}

// stored reads an effect by its name.
func (l *ledger) stored(d *doer, name string) (e effect.State, found bool) {
	l.view(func(tx *store.Read) (err error) {
		e, found, err = tx.EffectNamed(d.id, name)
		return err
	})
	return e, found
}

// someEffect picks one, if there is one.
func (l *ledger) someEffect(is func(effect.State) bool) (*doer, effect.State, bool) {
	var all []effect.State
	d := pick(l.world, l.tasks)
	l.view(func(tx *store.Read) (err error) {
		all, err = tx.EffectsOf(d.id, "", 100)
		return err
	})
	all = slices.DeleteFunc(all, func(e effect.State) bool { return !is(e) })
	if len(all) == 0 {
		return d, effect.State{}, false
	}
	return d, pick(l.world, all), true
}

func anyEffect(effect.State) bool { return true }

// confirmOne tells the truth about some generation, in time or late.
func (l *ledger) confirmOne() {
	d, e, ok := l.someEffect(anyEffect)
	if !ok {
		return
	}
	c := app.ConfirmEffect{Effect: e.ID, Generation: 1 + uint32(l.rand.IntN(int(e.Generation))), Lease: d.lease}
	if l.chance(4) {
		c.Lease = ""
	}
	c.OK = l.ran[attemptOf{e.ID, c.Generation}]
	_, _ = l.try(fmt.Sprintf("ConfirmEffect %s %d %v", e.ID, c.Generation, c.OK), func() error {
		_, err := l.app.ConfirmEffect(l.ctx, l.agent.Principal, c)
		return err
	})
	after, _ := l.stored(d, e.Key)
	if holds := e.Status == effect.Begun && c.Lease != "" && c.Generation == e.Generation; holds && !c.OK && after.Status == effect.Failed {
		l.reason[e.ID] = "failure"
	}
}

func (l *ledger) reportOne() {
	_, e, ok := l.someEffect(anyEffect)
	if !ok {
		return
	}
	kind := effect.NotFound
	if l.ran[attemptOf{e.ID, e.Generation}] {
		kind = effect.Found
	}
	_, _ = l.try(fmt.Sprintf("ReportEvidence %s %d", e.ID, kind), func() error {
		_, err := l.app.ReportEvidence(l.ctx, l.agent.Principal, app.ReportEvidence{Effect: e.ID, Generation: e.Generation, Kind: kind})
		return err
	})
}

// resolveOne is the person who looked, and says what is true.
func (l *ledger) resolveOne() {
	d, e, ok := l.someEffect(func(e effect.State) bool { return e.Status == effect.Uncertain })
	if !ok {
		return
	}
	l.resolveCard(d, e, pick(l.world, []string{decision.ExitDoIt, decision.ExitDoIt, decision.ExitSkip, decision.ExitStop}))
}

func (l *ledger) resolveCard(d *doer, e effect.State, exit string) {
	if l.ran[attemptOf{e.ID, e.Generation}] && exit != decision.ExitStop {
		exit = decision.ExitHappened
	}
	card := l.card(e)
	if !slices.ContainsFunc(card.Items[0].Options, func(o decision.Option) bool { return o.ID == exit }) {
		exit = decision.ExitSkip
	}
	l.answerCard(card, exit)
	if after, _ := l.stored(d, e.Key); after.Exit == effect.DoIt && after.Open() {
		l.reason[e.ID] = "person"
	}
}

func (l *ledger) card(e effect.State) (d decision.State) {
	l.view(func(tx *store.Read) (err error) {
		d, err = tx.Decision(e.Card)
		return err
	})
	return d
}

// worker is everything by which a lease comes and goes.
func (l *ledger) worker() {
	d := pick(l.world, l.tasks)
	switch l.rand.IntN(6) {
	case 0:
		_, _ = l.try("ReleaseTask", func() error { _, err := l.app.ReleaseTask(l.ctx, l.agent.Principal, d.held()); return err })
	case 1:
		_, _ = l.try("YieldTask", func() error {
			_, err := l.app.YieldTask(l.ctx, l.agent.Principal, app.YieldTask{Held: d.held(), Wait: task.Wait{Until: l.wall.Add(time.Minute)}})
			return err
		})
	case 2:
		if l.chance(4) {
			_, _ = l.try("CompleteTask", func() error {
				_, err := l.app.CompleteTask(l.ctx, l.agent.Principal, app.CompleteTask{Held: d.held()})
				return err
			})
		}
	default:
		_, _ = l.try("ClaimTask "+d.id, func() error {
			c, found, err := l.app.ClaimTask(l.ctx, l.agent.Principal, app.ClaimTask{Claim: app.ClaimOptions{ID: l.name("claim")}, Task: d.id})
			if found && err == nil {
				d.lease = c.Task.Lease.ID
			}
			return err
		})
	}
}

// persons pause, resume, stop, take back, write, and stop everything.
func (l *ledger) persons() {
	d, p := pick(l.world, l.tasks), l.devices[0].Principal
	switch l.rand.IntN(7) {
	case 6:
		// A message wakes a task, and lets nothing happen that is uncertain.
		_, _ = l.try("SendMessage", func() error {
			_, err := l.app.SendMessage(l.ctx, p, app.SendMessage{Key: l.name("m"), Thread: d.thread, Text: "And now?"})
			return err
		})
	case 0, 1:
		if len(l.grants) > 0 {
			g := &l.grants[l.rand.IntN(len(l.grants))]
			var r app.RevokeResult
			heard, err := l.try("RevokeGrant "+g.id, func() (err error) {
				r, err = l.app.RevokeGrant(l.ctx, p, g.id)
				return err
			})
			told := err == nil || !heard && l.committed
			g.revoked = g.revoked || told && r.Outcome == app.GrantRevoked
		}
	case 2, 3:
		heard, err := l.try("PauseTask", func() (err error) {
			if d.paused {
				_, err = l.app.ResumeTask(l.ctx, p, app.ResumeTask{Key: l.name("r"), Task: d.id})
			} else {
				_, err = l.app.PauseTask(l.ctx, p, app.PauseTask{Key: l.name("p"), Task: d.id})
			}
			return err
		})
		if err == nil || !heard && l.committed {
			d.paused = !d.paused
		}
	case 4:
		heard, err := l.try("SetKillSwitch", func() error {
			_, err := l.app.SetKillSwitch(l.ctx, p, app.SetKillSwitch{Key: l.name("k"), On: !l.killed})
			return err
		})
		if err == nil || !heard && l.committed {
			l.killed = !l.killed
		}
	default:
		if l.chance(3) {
			_, _ = l.try("StopTask", func() error {
				_, err := l.app.StopTask(l.ctx, p, app.StopTask{Key: l.name("s"), Task: d.id})
				return err
			})
		}
	}
}
