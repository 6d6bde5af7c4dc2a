package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// PreviewEdit asks how an edit would look.
type PreviewEdit struct {
	Decision string
	Revision uint32
	Item     string
	Args     []byte
}

// Preview is what the person would allow.
type Preview struct {
	Facts  []decision.Fact
	Digest decision.Digest
}

// PreviewEdit draws the facts of an action with other arguments, so that a
// person sees what they are about to allow as the server reads it. It changes
// nothing. By any device of the account. Errors: ErrStale, ErrClosed,
// *FieldError for arguments that do not fit, ErrRevoked, store.ErrNotFound.
func (a *App) PreviewEdit(ctx context.Context, p policy.Principal, c PreviewEdit) (Preview, error) {
	account, err := ownAccount(p, store.KindDecision, c.Decision)
	if err != nil {
		return Preview{}, err
	}
	var d decision.State
	open := false
	err = a.store.View(ctx, account, func(tx *store.Read) error {
		if _, err := device(tx, p); err != nil {
			return err
		}
		var err error
		d, err = tx.Decision(c.Decision)
		open = d.Open(tx.Now())
		return err
	})
	switch {
	case err != nil:
		return Preview{}, err
	case !open:
		return Preview{}, ErrClosed
	case d.Revision != c.Revision:
		return Preview{}, ErrStale
	}
	it, ok := d.Item(c.Item)
	if !ok || !it.Editable() {
		return Preview{}, &FieldError{Field: "item_id", Reason: "NOT_EDITABLE"}
	}
	digest, err := editedDigest(it, c.Args)
	if err != nil {
		return Preview{}, inField("edited_args_json", err)
	}
	if err := satisfies("edited_args_json", it.Action.ArgsSchema, c.Args); err != nil {
		return Preview{}, err
	}
	_, facts := decision.Edited(it, d.Class, c.Args)
	return Preview{Facts: facts, Digest: digest}, nil
}
