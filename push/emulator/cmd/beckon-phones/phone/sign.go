package phone

import (
	"errors"
	"fmt"
	"strings"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/proof"
)

var (
	// ErrDigest answers a card whose digest is not that of what it says: an app
	// signs nothing it cannot recompute.
	ErrDigest = errors.New("phone: the digest of the question is not that of what is shown")
	// ErrNoTapAnswer answers a verb for a question that has no one answer to it.
	ErrNoTapAnswer = errors.New("phone: the button stands for no single answer")
)

// tapItems is the one answer that a verb stands for: one item with one way to
// say yes and one to say no, neither of which asks for words. Editing is for the
// card.
func tapItems(d *v1.Decision, verb string) ([]*v1.AnswerItem, error) {
	if len(d.GetItems()) != 1 || d.GetKind() == v1.DecisionKind_DECISION_KIND_OPEN_URL || d.GetItems()[0].GetMulti() != nil {
		return nil, ErrNoTapAnswer
	}
	item := d.GetItems()[0]
	var yes, no string
	for _, o := range item.GetOptions() {
		kind := o.GetKind()
		switch {
		case kind == v1.OptionKind_OPTION_KIND_EDIT:
		case o.GetText() == v1.TextRule_TEXT_RULE_REQUIRED:
			return nil, ErrNoTapAnswer
		case kind == v1.OptionKind_OPTION_KIND_REJECT_ONCE && no == "":
			no = o.GetId()
		case (kind == v1.OptionKind_OPTION_KIND_ALLOW_ONCE || kind == v1.OptionKind_OPTION_KIND_CHOOSE) && yes == "":
			yes = o.GetId()
		default:
			return nil, ErrNoTapAnswer
		}
	}
	if yes == "" || no == "" {
		return nil, ErrNoTapAnswer
	}
	chosen := yes
	if verb == Deny {
		chosen = no
	}
	return []*v1.AnswerItem{{ItemId: item.GetId(), OptionIds: []string{chosen}}}, nil
}

// checkAsked computes the digest of a decision from what it says.
func checkAsked(d *v1.Decision, want proof.Digest) error {
	items := make([]proof.AskedItem, len(d.GetItems()))
	for i, it := range d.GetItems() {
		items[i] = proof.AskedItem{
			ItemID: it.GetId(), Question: it.GetQuestion(), ResponseSchema: it.GetResponseSchemaJson(), URL: it.GetUrl(),
		}
		if act := it.GetAction(); act != nil {
			digest, err := proof.ActionDigest(act.GetApp(), act.GetConnection(), act.GetOperation(), act.GetArgsJson(), act.GetTargetJson())
			if err != nil {
				return fmt.Errorf("%w: %w", ErrDigest, err)
			}
			items[i].Action, items[i].Question = digest, ""
		}
		for _, o := range it.GetOptions() {
			items[i].Options = append(items[i].Options, proof.Option{
				ID: o.GetId(), Kind: strings.TrimPrefix(o.GetKind().String(), "OPTION_KIND_"),
			})
		}
	}
	got, err := proof.AskedDigest(strings.TrimPrefix(d.GetKind().String(), "DECISION_KIND_"), items)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDigest, err)
	}
	if got != want {
		return ErrDigest
	}
	return nil
}

// prove signs an answer with one of the phone's keys.
func (a *App) prove(keyDER []byte, decision string, revision uint32, asked proof.Digest, items []*v1.AnswerItem, key string) (proof.Digest, []byte, error) {
	view, err := proof.ViewDigest(decision, uint64(revision), nil)
	if err != nil {
		return view, nil, err
	}
	answered := make([]proof.AnswerItem, len(items))
	for i, it := range items {
		answered[i] = proof.AnswerItem{ItemID: it.GetItemId(), OptionIDs: it.GetOptionIds(), Text: it.GetText()}
	}
	answer, err := proof.AnswerDigest(answered)
	if err != nil {
		return view, nil, err
	}
	private, err := a.signingKey(keyDER)
	if err != nil {
		return view, nil, err
	}
	state := a.State()
	signature, err := proof.SignAnswer(private, proof.AnswerTuple{
		ServerID: state.ServerID, Account: state.Account, Installation: state.Installation,
		Decision: decision, Revision: uint64(revision), Asked: asked, View: view, Answer: answer, AnswerKey: key,
	})
	return view, signature, err
}

func stepWord(s v1.Step) string {
	if s == v1.Step_STEP_UNSPECIFIED {
		return ""
	}
	return strings.TrimPrefix(s.String(), "STEP_")
}

func outcomeWord(o v1.AnswerOutcome) string {
	if o == v1.AnswerOutcome_ANSWER_OUTCOME_UNSPECIFIED {
		return ""
	}
	return strings.TrimPrefix(o.String(), "ANSWER_OUTCOME_")
}
