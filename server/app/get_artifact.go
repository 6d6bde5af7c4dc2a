package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// GetArtifact reads what an artifact is, for its person or the agent of a task
// that has it. A person may leave the task out. Error: store.ErrNotFound.
func (a *App) GetArtifact(ctx context.Context, p policy.Principal, task string, sum store.Sum) (ArtifactView, error) {
	var view ArtifactView
	account, err := artifactAccount(p, task)
	if err != nil {
		return view, err
	}
	err = a.store.View(ctx, account, func(tx *store.Read) error {
		view, err = findArtifact(tx, p, task, sum)
		return err
	})
	return view, err
}
