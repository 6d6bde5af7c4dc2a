package beckon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/proof"
)

// ErrNoOption is returned for an option that the question does not have.
var ErrNoOption = errors.New("beckon: the question has no such option")

// Answer is what a person says to a decision they were shown.
type Answer struct {
	// Items has one entry per item of the decision; see [Choose].
	Items []*v1.AnswerItem
	// Evidence names what the person has opened in full; what need not be opened
	// may be among it.
	Evidence []proof.Digest
	// Surface is where they answer.
	Surface v1.Surface
	// Interactive is for terminals: a real one asked, with no task token in
	// reach. Unlocked is for phones.
	Interactive, Unlocked bool
	// Approval signs with the approval key; the person has been asked for it.
	Approval bool
	// Key names the answer; a new one is drawn when empty. Repeats of one
	// answer keep it.
	Key string
	// Tap is the tap token of a notification's button, which then stands for
	// the credential.
	Tap string
}

// Choose is the answer that picks one option of a decision with one item.
// Errors: [ErrNoOption].
func Choose(d *v1.Decision, option, text string) ([]*v1.AnswerItem, error) {
	if len(d.GetItems()) != 1 {
		return nil, fmt.Errorf("%w: it has %d items, and each needs its own answer", ErrNoOption, len(d.GetItems()))
	}
	item := d.GetItems()[0]
	for _, o := range item.GetOptions() {
		if o.GetId() == option {
			return []*v1.AnswerItem{{ItemId: item.GetId(), OptionIds: []string{option}, Text: text}}, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrNoOption, option)
}

// Answer signs an answer to the card as it was shown and sends it. Losing is an
// outcome, never an error: see AnswerOutcome. Errors: [ErrNoApprovalKey],
// [*proof.InputError] for an answer that cannot be signed, [*Error].
func (p *Person) Answer(ctx context.Context, d *v1.Decision, a Answer) (*v1.AnswerDecisionResponse, error) {
	if a.Key == "" {
		a.Key = NewID()
	}
	req := &v1.AnswerDecisionRequest{
		DecisionId: d.GetId(), Revision: d.GetRevision(), AskedDigest: d.GetAskedDigest(),
		AnswerKey: a.Key, Items: a.Items, Surface: a.Surface, Interactive: a.Interactive, Unlocked: a.Unlocked,
	}
	key := p.key
	if a.Approval {
		var err error
		if key, err = p.approvalKey(); err != nil {
			return nil, err
		}
	}
	tuple, err := p.answerTuple(d, a)
	if err != nil {
		return nil, err
	}
	req.ViewDigest = tuple.View[:]
	if req.Proof, err = proof.SignAnswer(key, tuple); err != nil {
		return nil, err
	}
	api := p.API
	if a.Tap != "" {
		api = p.plain(fixed(a.Tap))
	}
	return api.Decisions.AnswerDecision(ctx, req)
}

// Acknowledge says that the person has a card open on this device, which is
// called about it a little later then, if it was not called already. The time is
// when; zero where nothing waits. An app that answers within it never rings.
// Error: [*Error].
func (p *Person) Acknowledge(ctx context.Context, d *v1.Decision) (time.Time, error) {
	res, err := p.Decisions.AcknowledgeDecision(ctx, &v1.AcknowledgeDecisionRequest{DecisionId: d.GetId()})
	if err != nil || res.GetAlertTime() == nil {
		return time.Time{}, err
	}
	return res.GetAlertTime().AsTime(), nil
}

func (p *Person) answerTuple(d *v1.Decision, a Answer) (proof.AnswerTuple, error) {
	tuple := proof.AnswerTuple{
		ServerID: p.who.ServerID, Account: p.who.Account, Installation: p.who.Installation,
		Decision: d.GetId(), Revision: uint64(d.GetRevision()), AnswerKey: a.Key,
	}
	if len(d.GetAskedDigest()) != len(tuple.Asked) {
		return tuple, proof.ErrDigest
	}
	copy(tuple.Asked[:], d.GetAskedDigest())
	view, err := proof.ViewDigest(d.GetId(), tuple.Revision, opened(d, a.Evidence))
	if err != nil {
		return tuple, err
	}
	items := make([]proof.AnswerItem, len(a.Items))
	for i, it := range a.Items {
		if items[i], err = digested(d, it); err != nil {
			return tuple, err
		}
	}
	tuple.View = view
	tuple.Answer, err = proof.AnswerDigest(items)
	return tuple, err
}

// opened is what has to be opened and was: a view digest is over nothing else.
func opened(d *v1.Decision, evidence []proof.Digest) []proof.Digest {
	return slices.DeleteFunc(slices.Clone(evidence), func(digest proof.Digest) bool {
		for _, it := range d.GetItems() {
			for _, e := range it.GetEvidence() {
				if e.GetMustView() && bytes.Equal(e.GetSha256(), digest[:]) {
					return false
				}
			}
		}
		return true
	})
}

// digested is an answer to one item as a proof covers it.
func digested(d *v1.Decision, it *v1.AnswerItem) (proof.AnswerItem, error) {
	out := proof.AnswerItem{ItemID: it.GetItemId(), OptionIDs: it.GetOptionIds(), Text: it.GetText()}
	var err error
	if raw := it.GetContentJson(); len(raw) > 0 {
		if out.Content, err = proof.ObjectDigest(raw); err != nil {
			return out, err
		}
	}
	if args := it.GetEditedArgsJson(); len(args) > 0 {
		act := itemOf(d, it.GetItemId()).GetAction()
		out.EditedArgs, err = proof.ActionDigest(act.GetApp(), act.GetConnection(), act.GetOperation(), args, act.GetTargetJson())
	}
	return out, err
}

func itemOf(d *v1.Decision, id string) *v1.DecisionItem {
	for _, it := range d.GetItems() {
		if it.GetId() == id {
			return it
		}
	}
	return nil
}

// PreviewEdit shows what an edit would allow, as the server reads it. Show the
// facts before the person answers with it. Errors: [*Error] with the place in
// the arguments as Field.
func (p *Person) PreviewEdit(ctx context.Context, d *v1.Decision, item string, args []byte) ([]*v1.Fact, error) {
	res, err := p.Decisions.PreviewEdit(ctx, &v1.PreviewEditRequest{
		DecisionId: d.GetId(), Revision: d.GetRevision(), ItemId: item, EditedArgsJson: args,
	})
	return res.GetFacts(), err
}
