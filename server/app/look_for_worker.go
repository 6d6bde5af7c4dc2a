package app

import (
	"fmt"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// patience is how long a claimable task may be without a worker.
func (a *App) patience() task.Patience {
	return task.Patience{Show: a.limits.NoWorkerShow, Ask: a.limits.NoWorkerAsk, Again: a.limits.NoWorkerAgain}
}

// lookForWorker looks whether somebody is there for a claimable task, tells
// people if nobody is, and asks the person after a longer while.
func (a *App) lookForWorker(tx *store.Tx, id string) error {
	s, err := tx.Task(id)
	if err != nil {
		return err
	}
	card, err := a.newID(tx.Read, store.KindDecision)
	if err != nil {
		return err
	}
	name := "its agent"
	if link, err := tx.Link(s.Agent); err == nil {
		name = link.Name
	}
	next, err := a.stepTask(tx, s, task.Look{
		Seen: a.workers.seen(s.Agent, s.Labels, tx.Now()), Started: a.started.UTC(), For: s.Wanted(name),
		Card: card, Patience: a.patience(),
	})
	if err != nil {
		return err
	}
	if next.NoWorker.Card == s.NoWorker.Card || next.NoWorker.Card == "" {
		return tx.PutTask(next, false)
	}
	_, err = a.askByServer(tx, next, decision.State{
		ID: next.NoWorker.Card, Kind: decision.Stalled, Title: "Nobody is there to do this", About: s.ID,
		Items: []decision.Item{{ID: "stalled", Question: fmt.Sprintf("%s\nIt waits for %s, and none has been there since %s.",
			s.Title, next.NoWorker.For, next.NoWorker.Since.UTC().Format("2006-01-02 15:04 UTC"))}},
	})
	return err
}

// closeStalled withdraws the question whether to go on waiting, when the task
// waits for nobody any more.
func (a *App) closeStalled(tx *store.Tx, before, after task.State) error {
	card := before.NoWorker.Card
	if card == "" || after.NoWorker.Card == card {
		return nil
	}
	d, err := tx.Decision(card)
	if err != nil {
		return err
	}
	_, err = a.stepDecision(tx, d, decision.Close{To: decision.Withdrawn, Reason: "It does not wait for a worker any more."}, actorServer)
	return err
}

// settleStalled does what the person chose.
func (a *App) settleStalled(tx *store.Tx, d decision.State) error {
	s, err := tx.Task(d.Task)
	if err != nil || s.NoWorker.Card != d.ID {
		return err
	}
	switch exit, _ := d.Exit(); exit {
	case decision.ExitKeepWaiting:
		_, err = a.stepTask(tx, s, task.KeepWaiting{Again: a.limits.NoWorkerAgain})
	case decision.ExitStop:
		_, err = a.stepTask(tx, s, task.Stop{By: answeredOn(d), Reason: "Nobody was there to do it."})
	}
	return err
}
