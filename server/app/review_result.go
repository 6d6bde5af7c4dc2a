package app

import (
	"errors"
	"fmt"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// reviewID names the question by which the next result of a task is accepted:
// the one that is open, so that a screen that shows an older version is stale,
// or a new one. It is empty where nobody has to accept.
func (a *App) reviewID(tx *store.Read, s task.State) (string, error) {
	switch {
	case !s.Review:
		return "", nil
	case s.Offer != "":
		return s.Offer, nil
	default:
		return a.newID(tx, store.KindDecision)
	}
}

// offerResult asks the person whether a result is what was wanted, and shows it
// in the thread.
func (a *App) offerResult(tx *store.Tx, s task.State) error {
	th, err := tx.Thread(s.Thread)
	if err != nil {
		return err
	}
	it := thread.Item{Task: s.ID, Role: thread.RoleAgent, Kind: thread.Result, Parts: resultParts(s.Result)}
	if _, err := a.appendItem(tx, &th, it); err != nil {
		return err
	}
	if err := tx.PutThread(th, true); err != nil {
		return err
	}
	card := decision.State{
		ID: s.Offer, Kind: decision.ReviewResult, Title: "Is this result right?", About: s.ID, AboutVersion: s.OfferVersion,
		Items: []decision.Item{{ID: "result", Question: offerText(s)}},
	}
	open, err := tx.Decision(s.Offer)
	if errors.Is(err, store.ErrNotFound) {
		_, err = a.askByServer(tx, s, card)
		return err
	}
	if err != nil {
		return err
	}
	return a.amendByServer(tx, open, card)
}

// offerText names the version, so that the digest of the card does.
func offerText(s task.State) string {
	text := "Done."
	if s.Result != nil {
		text = s.Result.Summary
	}
	return fmt.Sprintf("%s\n(version %d)", text, s.OfferVersion)
}

// settleReview ends the task with an accepted result, or tells it what is
// missing. A result that was offered anew meanwhile is another revision of the
// card, so an answer is always about the newest.
func (a *App) settleReview(tx *store.Tx, d decision.State) error {
	s, err := tx.Task(d.Task)
	if err != nil || s.Offer != d.ID {
		return err
	}
	switch exit, text := d.Exit(); exit {
	case decision.ExitAccept:
		_, err = a.stepTask(tx, s, task.Accept{})
	case decision.ExitSendBack:
		if s, err = a.stepTask(tx, s, task.SendBack{}); err != nil {
			return err
		}
		_, err = a.signal(tx, s, task.Signal{Kind: task.ResultSentBack, Text: text})
	}
	return err
}
