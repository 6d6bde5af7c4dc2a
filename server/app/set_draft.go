package app

import (
	"context"
	"errors"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/draft"
)

// SetDraft writes what a person has begun, in a thread or for a question.
type SetDraft struct {
	Subject string
	Base    draft.Base
	Words   string
	Items   []decision.AnswerItem
	// Revision is that of the card.
	Revision uint32
	Merged   []uint64
}

// SetDraftResult is the draft as it stands, without texts where nothing is left.
type SetDraftResult struct {
	Draft    draft.State
	Diverged bool
	AsOf     []byte
}

// SetDraft keeps a text for all devices of the person; what was written
// elsewhere without knowledge of it stays beside it. It moves no thread, counts
// nowhere and calls nobody. The draft of a question outlives the question: only
// the person clears it. By any device. Errors: draft.ErrFull, *FieldError,
// ErrWrongPrincipal, ErrRevoked, store.ErrNotFound.
func (a *App) SetDraft(ctx context.Context, p policy.Principal, c SetDraft) (SetDraftResult, error) {
	return commit(ctx, a, a.settingDraft(p, c))
}

func (a *App) settingDraft(p policy.Principal, c SetDraft) change[SetDraftResult] {
	return onDevice(p, func(tx *store.Tx, inst store.Installation) (SetDraftResult, error) {
		th, err := threadOfSubject(tx.Read, p, c.Subject)
		if err != nil {
			return SetDraftResult{}, err
		}
		s, err := tx.Draft(c.Subject)
		if err != nil {
			return SetDraftResult{}, err
		}
		s.Thread = th
		next, diverged, err := draft.Apply(s, draft.Write{
			Text: draft.Text{
				Base: c.Base, Installation: inst.ID, Label: inst.Label, Words: c.Words, Items: c.Items, Revision: c.Revision,
			},
			Merged: c.Merged,
		}, tx.Epoch(), tx.Now())
		if errors.Is(err, draft.ErrLarge) {
			if len(c.Words) > draft.MaxWords {
				return SetDraftResult{}, &FieldError{Field: "text", Reason: "LIMIT", Max: draft.MaxWords}
			}
			return SetDraftResult{}, &FieldError{Field: "items", Reason: "LIMIT", Max: draft.MaxItems}
		}
		if err != nil {
			return SetDraftResult{}, err
		}
		if err := putDraft(tx, s, next); err != nil {
			return SetDraftResult{}, err
		}
		result := SetDraftResult{Draft: next, Diverged: diverged}
		result.AsOf, err = a.asOf(tx)
		return result, err
	})
}

// threadOfSubject is the thread of what a draft is for.
func threadOfSubject(tx *store.Read, p policy.Principal, subject string) (string, error) {
	if _, err := ownAccount(p, store.KindThread, subject); err == nil {
		th, err := tx.Thread(subject)
		return th.ID, err
	}
	if _, err := ownAccount(p, store.KindDecision, subject); err != nil {
		return "", err
	}
	d, err := tx.Decision(subject)
	return d.Thread, err
}

// putDraft writes a draft that has changed.
func putDraft(tx *store.Tx, before, after draft.State) error {
	if after.Rev == before.Rev && len(after.Texts) == len(before.Texts) {
		return nil
	}
	return tx.PutDraft(after)
}

// consumeDraft clears the text that a message was made of.
func consumeDraft(tx *store.Tx, thread string, sent draft.Base) error {
	if sent.Rev == 0 {
		return nil
	}
	s, err := tx.Draft(thread)
	if err != nil {
		return err
	}
	return putDraft(tx, s, draft.Consume(s, sent, tx.Epoch()))
}

// answeredDraft clears what the answering device had begun to answer. Another
// device's words may hold what was not said, and a button on a notification was
// pressed without looking at them.
func answeredDraft(tx *store.Tx, c AnswerDecision, installation string) error {
	if c.Tap != nil || c.Surface == decision.SurfaceNotification {
		return nil
	}
	s, err := tx.Draft(c.Decision)
	if err != nil {
		return err
	}
	return putDraft(tx, s, draft.Answered(s, installation))
}
