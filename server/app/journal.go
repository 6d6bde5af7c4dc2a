package app

import (
	"context"
	"errors"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// Journal remembers, outside of the store and its backups, what a restore must
// not bring back.
type Journal interface {
	// Record returns once the entries last. What fails is kept in memory and
	// comes before the next one.
	Record(entries []store.Revocation) error
	// Revoked lists what is taken away in an account, by its last word.
	Revoked(account string) []store.Revocation
}

// noJournal is that of a server whose store nobody backs up.
type noJournal struct{}

func (noJournal) Record([]store.Revocation) error   { return nil }
func (noJournal) Revoked(string) []store.Revocation { return nil }

// CatchUpJournal journals what the store knows to be taken away: the process
// may have died between a commit and the journal, or the journal may be new.
func (a *App) CatchUpJournal(ctx context.Context) error {
	last := ""
	for {
		rows, err := a.store.AccountsAfter(ctx, last, settleAtOnce)
		if err != nil || len(rows) == 0 {
			return err
		}
		var missing []store.Revocation
		for _, row := range rows {
			last = row.Key
			if err := a.store.View(ctx, row.Key, func(tx *store.Read) error {
				known := map[store.Revocation]bool{}
				for _, r := range a.journal.Revoked(row.Key) {
					known[store.Revocation{Kind: r.Kind, ID: r.ID}] = true
				}
				all, err := tx.Revocations()
				for _, r := range all {
					if !known[store.Revocation{Kind: r.Kind, ID: r.ID}] {
						missing = append(missing, r)
					}
				}
				return err
			}); err != nil {
				return err
			}
		}
		if len(missing) > 0 {
			if err := a.journal.Record(missing); err != nil {
				return err
			}
		}
	}
}

// revokeAgain takes away what the journal says was taken away, and the backup
// does not know of.
func (a *App) revokeAgain(tx *store.Tx) error {
	for _, r := range a.journal.Revoked(tx.Account()) {
		var err error
		switch r.Kind {
		case store.RevokedInstallation:
			err = a.revokeDeviceAgain(tx, r.ID)
		case store.RevokedLink:
			err = a.unlinkAgain(tx, r.ID)
		case store.RevokedKey:
			err = a.revokeKey(tx, r.ID, actorServer)
		case store.RevokedAll:
			err = a.stopAgain(tx)
		}
		// What the backup does not hold cannot come back.
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (a *App) revokeDeviceAgain(tx *store.Tx, id string) error {
	inst, err := tx.Installation(id)
	if err != nil || inst.State == store.InstallationRevoked {
		return err
	}
	return a.revokeInstallation(tx, inst, actorServer, "restore")
}

func (a *App) unlinkAgain(tx *store.Tx, agent string) error {
	link, err := tx.Link(agent)
	if err != nil || link.Revoked {
		return err
	}
	_, err = a.unlink(tx, link, actorServer)
	return err
}

func (a *App) stopAgain(tx *store.Tx) error {
	s, err := tx.Settings()
	if err != nil || s.KillSwitch.On() {
		return err
	}
	s.KillSwitch = store.KillSwitch{By: actorServer, Since: tx.Now()}
	if err := tx.PutSettings(s); err != nil {
		return err
	}
	return tx.Audit(actorServer, "kill_switch.on", store.AccountID(tx.Account()), "restore")
}

// unlink takes an agent's right to work in the account away.
func (a *App) unlink(tx *store.Tx, link store.AgentLink, by string) (store.AgentLink, error) {
	link.Revoked = true
	if err := tx.PutLink(link); err != nil {
		return link, err
	}
	tasks, err := tx.LiveTasks(link.Agent)
	if err != nil {
		return link, err
	}
	for _, s := range tasks {
		why := link.Name + " may not work here any more."
		if _, err := a.stepTask(tx, s, task.Cancel{By: by, Reason: why}); err != nil {
			return link, err
		}
	}
	return link, tx.Audit(by, "agent.unlinked", link.Agent, "")
}

// revokeKey ends a key of one of the account's agents.
func (a *App) revokeKey(tx *store.Tx, id, by string) error {
	row, err := tx.CredentialRow(id)
	if err != nil {
		return err
	}
	// The table is global and holds every kind.
	if row.Account != tx.Account() || row.Kind != store.CredentialAgent {
		return store.ErrNotFound
	}
	keys, err := tx.Keys(row.Agent)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.ID != id {
			continue
		}
		k.Revoked = true
		if err := tx.PutKey(k); err != nil {
			return err
		}
		return tx.Audit(by, "key.revoked", id, "")
	}
	return nil
}
