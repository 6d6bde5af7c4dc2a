package app

import (
	"bytes"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/proof"
)

// NewDevice is what a device says of itself when it joins.
type NewDevice struct {
	Platform store.Platform
	Label    string
	// PublicKey and ApprovalKey are uncompressed P-256 points; ApprovalKey is
	// empty where there is none.
	PublicKey, ApprovalKey []byte
	// App is a configured client program, empty for the built-in ones.
	App    string
	Locale string
}

// newDevice judges what a device says of itself. An approval key proves that
// the person is there, so it must not be the key that is used without them, and
// a terminal, where an agent may run beside the person, can have none.
func (a *App) newDevice(d NewDevice) (store.Installation, error) {
	if d.Platform < store.PlatformIOS || d.Platform > store.PlatformTerminal {
		return store.Installation{}, &FieldError{Field: "installation.platform", Reason: "UNKNOWN"}
	}
	if _, err := proof.ParsePublicKey(d.PublicKey); err != nil {
		return store.Installation{}, &FieldError{Field: "installation.public_key", Reason: "MALFORMED"}
	}
	if len(d.ApprovalKey) > 0 {
		if d.Platform == store.PlatformTerminal || bytes.Equal(d.ApprovalKey, d.PublicKey) {
			return store.Installation{}, &FieldError{Field: "installation.approval_key", Reason: "NOT_ALLOWED"}
		}
		if _, err := proof.ParsePublicKey(d.ApprovalKey); err != nil {
			return store.Installation{}, &FieldError{Field: "installation.approval_key", Reason: "MALFORMED"}
		}
	}
	if _, known := a.apps[d.App]; d.App != "" && len(a.apps) > 0 && !known {
		return store.Installation{}, &FieldError{Field: "installation.app_id", Reason: "UNKNOWN_APP"}
	}
	return store.Installation{
		Label: d.Label, Platform: d.Platform, App: d.App, Locale: d.Locale,
		PublicKey: d.PublicKey, ApprovalKey: d.ApprovalKey, Health: store.PushNone,
	}, nil
}

// room refuses one device more than an account may have.
func (a *App) room(tx *store.Read) error {
	all, err := tx.Installations()
	if err != nil {
		return err
	}
	if len(living(all)) >= a.limits.Installations {
		return &QuotaError{What: "installations", Max: int64(a.limits.Installations)}
	}
	return nil
}

// living leaves out what was revoked.
func living(all []store.Installation) []store.Installation {
	var out []store.Installation
	for _, i := range all {
		if i.State != store.InstallationRevoked {
			out = append(out, i)
		}
	}
	return out
}

// admit makes a device an installation of the account with its first refresh
// token, of which only the hash stays.
func (a *App) admit(tx *store.Tx, inst store.Installation, refresh credential.Token) error {
	if err := tx.PutInstallation(inst); err != nil {
		return err
	}
	hash := refresh.Hash()
	if err := tx.PutFamily(inst.ID, credential.NewFamily(hash, tx.Now())); err != nil {
		return err
	}
	return tx.PutCredential(store.Credential{
		ID: refresh.ID(), Kind: store.CredentialRefresh, Account: tx.Account(), Installation: inst.ID, Hash: hash[:],
	})
}
