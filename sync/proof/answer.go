package proof

import (
	"bytes"
	"crypto/ecdsa"
	"fmt"
	"slices"
	"strings"
)

// ViewDigest names what a person really opened before answering: the decision
// at one revision and the digests of the evidence shown in full. Order and
// repetition of evidence do not matter, since a client opens it in any order.
//
// Tuple: "beckon/view/1", decision id, revision, count, each evidence digest in
// ascending byte order. The error is an [*InputError] for an empty or
// non-UTF-8 decision id.
func ViewDigest(decision string, revision uint64, evidence []Digest) (Digest, error) {
	opened := slices.Clone(evidence)
	slices.SortFunc(opened, func(a, b Digest) int { return bytes.Compare(a[:], b[:]) })
	opened = slices.Compact(opened)
	t := newTuple(labelView)
	t.name("decision", decision)
	t.integer(revision)
	t.integer(uint64(len(opened)))
	for _, d := range opened {
		t.digest(d)
	}
	return t.sum()
}

// AnswerItem is what a person answered to one item, as far as a digest cares.
type AnswerItem struct {
	// ItemID is the item's id in the decision.
	ItemID string
	// OptionIDs are the chosen options in any order.
	OptionIDs []string
	// Text is what the person wrote, byte for byte.
	Text string
	// EditedArgs is the [ActionDigest] of the action with the person's
	// arguments; zero when nothing was edited.
	EditedArgs Digest
	// Content is the [ObjectDigest] of a filled-in form; zero without one.
	Content Digest
	// Scope says how far an allowance reaches beyond this once; empty for once.
	// It is part of the digest so that nobody on the way can widen it.
	Scope string
}

// AnswerDigest names one exact answer. Items are sorted by id and option ids
// within an item, so that the order in which a screen collected them does not
// matter.
//
// Tuple: "beckon/answer-items/1", count of items, then per item: item id, count
// of options, each option id, text, edited-args digest, content digest, scope;
// an absent digest is 32 zero bytes. Sorting is by UTF-8 bytes. Errors are
// [*InputError]; no items at all and repeated ids are refused.
func AnswerDigest(items []AnswerItem) (Digest, error) {
	if len(items) == 0 {
		return Digest{}, &InputError{Field: "items", Reason: ReasonMissing}
	}
	sorted := slices.Clone(items)
	slices.SortFunc(sorted, func(a, b AnswerItem) int {
		return strings.Compare(a.ItemID, b.ItemID)
	})
	t := newTuple(labelAnswerItems)
	t.integer(uint64(len(sorted)))
	seen := map[string]bool{}
	for _, item := range sorted {
		t.fail("items.item_id", checkUnique(item.ItemID, seen))
		t.bytes([]byte(item.ItemID))
		t.options(item.OptionIDs)
		t.text("items.text", item.Text)
		t.digest(item.EditedArgs)
		t.digest(item.Content)
		t.text("items.scope", item.Scope)
	}
	return t.sum()
}

func (t *tuple) options(ids []string) {
	sorted := slices.Sorted(slices.Values(ids))
	seen := map[string]bool{}
	t.integer(uint64(len(sorted)))
	for _, id := range sorted {
		t.fail("items.option_ids", checkUnique(id, seen))
		t.bytes([]byte(id))
	}
}

// AnswerTuple is what an installation signs to answer a decision. There is no
// clock in it: a decision resolves once, and revision, digests and answer key
// bind the proof to one act.
type AnswerTuple struct {
	// ServerID keeps a proof from being replayed at another server.
	ServerID string
	// Account and Installation are who answers, on which device.
	Account, Installation string
	// Decision and Revision are what is answered, as it was shown.
	Decision string
	Revision uint64
	// Asked is the [AskedDigest] of the card that was shown.
	Asked Digest
	// View is the [ViewDigest] of what was opened.
	View Digest
	// Answer is the [AnswerDigest] of what was chosen.
	Answer Digest
	// AnswerKey is the idempotency key of the answer.
	AnswerKey string
}

// Encode gives the bytes that are signed. Fields in order: "beckon/answer/1",
// server id, account, installation, decision, revision, asked digest, view
// digest, answer digest, answer key. An empty field is an [*InputError].
func (a AnswerTuple) Encode() ([]byte, error) {
	t := newTuple(labelAnswer)
	t.name("server_id", a.ServerID)
	t.name("account", a.Account)
	t.name("installation", a.Installation)
	t.name("decision", a.Decision)
	t.integer(a.Revision)
	t.known("asked", a.Asked)
	t.known("view", a.View)
	t.known("answer", a.Answer)
	t.name("answer_key", a.AnswerKey)
	return t.done()
}

// SignAnswer makes the proof of an answer with an installation's key. Errors:
// [*InputError] for an incomplete tuple, [ErrPrivateKey].
func SignAnswer(key *ecdsa.PrivateKey, answer AnswerTuple) ([]byte, error) {
	raw, err := answer.Encode()
	if err != nil {
		return nil, fmt.Errorf("sign answer: %w", err)
	}
	return sign(key, raw)
}

// VerifyAnswer checks the proof of an answer against an installation's key.
// Errors: [*InputError] for an incomplete tuple, [ErrPublicKey],
// [ErrMalformed], [ErrMismatch].
func VerifyAnswer(key *ecdsa.PublicKey, answer AnswerTuple, signature []byte) error {
	raw, err := answer.Encode()
	if err != nil {
		return fmt.Errorf("verify answer: %w", err)
	}
	return verify(key, raw, signature)
}
