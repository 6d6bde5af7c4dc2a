package app

import (
	"encoding/hex"
	"strconv"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// auditClosed notes how a decision left PENDING. What a person allowed, refused
// or answered, and that nobody did, are four facts. An answer is noted with what
// the person saw, so that it can be held against the card later.
func auditClosed(tx *store.Tx, d decision.State, actor string) error {
	if d.Status != decision.Resolved {
		return tx.Audit(actor, "decision.closed", d.ID, d.Status.String())
	}
	return tx.AuditWith(actor, "decision.answered", d.ID, verdict(d), map[string]string{
		"asked":    hex.EncodeToString(d.Asked[:]),
		"view":     hex.EncodeToString(d.Answer.View[:]),
		"revision": strconv.FormatUint(uint64(d.Revision), 10),
		"surface":  d.Answer.Surface.String(),
	})
}

// verdict is what an answer came to.
func verdict(d decision.State) string {
	switch {
	case d.WasEdited():
		return "edited"
	case d.Allows(d.Answer.Items):
		return "allowed"
	case d.Raises(d.Answer.Items):
		return "answered"
	case d.Refuses(d.Answer.Items):
		return "denied"
	default:
		return "dismissed"
	}
}

// auditLater notes what happens to a decision after its answer: that the agent
// has it, and what became of permissions that it did not use.
func auditLater(tx *store.Tx, d decision.State, events []decision.Event, actor string) error {
	for _, e := range events {
		var err error
		switch e := e.(type) {
		case decision.Delivered:
			err = tx.Audit(actor, "answer.delivered", d.ID, "")
		case decision.GrantsEnded:
			for _, id := range e.IDs {
				if err == nil {
					err = tx.Audit(actor, "grant.ended", id, e.To.String())
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
