package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// UpdateSettings changes a person's choices; nil leaves one.
type UpdateSettings struct {
	Level *store.ContentLevel
}

// SettingsResult is the settings after the change.
type SettingsResult struct {
	Settings store.Settings
	AsOf     []byte
}

// UpdateSettings changes how an account behaves. Showing more on lock screens
// needs the person to be present; showing less never does. By a full device.
// Errors: *StepUpError, *FieldError, ErrWrongPrincipal, ErrRevoked.
func (a *App) UpdateSettings(ctx context.Context, p policy.Principal, c UpdateSettings) (SettingsResult, error) {
	if c.Level != nil && (*c.Level < store.LevelIDs || *c.Level > store.LevelFull) {
		return SettingsResult{}, &FieldError{Field: "content_level", Reason: "UNKNOWN"}
	}
	var out SettingsResult
	err := a.onAccountFull(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		s, err := tx.Settings()
		if err != nil {
			return err
		}
		if c.Level != nil && *c.Level != s.Level {
			if *c.Level > s.Level {
				if err := verified(tx.Read, p); err != nil {
					return err
				}
			}
			s.Level = *c.Level
			if err := setLevel(tx, s); err != nil {
				return err
			}
			if err := tx.Audit(inst.ID, "settings.level", store.AccountID(tx.Account()), string(levelOf(s.Level))); err != nil {
				return err
			}
		}
		out.Settings = s
		out.AsOf, err = a.asOf(tx)
		return err
	})
	return out, err
}

// setLevel writes the level where pushes read it: on every address.
func setLevel(tx *store.Tx, s store.Settings) error {
	if err := tx.PutSettings(s); err != nil {
		return err
	}
	all, err := tx.Addresses()
	if err != nil {
		return err
	}
	for _, adr := range all {
		adr.Level = levelOf(s.Level)
		if err := tx.UpdateAddress(adr); err != nil {
			return err
		}
	}
	return nil
}
