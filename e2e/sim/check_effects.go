package sim

import (
	"slices"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// checkEffects reads every effect of the tasks at hand and judges how it stands
// to its lease, its card, its grant and the hold of its task.
func (l *ledger) checkEffects() {
	l.view(func(tx *store.Read) error {
		for _, d := range l.tasks {
			s, err := tx.Task(d.id)
			if err != nil {
				return err
			}
			all, err := tx.EffectsOf(d.id, "", 100)
			if err != nil {
				return err
			}
			uncertain := false
			for _, e := range all {
				l.visits[Cell{"effect", e.Status.String(), "step"}]++
				uncertain = uncertain || e.Status == effect.Uncertain
				l.checkEffect(tx, s, e)
			}
			if s.Hold.Kind == task.HoldReview && !s.Phase.Terminal() && !uncertain {
				l.failf("R15", "task %s is in review though nothing is uncertain", s.ID)
			}
		}
		return nil
	})
}

func (l *ledger) checkEffect(tx *store.Read, s task.State, e effect.State) {
	if e.Status == effect.Begun && s.Phase != task.Running {
		l.failf("R15", "effect %s is BEGUN in a task that is %s", e.ID, s.Phase)
	}
	if truth := l.ran[attemptOf{e.ID, e.Generation}]; e.Status == effect.Confirmed && !truth || e.Status == effect.Failed && truth {
		l.failf("R15", "effect %s is %s, and the truth is %v", e.ID, e.Status, truth)
	}
	l.checkCard(tx, s, e)
	if e.Grant == "" {
		l.failf("R16", "effect %s of class %d was begun without a grant", e.ID, e.Class)
	}
	d, err := tx.Decision(e.Decision)
	l.must(err)
	g, _ := d.Grant(e.Grant)
	if g.State != decision.Consumed || g.Effect != e.ID || g.Digest != decision.Digest(e.Digest) || d.Task != e.Task {
		l.failf("R14", "effect %s stands on grant %+v", e.ID, g)
	}
}

// checkCard: what is uncertain has an open question with the exits there are,
// and holds its task; what is not has none.
func (l *ledger) checkCard(tx *store.Read, s task.State, e effect.State) {
	if e.Status != effect.Uncertain {
		if e.Card == "" {
			return
		}
		if d, err := tx.Decision(e.Card); err != nil || d.Status == decision.Pending {
			l.failf("R15", "effect %s is %s and still asked about: %v", e.ID, e.Status, err)
		}
		return
	}
	d, err := tx.Decision(e.Card)
	if err != nil || d.Status != decision.Pending || d.Kind != decision.ResolveUncertain || d.About != e.ID {
		l.failf("R15", "effect %s is uncertain and nobody is asked: %+v, %v", e.ID, d, err)
	}
	if !s.Phase.Terminal() && s.Hold.Kind != task.HoldReview && s.Hold.Kind != task.HoldStop {
		l.failf("R15", "effect %s is uncertain and its task is not held: %s", e.ID, s.Hold.Kind)
	}
	doIt := slices.ContainsFunc(d.Items[0].Options, func(o decision.Option) bool { return o.ID == decision.ExitDoIt })
	if doIt == s.Phase.Terminal() || len(d.Items[0].Options) < 3 {
		l.failf("R7", "in a task that is %s the card of %s has %v", s.Phase, e.ID, d.Items[0].Options)
	}
}

// settleAll ends the story: from wherever everything stands, a person who stops
// the tasks and says what is true settles every effect.
func (l *ledger) settleAll() {
	l.step = l.Steps + 1
	p := l.devices[0].Principal
	l.engine.begin(0, false)
	for _, d := range l.tasks {
		_, err := l.app.StopTask(l.ctx, p, app.StopTask{Key: l.name("end"), Task: d.id})
		l.must(err)
	}
	l.wall = later(l.wall, l.now()).Add(time.Hour)
	_, err := l.app.ProcessDue(l.ctx)
	l.must(err)
	for _, d := range l.tasks {
		var open []effect.State
		l.view(func(tx *store.Read) (err error) {
			open, err = tx.EffectsAtWork(d.id)
			return err
		})
		for _, e := range open {
			if e.Status != effect.Uncertain {
				l.failf("R15", "after the end of its task effect %s is %s", e.ID, e.Status)
			}
			card := l.card(e)
			exit := decision.ExitSkip
			if l.ran[attemptOf{e.ID, e.Generation}] {
				exit = decision.ExitHappened
			}
			for range 20 { // the weather may take an answer along
				if after, _ := l.stored(d, e.Key); after.Status == effect.Uncertain {
					l.answerCard(card, exit)
				}
			}
		}
		l.view(func(tx *store.Read) error {
			left, err := tx.EffectsAtWork(d.id)
			if err == nil && len(left) > 0 {
				l.failf("R15", "effect %s cannot be settled", left[0].ID)
			}
			return err
		})
	}
	l.checkEffects()
}
