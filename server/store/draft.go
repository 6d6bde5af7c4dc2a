package store

import (
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/draft"
	"github.com/beckon-dev/beckon/sync/thread"
)

// Epoch is the history that this transaction writes in.
func (r *Read) Epoch() changelog.Epoch { return r.meta.current() }

// Draft reads what was begun in a thread or for a question; the zero State,
// with its subject, where nothing ever was.
func (r *Read) Draft(subject string) (draft.State, error) {
	s, _, err := getRow[draft.State](r.r, tabDraft, accountKey(r.account, subject))
	s.Subject = subject
	return s, err
}

// PutDraft writes a draft. One without texts leaves the synced set; its row
// stays, so that no rev is given twice.
func (t *Tx) PutDraft(s draft.State) error {
	if err := putRow(t.w, tabDraft, accountKey(t.account, s.Subject), s); err != nil {
		return err
	}
	if len(s.Texts) == 0 {
		return t.unpublish(changelog.AccountScope, changelog.Key{Kind: changelog.Draft, ID: s.Subject})
	}
	return publishAs(t, changelog.AccountScope, entDraft, s.Subject, s)
}

// View reads where a thread was left; ErrNotFound where nobody has said.
func (r *Read) View(id string) (thread.View, error) {
	row, found, err := getEntity(r.r, entityKey(r.account, changelog.AccountScope, changelog.Key{Kind: changelog.ViewState, ID: id}))
	if err == nil && (!found || row.Deleted) {
		err = ErrNotFound
	}
	if err != nil {
		return thread.View{}, err
	}
	return decodeEntity(entViewState, row.Body)
}

// PutView writes where a thread was left.
func (t *Tx) PutView(v thread.View) error {
	return publishAs(t, changelog.AccountScope, entViewState, v.Thread, v)
}
