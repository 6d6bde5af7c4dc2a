package store

import "time"

// RevocationKind says what kind of right was taken away.
type RevocationKind string

// Kinds of rights, as in the journal outside of the store.
const (
	// RevokedInstallation: a device.
	RevokedInstallation RevocationKind = "installation"
	// RevokedLink: what let an agent work in the account.
	RevokedLink RevocationKind = "link"
	// RevokedKey: a key of an agent of the account.
	RevokedKey RevocationKind = "key"
	// RevokedAll: the right of every agent to work, by the kill switch.
	RevokedAll RevocationKind = "kill_switch"
)

// Revocation is the last word on one right of an account. It is journalled
// outside of the store and its backups, so that a restore brings nothing back
// that somebody took away.
type Revocation struct {
	Account string
	Kind    RevocationKind
	// ID names the right within the account; empty for RevokedAll.
	ID string
	// Undone: it was given again.
	Undone bool
	Time   time.Time
}

// revoked notes the last word on a right for the journal.
func (t *Tx) revoked(kind RevocationKind, id string, undone bool) {
	t.commit.Revocations = append(t.commit.Revocations, Revocation{Account: t.account, Kind: kind, ID: id, Undone: undone, Time: t.now})
}

// Revocations lists what is taken away in the account as it stands.
func (r *Read) Revocations() ([]Revocation, error) {
	var out []Revocation
	add := func(kind RevocationKind, id string) {
		out = append(out, Revocation{Account: r.account, Kind: kind, ID: id, Time: r.now})
	}
	prefix := append([]byte(r.account), 0)
	err := scanRows(r.r, tabInstall, prefix, func(_ []byte, i Installation) bool {
		if i.State == InstallationRevoked {
			add(RevokedInstallation, i.ID)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if err := scanRows(r.r, tabLink, prefix, func(_ []byte, l AgentLink) bool {
		if l.Revoked {
			add(RevokedLink, l.Agent)
		}
		return true
	}); err != nil {
		return nil, err
	}
	if err := scanRows(r.r, tabKeyOf, prefix, func(_ []byte, k AgentKey) bool {
		if k.Revoked {
			add(RevokedKey, k.ID)
		}
		return true
	}); err != nil {
		return nil, err
	}
	s, err := r.Settings()
	if err == nil && s.KillSwitch.On() {
		add(RevokedAll, "")
	}
	return out, err
}
