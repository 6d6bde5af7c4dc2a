package app

import "context"

// Claimed reports whether anybody owns this server; until then it does nothing
// but wait for its claim. A store that cannot be read counts as unclaimed, which
// opens nothing.
func (a *App) Claimed(ctx context.Context) bool {
	claimed, err := a.store.Claimed(ctx)
	return err == nil && claimed
}
