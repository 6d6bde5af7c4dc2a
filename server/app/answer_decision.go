package app

import (
	"bytes"
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

// AnswerDecision answers a question.
type AnswerDecision struct {
	Decision string
	Revision uint32
	Asked    decision.Digest
	View     decision.Digest
	Key      string
	Items    []decision.AnswerItem
	Proof    []byte
	Surface  decision.Surface
	// Interactive and Unlocked are the client's word.
	Interactive, Unlocked bool
	// Tap is set when a button of a notification was tapped: Items are then
	// what its verb stands for.
	Tap *Tap
}

// Tap is a verified tap token. Its installation is the caller.
type Tap struct {
	Verb     decision.Verb
	Decision string
	Revision uint32
	Asked    decision.Digest
}

// AnswerResult is never an error for a losing answer.
type AnswerResult struct {
	Outcome  decision.Outcome
	Winner   *store.Winner
	Decision decision.State
	// Needed is set for NEEDS_STEP_UP.
	Needed decision.Step
	AsOf   []byte
}

// AnswerDecision is the one verb behind RPC, mutation and tap. Answer, grant, signal,
// wake, changes and audit are one transaction. Errors: *decision.InvalidError
// for an answer that does not fit, ErrProof for a signature that is not the
// installation's, *FieldError for edited arguments or a form that its schema
// does not take, ErrTapSpent, ErrKillSwitch for anything but a refusal while
// every agent is stopped, ErrRevoked, store.ErrNotFound.
func (a *App) AnswerDecision(ctx context.Context, p policy.Principal, c AnswerDecision) (AnswerResult, error) {
	return commit(ctx, a, a.answering(ctx, p, c))
}

// answering checks the proof, which reads but writes nothing.
func (a *App) answering(ctx context.Context, p policy.Principal, c AnswerDecision) change[AnswerResult] {
	account, err := ownAccount(p, store.KindDecision, c.Decision)
	if err != nil {
		return refused[AnswerResult](err)
	}
	shown, err := a.checkProof(ctx, p, account, &c)
	return change[AnswerResult]{account: account, point: "answer.committed", err: err, run: func(tx *store.Tx) (AnswerResult, error) {
		return a.answer(tx, p, c, shown)
	}}
}

// verifiedProof is what a signature was checked against, before the
// transaction; inside it the keys are compared again.
type verifiedProof struct {
	install, approval []byte
	wantView          decision.Digest
	// revision is that of the card the parts of the answer were held against,
	// misfit what was wrong with them.
	revision uint32
	misfit   error
}

// checkProof verifies the signature under the keys of the calling
// installation, and fills in what a tap stands for.
func (a *App) checkProof(ctx context.Context, p policy.Principal, account string, c *AnswerDecision) (verifiedProof, error) {
	var inst store.Installation
	var d decision.State
	err := a.store.View(ctx, account, func(tx *store.Read) error {
		var err error
		if inst, err = device(tx, p); err != nil {
			return err
		}
		d, err = tx.Decision(c.Decision)
		return err
	})
	if err != nil {
		return verifiedProof{}, err
	}
	var evidence []proof.Digest
	for _, digest := range d.MustView() {
		evidence = append(evidence, proof.Digest(digest))
	}
	view, err := proof.ViewDigest(d.ID, uint64(d.Revision), evidence)
	if err != nil {
		return verifiedProof{}, err
	}
	checked := verifiedProof{wantView: decision.Digest(view), revision: d.Revision}
	if c.Tap != nil {
		if err := fromTap(c, d); err != nil {
			return checked, err
		}
	}
	if err := digestParts(d, c.Items); err != nil {
		return checked, err
	}
	if d.Status == decision.Pending {
		checked.misfit = misfit(d, c.Items)
	}
	if len(c.Proof) == 0 {
		return checked, nil
	}
	tuple, err := a.tuple(account, p.Installation, *c)
	if err != nil {
		return checked, err
	}
	if verifies(inst.PublicKey, tuple, c.Proof) {
		checked.install = inst.PublicKey
		return checked, nil
	}
	if verifies(inst.ApprovalKey, tuple, c.Proof) {
		checked.approval = inst.ApprovalKey
		return checked, nil
	}
	return checked, ErrProof
}

// fromTap is the one answer that the tapped button stands for. A button of an
// older card keeps what that card showed, so it is judged stale.
func fromTap(c *AnswerDecision, d decision.State) error {
	if c.Tap.Decision != c.Decision {
		return ErrTapSpent
	}
	c.Revision, c.Asked, c.Surface = c.Tap.Revision, c.Tap.Asked, decision.SurfaceNotification
	items, ok := decision.TapAnswer(d, c.Tap.Verb)
	if !ok {
		return ErrTapSpent
	}
	c.Items = items
	return nil
}

func (a *App) tuple(account, installation string, c AnswerDecision) (proof.AnswerTuple, error) {
	items := make([]proof.AnswerItem, len(c.Items))
	for i, it := range c.Items {
		items[i] = proof.AnswerItem{ItemID: it.Item, OptionIDs: it.Options, Text: it.Text, EditedArgs: proof.Digest(it.Edited), Content: proof.Digest(it.ContentDigest)}
	}
	answer, err := proof.AnswerDigest(items)
	return proof.AnswerTuple{
		ServerID: a.ServerID(), Account: store.AccountID(account), Installation: installation,
		Decision: c.Decision, Revision: uint64(c.Revision),
		Asked: proof.Digest(c.Asked), View: proof.Digest(c.View), Answer: answer, AnswerKey: c.Key,
	}, err
}

func verifies(key []byte, tuple proof.AnswerTuple, signature []byte) bool {
	if len(key) == 0 {
		return false
	}
	pub, err := proof.ParsePublicKey(key)
	return err == nil && proof.VerifyAnswer(pub, tuple, signature) == nil
}

func (a *App) answer(tx *store.Tx, p policy.Principal, c AnswerDecision, shown verifiedProof) (AnswerResult, error) {
	inst, err := device(tx.Read, p)
	if err != nil {
		return AnswerResult{}, err
	}
	d, err := tx.Decision(c.Decision)
	if err != nil {
		return AnswerResult{}, err
	}
	presence, err := a.presence(tx.Read, inst, d, c, shown)
	if err != nil {
		return AnswerResult{}, err
	}
	cmd := decision.GiveAnswer{
		Revision: c.Revision, Asked: c.Asked, View: c.View, WantView: shown.wantView,
		Answer: decision.Answer{
			Items: c.Items, Installation: inst.ID, Label: inst.Label, Surface: c.Surface,
			Key: c.Key, View: c.View, Proof: c.Proof,
		},
		Given:  presence.Given(),
		Needed: policy.Needed(d.Class, d.Raises(c.Items), presence),
		Misfit: shown.misfit,
	}
	if d.Revision != shown.revision {
		cmd.Revision = 0 // changed under the check: nothing was held against this card
	}
	for range d.Items {
		id, err := a.newID(tx.Read, store.KindGrant)
		if err != nil {
			return AnswerResult{}, err
		}
		cmd.GrantIDs = append(cmd.GrantIDs, id)
	}
	events, outcome, err := decision.Decide(d, cmd, tx.Now())
	if err != nil {
		return AnswerResult{}, err
	}
	if outcome == decision.Applied && lets(d, c.Items) {
		// The program that asked might be waiting for exactly this.
		s, err := tx.Settings()
		if err == nil && s.KillSwitch.On() {
			err = ErrKillSwitch
		}
		if err != nil {
			return AnswerResult{}, err
		}
	}
	if len(events) > 0 {
		by := inst.ID
		if outcome != decision.Applied {
			by = actorServer // time closed it; an answer that came too late did not
		}
		if d, err = a.applyDecision(tx, d, events, by); err != nil {
			return AnswerResult{}, err
		}
	}
	if outcome == decision.Applied {
		if err := answeredDraft(tx, c, inst.ID); err != nil {
			return AnswerResult{}, err
		}
	}
	result := AnswerResult{Outcome: outcome, Decision: d}
	if outcome == decision.NeedsStepUp {
		result.Needed = cmd.Needed
	}
	if d.Answer != nil {
		result.Winner = &store.Winner{Installation: d.Answer.Installation, Label: d.Answer.Label, Surface: d.Answer.Surface, Time: d.Answer.Time}
	}
	result.AsOf, err = a.asOf(tx)
	return result, err
}

// lets reports whether an answer lets a program go on. What a person says to a
// question of the server settles what has happened, unless it allows an action.
func lets(d decision.State, items []decision.AnswerItem) bool {
	if d.Kind.OfServer() {
		return d.Allows(items)
	}
	return d.Raises(items)
}

// presence is what this answer shows about the person behind it.
func (a *App) presence(tx *store.Read, inst store.Installation, d decision.State, c AnswerDecision, shown verifiedProof) (policy.Presence, error) {
	now := tx.Now()
	link, err := tx.Link(d.Agent)
	if err != nil {
		return policy.Presence{}, err
	}
	terminal := inst.Platform == store.PlatformTerminal
	unlocked := c.Unlocked
	if terminal {
		unlocked = now.Before(inst.UnlockUntil) || now.Before(inst.FullUntil)
	}
	return policy.Presence{
		Proof:        len(shown.install) > 0 && bytes.Equal(shown.install, inst.PublicKey),
		Approval:     len(shown.approval) > 0 && bytes.Equal(shown.approval, inst.ApprovalKey),
		Unlocked:     unlocked,
		Notification: c.Surface == decision.SurfaceNotification,
		Terminal:     terminal,
		Interactive:  c.Interactive,
		Probation:    !inst.Full(now),
		OptedIn:      link.LockScreen,
	}, nil
}
