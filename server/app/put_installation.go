package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// PutInstallation changes the caller's own row; nil leaves a field.
type PutInstallation struct {
	Label, Locale *string
}

// PutInstallation changes what a device says of itself. Its pushes speak the
// new language from the next one on. By the device. Errors: ErrWrongPrincipal,
// ErrRevoked.
func (a *App) PutInstallation(ctx context.Context, p policy.Principal, c PutInstallation) (store.Installation, error) {
	var out store.Installation
	err := a.onAccount(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		if c.Label != nil {
			inst.Label = *c.Label
		}
		if c.Locale != nil {
			inst.Locale = *c.Locale
		}
		out = inst
		if err := tx.PutInstallation(inst); err != nil {
			return err
		}
		own, err := addressesOf(tx.Read, inst.ID)
		if err != nil {
			return err
		}
		for _, adr := range own {
			if adr.Locale == inst.Locale {
				continue
			}
			adr.Locale = inst.Locale
			if err := tx.UpdateAddress(adr); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}
