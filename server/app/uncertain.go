package app

import (
	"fmt"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/off"
	"github.com/beckon-dev/beckon/sync/task"
)

// leaseGone leaves uncertain what was begun under a lease that is gone, however
// it ended.
func (a *App) leaseGone(tx *store.Tx, s task.State) (task.State, error) {
	effects, err := tx.EffectsAtWork(s.ID)
	if err != nil || len(effects) == 0 {
		return s, err
	}
	for _, e := range effects {
		if _, _, err := a.stepEffect(tx, e, effect.LoseLease{}, actorServer); err != nil {
			return s, err
		}
	}
	return tx.Task(s.ID)
}

// endEffects is what the end of a task means for its effects: what was begun is
// uncertain, and nothing is begun again. What is uncertain outlives the task.
func (a *App) endEffects(tx *store.Tx, id string) error {
	effects, err := tx.EffectsAtWork(id)
	if err != nil {
		return err
	}
	for _, e := range effects {
		if _, _, err := a.stepEffect(tx, e, effect.EndTask{}, actorServer); err != nil {
			return err
		}
	}
	return nil
}

// askWhether asks the person how an uncertain effect went, and holds its task
// until that is known.
func (a *App) askWhether(tx *store.Tx, e effect.State) (effect.State, error) {
	s, err := tx.Task(e.Task)
	if err != nil {
		return e, err
	}
	d, err := a.askByServer(tx, s, uncertainCard(e))
	if err != nil {
		return e, err
	}
	e.Card = d.ID
	if err := tx.PutEffect(e); err != nil || s.Phase.Terminal() || off.Rule("R15") {
		return e, err
	}
	if s, err = a.stepTask(tx, s, task.Review{By: actorServer, Reason: "Nobody knows whether something was done."}); err != nil {
		return e, err
	}
	_, err = a.signal(tx, s, task.Signal{Kind: task.EffectUncertain, Effect: e.ID})
	return e, err
}

// uncertainCard shows the action as it was approved, with the ways out that
// there are.
func uncertainCard(e effect.State) decision.State {
	class := decision.Class(e.Class)
	options := slices.DeleteFunc(decision.Exits(decision.ResolveUncertain), func(o decision.Option) bool {
		return !slices.Contains(e.Exits(), exitOf(o.ID))
	})
	return decision.State{
		Kind: decision.ResolveUncertain, Title: "Did this happen?", About: e.ID, AboutVersion: e.Generation,
		Items: []decision.Item{{
			ID:       "effect",
			Question: uncertainText(e),
			Action: &decision.Action{
				App: e.Action.App, Connection: e.Action.Connection, Operation: e.Action.Operation,
				ArgsJSON: e.Action.ArgsJSON, TargetJSON: e.Action.TargetJSON, Class: &class,
			},
			Options: options,
		}},
	}
}

func uncertainText(e effect.State) string {
	if e.BeginTime.IsZero() {
		return "It may have been done before the server was restored. Please look, and say what is true."
	}
	return fmt.Sprintf("It was permitted at %s, and the worker was gone before it said how it went. "+
		"It may have been done or not, and is not done again by itself. Please look, and say what is true.",
		e.BeginTime.Format(time.RFC1123))
}

// exitOf is what an option of the card stands for; 0 for none.
func exitOf(option string) effect.Exit {
	switch option {
	case decision.ExitHappened:
		return effect.Happened
	case decision.ExitDoIt:
		return effect.DoIt
	case decision.ExitSkip:
		return effect.Skip
	case decision.ExitStop:
		return effect.StopTask
	default:
		return 0
	}
}

// settleUncertain does what the person chose. A card that was withdrawn has
// nothing left to settle.
func (a *App) settleUncertain(tx *store.Tx, d decision.State) error {
	option, _ := d.Exit()
	exit := exitOf(option)
	if d.Status != decision.Resolved || exit == 0 {
		return nil
	}
	e, err := tx.Effect(d.About)
	if err != nil {
		return err
	}
	by := d.Answer.Installation
	if e, _, err = a.stepEffect(tx, e, effect.Resolve{Exit: exit, By: by, Until: tx.Now().Add(decision.LifeOf(d.Class))}, by); err != nil {
		return err
	}
	if exit != effect.StopTask {
		return nil
	}
	s, err := tx.Task(e.Task)
	if err == nil {
		_, err = a.stepTask(tx, s, task.Stop{By: by, Reason: "It was not known whether something was done."})
	}
	return err
}

// noLongerUncertain withdraws the card that nobody has answered, tells the task,
// and lets it go on once nothing of it is uncertain.
func (a *App) noLongerUncertain(tx *store.Tx, e effect.State) error {
	d, err := tx.Decision(e.Card)
	if err != nil {
		return err
	}
	if _, err := a.stepDecision(tx, d, decision.Close{To: decision.Withdrawn, Reason: "It is known now how it went."}, actorServer); err != nil {
		return err
	}
	s, err := tx.Task(e.Task)
	if err != nil || s.Phase.Terminal() {
		return err
	}
	if s, err = a.signal(tx, s, task.Signal{Kind: task.EffectSettled, Effect: e.ID}); err != nil {
		return err
	}
	left, err := anyUncertain(tx.Read, s.ID)
	if err != nil || left || e.Exit == effect.StopTask {
		return err // what is to end is not offered to workers before
	}
	_, err = a.stepTask(tx, s, task.Clear{})
	return err
}

// anyUncertain reports whether anything of a task is uncertain.
func anyUncertain(tx *store.Read, id string) (bool, error) {
	effects, err := tx.EffectsAtWork(id)
	return slices.ContainsFunc(effects, func(e effect.State) bool { return e.Status == effect.Uncertain }), err
}

// askWhetherAgain changes the card of an effect of which other things may be
// true by now: whoever saw the old one has to look again.
func (a *App) askWhetherAgain(tx *store.Tx, e effect.State) error {
	d, err := tx.Decision(e.Card)
	if err == nil {
		err = a.amendByServer(tx, d, uncertainCard(e))
	}
	return err
}
