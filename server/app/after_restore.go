package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/off"
	"github.com/beckon-dev/beckon/sync/task"
)

// settleAtOnce is how many accounts are listed at a time.
const settleAtOnce = 256

// SettleRestore draws the consequences of a restore from a backup in every
// account that was alive in it (R28), each in one commit. What it is
// interrupted by, the next call goes on; what fails in one account does not
// hold up the others, and no verb writes to an account before. It returns in
// how many it had to.
func (a *App) SettleRestore(ctx context.Context) (settled int, err error) {
	last := ""
	for {
		rows, listErr := a.store.AccountsAfter(ctx, last, settleAtOnce)
		if listErr != nil || len(rows) == 0 {
			return settled, errors.Join(err, listErr)
		}
		for _, row := range rows {
			last = row.Key
			open := false
			failed := a.store.View(ctx, row.Key, func(tx *store.Read) error {
				open = tx.Unsettled()
				return nil
			})
			if failed == nil && open {
				settled++
				failed = a.update(ctx, row.Key, func(*store.Tx) error { return nil })
			}
			err = errors.Join(err, failed)
		}
		if ctx.Err() != nil {
			return settled, errors.Join(err, ctx.Err())
		}
	}
}

// aftermath counts what a restore did in one account, for the person.
type aftermath struct {
	held, uncertain, void, unsaid int
	// host is the task in whose thread the question is shown.
	host task.State
}

// afterRestore is all that a restore means for one account. Whatever the backup
// does not know may have happened: so nothing is done again, nobody is called
// again, and nothing that was taken away comes back.
func (a *App) afterRestore(tx *store.Tx) error {
	epoch := a.store.EpochState()
	tx.Settle()
	if err := tx.AuditWith(actorServer, "epoch.begun", store.AccountID(tx.Account()), "restore", map[string]string{
		"epoch": hex.EncodeToString(epoch.Epoch[:]), "number": strconv.FormatUint(epoch.Number, 10),
	}); err != nil {
		return err
	}
	if off.Rule("R28") {
		return nil
	}
	if err := a.revokeAgain(tx); err != nil {
		return err
	}
	if err := a.distrustCredentials(tx); err != nil {
		return err
	}
	card, err := a.newID(tx.Read, store.KindDecision)
	if err != nil {
		return err
	}
	after, err := a.holdRestored(tx, card, epoch.Number)
	if err != nil {
		return err
	}
	if err := a.unsay(tx, &after); err != nil {
		return err
	}
	return a.askAfterRestore(tx, card, epoch.CopyTime, after)
}

// distrustCredentials lets devices go on whose tokens are younger than the
// backup, and ends every way in that may have been used since.
func (a *App) distrustCredentials(tx *store.Tx) error {
	devices, err := tx.Installations()
	if err != nil {
		return err
	}
	for _, inst := range devices {
		family, err := tx.Family(inst.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		family.Restored = true
		if err := errors.Join(tx.PutFamily(inst.ID, family), tx.PutUnlock(inst.ID, store.Unlock{})); err != nil {
			return err
		}
	}
	offers, err := tx.Offers()
	if err != nil {
		return err
	}
	for _, o := range offers {
		if !undecided(o) {
			continue
		}
		if err := killOffer(tx, o, "restore"); err != nil {
			return err
		}
	}
	row, err := tx.AccountRow()
	if err != nil || row.Link == "" {
		return ignoreMissing(err)
	}
	if err := tx.DeleteCredential(row.Link); err != nil {
		return err
	}
	row.Link = ""
	return tx.PutAccountRow(row)
}

// holdRestored holds every task that was alive in the backup.
func (a *App) holdRestored(tx *store.Tx, card string, number uint64) (after aftermath, err error) {
	tasks, err := tx.LiveTasks("")
	if err != nil {
		return after, err
	}
	for _, s := range tasks {
		if s, err = a.restoreTask(tx, s, card, number, &after); err != nil {
			return after, err
		}
		if !s.Phase.Terminal() {
			after.held++
			after.host = s
		}
	}
	return after, nil
}

// restoreTask takes back what was permitted, leaves uncertain what was begun or
// could have been, and takes the lease away.
func (a *App) restoreTask(tx *store.Tx, s task.State, card string, number uint64, after *aftermath) (task.State, error) {
	unsettled, err := tx.UnsettledDecisions(s.ID)
	if err != nil {
		return s, err
	}
	for _, d := range unsettled {
		if err := a.restoreDecision(tx, d, after); err != nil {
			return s, err
		}
	}
	effects, err := tx.EffectsAtWork(s.ID)
	if err != nil {
		return s, err
	}
	for _, e := range effects {
		if _, _, err := a.stepEffect(tx, e, effect.Restore{Skip: skipped(number)}, actorServer); err != nil {
			return s, err
		}
		after.uncertain++
	}
	if s, err = tx.Task(s.ID); err != nil {
		return s, err
	}
	open, err := ownQuestions(tx.Read, s.ID)
	if err != nil {
		return s, err
	}
	pending := make([]string, len(open))
	for i, d := range open {
		pending[i] = d.ID
	}
	unacked, err := a.unacked(tx.Read, s.ID, task.Wait{Mode: task.Any, Decisions: pending})
	if err != nil {
		return s, err
	}
	return a.stepTask(tx, s, task.Restore{
		Card: card, By: actorServer, Reason: "The server was restored from a backup.", Pending: pending, Unacked: unacked,
	})
}

// generations is how many one history of an effect is thought to have at most.
const generations = 1024

// skipped is a generation that no earlier history of the store has reached.
func skipped(number uint64) uint32 {
	return uint32(min((number-1)*generations, math.MaxUint32/2))
}

// restoreDecision takes back approvals that were not used, as far as the backup
// knows, and forgets calls that came due since it was taken. An earlier question
// of this kind gives way to the new one.
func (a *App) restoreDecision(tx *store.Tx, d decision.State, after *aftermath) error {
	if d.Kind == decision.AfterRestore {
		_, err := a.stepDecision(tx, d, decision.Close{To: decision.Superseded, Reason: "The server was restored once more."}, actorServer)
		return err
	}
	d, err := a.stepDecision(tx, d, decision.Restore{}, actorServer)
	if err != nil || d.Status == decision.Pending {
		return err
	}
	if _, err := a.stepDecision(tx, d, decision.VoidGrants{}, actorServer); err != nil {
		return err
	}
	after.void++
	s, err := tx.Task(d.Task)
	if err == nil {
		_, err = a.signal(tx, s, task.Signal{Kind: task.ApprovalRevoked, Decision: d.ID})
	}
	return err
}

// unsay ends the calls that have not gone out, as far as the backup knows: they
// may have, and what is still true of them is said once, by the question.
func (a *App) unsay(tx *store.Tx, after *aftermath) error {
	rows, err := tx.Deliveries()
	if err != nil {
		return err
	}
	for _, d := range rows {
		switch d.Kind {
		case push.DecisionRequired, push.ResultReady, push.Test:
		default:
			continue // which take back, and never ring
		}
		for _, c := range []outbox.Command{outbox.Reap{Orphaned: true}, outbox.Supersede{Reason: outbox.ReasonRestored}} {
			if d, _, err = outbox.Step(d, c, tx.Now()); err != nil {
				return err
			}
		}
		if d.Reason != outbox.ReasonRestored {
			continue
		}
		if err := tx.UpdateDelivery(d); err != nil {
			return err
		}
		after.unsaid++
		if after.host.ID == "" && d.Subject.Task != "" {
			if after.host, err = tx.Task(d.Subject.Task); ignoreMissing(err) != nil {
				return err
			}
		}
	}
	return nil
}

// askAfterRestore asks, once for the account, whether the work may go on.
func (a *App) askAfterRestore(tx *store.Tx, card string, copied time.Time, after aftermath) error {
	if after.host.ID == "" {
		return nil // nothing was under way
	}
	_, err := a.askByServer(tx, after.host, decision.State{
		ID: card, Kind: decision.AfterRestore, Title: "The server was restored from a backup",
		About: store.AccountID(tx.Account()),
		Items: []decision.Item{{ID: "restored", Question: afterText(copied, after)}},
	})
	return err
}

func afterText(copied time.Time, after aftermath) string {
	var text strings.Builder
	text.WriteString("What happened since the backup was taken")
	if !copied.IsZero() {
		fmt.Fprintf(&text, ", at %s,", copied.UTC().Format("2006-01-02 15:04 UTC"))
	}
	text.WriteString(" is lost: answers, messages and results of that time are not here.")
	for _, line := range []struct {
		n         int
		one, many string
	}{
		{after.held, "1 task is held until you say that it may go on.", "%d tasks are held until you say that they may go on."},
		{after.uncertain, "Nobody knows whether 1 action was done, which is asked apart.", "Nobody knows whether %d actions were done, each of which is asked apart."},
		{after.void, "1 approval that was not used is taken back.", "%d approvals that were not used are taken back."},
		{after.unsaid, "1 call that waited is not made any more.", "%d calls that waited are not made any more."},
	} {
		switch line.n {
		case 0:
		case 1:
			text.WriteString("\n" + line.one)
		default:
			fmt.Fprintf(&text, "\n"+line.many, line.n)
		}
	}
	return text.String()
}

// settleAfterRestore does what the person chose, for every task that the
// question holds. What is uncertain goes on to hold its task.
func (a *App) settleAfterRestore(tx *store.Tx, d decision.State) error {
	exit, _ := d.Exit()
	if exit == "" {
		return nil
	}
	tasks, err := tx.LiveTasks("")
	if err != nil {
		return err
	}
	for _, s := range tasks {
		if s.RestoreCard != d.ID {
			continue
		}
		if exit == decision.ExitStop {
			_, err = a.stepTask(tx, s, task.Stop{By: answeredOn(d), Reason: "The server was restored from a backup."})
		} else {
			err = a.goOn(tx, s, d.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *App) goOn(tx *store.Tx, s task.State, card string) error {
	s, err := a.stepTask(tx, s, task.GoOn{Card: card})
	if err != nil {
		return err
	}
	left, err := anyUncertain(tx.Read, s.ID)
	if err != nil || left {
		return err
	}
	_, err = a.stepTask(tx, s, task.Clear{})
	return err
}
