package store

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// Installation reads a device.
func (r *Read) Installation(id string) (Installation, error) {
	return missing(getRow[Installation](r.r, tabInstall, accountKey(r.account, id)))
}

// Installations lists the account's devices, oldest first, revoked ones too.
func (r *Read) Installations() ([]Installation, error) {
	var out []Installation
	err := scanRows(r.r, tabInstall, append([]byte(r.account), 0), func(_ []byte, i Installation) bool {
		out = append(out, i)
		return true
	})
	return out, err
}

// PutInstallation writes a device and what the other devices see of it.
func (t *Tx) PutInstallation(i Installation) error {
	if err := putRow(t.w, tabInstall, accountKey(t.account, i.ID), i); err != nil {
		return err
	}
	t.Touch("installation:" + i.ID)
	if i.State == InstallationRevoked {
		t.commit.Revoked = append(t.commit.Revoked, i.ID)
		t.revoked(RevokedInstallation, i.ID, false)
		return t.unpublish(changelog.AccountScope, changelog.Key{Kind: changelog.Installation, ID: i.ID})
	}
	// The stored body is what everybody may see: no windows, no epochs.
	var never time.Time
	i.FullUntil, i.ElevatedUntil, i.UnlockUntil, i.AuthEpoch = never, never, never, 0
	return publishAs(t, changelog.AccountScope, entInstallation, i.ID, i)
}

// Settings reads the person's choices; those never made have defaults.
func (r *Read) Settings() (Settings, error) {
	s, found, err := getRow[Settings](r.r, tabSettings, []byte(r.account))
	if err == nil && !found {
		s = Settings{Level: LevelIDs}
	}
	return s, err
}

// PutSettings writes the person's choices.
func (t *Tx) PutSettings(s Settings) error {
	old, err := t.Settings()
	if err != nil {
		return err
	}
	if old.KillSwitch.On() != s.KillSwitch.On() {
		t.revoked(RevokedAll, "", !s.KillSwitch.On())
	}
	if err := putRow(t.w, tabSettings, []byte(t.account), s); err != nil {
		return err
	}
	return publishAs(t, changelog.AccountScope, entSettings, "settings", s)
}

// Agent reads an agent that this account owns.
func (r *Read) Agent(id string) (Agent, error) {
	return missing(getRow[Agent](r.r, tabAgent, accountKey(r.account, id)))
}

// PutAgent writes an agent of this account.
func (t *Tx) PutAgent(a Agent) error { return putRow(t.w, tabAgent, accountKey(t.account, a.ID), a) }

// Link reads what lets an agent work in this account.
func (r *Read) Link(agent string) (AgentLink, error) {
	return missing(getRow[AgentLink](r.r, tabLink, accountKey(r.account, agent)))
}

// Links lists the account's links, revoked ones too.
func (r *Read) Links() ([]AgentLink, error) {
	var out []AgentLink
	err := scanRows(r.r, tabLink, append([]byte(r.account), 0), func(_ []byte, l AgentLink) bool {
		out = append(out, l)
		return true
	})
	return out, err
}

// PutLink writes a link; the agent finds its accounts through it.
func (t *Tx) PutLink(l AgentLink) error {
	old, err := t.Link(l.Agent)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if old.Revoked != l.Revoked {
		t.revoked(RevokedLink, l.Agent, !l.Revoked)
	}
	if err := putRow(t.w, tabLink, accountKey(t.account, l.Agent), l); err != nil {
		return err
	}
	linked := accountKey(l.Agent, t.account)
	if l.Revoked {
		if err := t.w.Delete(tabLinked, linked); err != nil {
			return err
		}
	} else if err := t.w.Put(tabLinked, linked, []byte{1}); err != nil {
		return err
	}
	return publishAs(t, changelog.AccountScope, entAgentLink, l.Agent, l)
}

// LinkedAccounts lists the accounts an agent may work in, at most n.
func (s *Store) LinkedAccounts(ctx context.Context, agent string, n int) ([]string, error) {
	var out []string
	err := s.engine.View(ctx, "", func(r Reader) error {
		out = nil
		prefix := append([]byte(agent), 0)
		return r.Scan(tabLinked, prefix, after(prefix), func(k, _ []byte) bool {
			out = append(out, string(k[len(prefix):]))
			return len(out) < n
		})
	})
	return out, err
}

// Keys lists the keys of an agent of this account that are not revoked.
func (r *Read) Keys(agent string) ([]AgentKey, error) {
	var out []AgentKey
	prefix := append([]byte(r.account), 0)
	if agent != "" {
		prefix = append(accountKey(r.account, agent), 0)
	}
	err := scanRows(r.r, tabKeyOf, prefix, func(_ []byte, k AgentKey) bool {
		if !k.Revoked {
			out = append(out, k)
		}
		return true
	})
	return out, err
}

// PutKey writes a key of an agent of this account; the credential row is what
// a call finds it by.
func (t *Tx) PutKey(k AgentKey) error {
	if k.Revoked {
		t.revoked(RevokedKey, k.ID, false)
	}
	if err := putRow(t.w, tabKeyOf, accountKey(t.account, k.Agent, k.ID), k); err != nil {
		return err
	}
	return t.PutCredential(Credential{ID: k.ID, Kind: CredentialAgent, Account: t.account, Agent: k.Agent, Hash: k.Hash, ExpireTime: k.ExpireTime, Revoked: k.Revoked})
}

// Offer reads a pairing of this account.
func (r *Read) Offer(id string) (Offer, error) {
	return missing(getRow[Offer](r.r, tabOffers, accountKey(r.account, id)))
}

// Offers lists the account's pairings.
func (r *Read) Offers() ([]Offer, error) {
	var out []Offer
	err := scanRows(r.r, tabOffers, append([]byte(r.account), 0), func(_ []byte, o Offer) bool {
		out = append(out, o)
		return true
	})
	return out, err
}

// PutOffer writes a pairing and the global row it is found by until it is
// decided: a second use of the code has to find it, to kill it.
func (t *Tx) PutOffer(o Offer) error {
	t.Touch("offer:" + o.ID)
	code := o.CodeHash
	if o.State == OfferOpen || o.State == OfferRedeemed {
		if err := t.w.Put(tabOfferCode, code, []byte(o.ID)); err != nil {
			return err
		}
	} else if err := t.w.Delete(tabOfferCode, code); err != nil {
		return err
	}
	return putRow(t.w, tabOffers, accountKey(t.account, o.ID), o)
}

// DeleteOffer forgets a pairing.
func (t *Tx) DeleteOffer(o Offer) error {
	t.Touch("offer:" + o.ID)
	if err := t.w.Delete(tabOfferCode, o.CodeHash); err != nil {
		return err
	}
	return deleteRow(t.w, tabOffers, accountKey(t.account, o.ID))
}

// OfferByCode finds the offer that a typed code's hash belongs to.
func (s *Store) OfferByCode(ctx context.Context, hash []byte) (id string, found bool, err error) {
	err = s.engine.View(ctx, "", func(r Reader) error {
		b, err := r.Get(tabOfferCode, hash)
		id, found = string(b), b != nil
		return err
	})
	return id, found, err
}

// Unlock reads what a terminal shows to be unlocked.
func (r *Read) Unlock(installation string) (Unlock, error) {
	return missing(getRow[Unlock](r.r, tabUnlock, accountKey(r.account, installation)))
}

// PutUnlock writes what a terminal shows; the zero value forgets it.
func (t *Tx) PutUnlock(installation string, u Unlock) error {
	key := accountKey(t.account, installation)
	if u.ExpireTime.IsZero() {
		return deleteRow(t.w, tabUnlock, key)
	}
	return putRow(t.w, tabUnlock, key, u)
}

// Family reads the refresh tokens of an installation.
func (r *Read) Family(installation string) (credential.Family, error) {
	return missing(getRow[credential.Family](r.r, tabFamily, accountKey(r.account, installation)))
}

// PutFamily writes the refresh tokens of an installation.
func (t *Tx) PutFamily(installation string, f credential.Family) error {
	return putRow(t.w, tabFamily, accountKey(t.account, installation), f)
}
