package app

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// Mutation is one write that a client keeps until it knows the outcome.
type Mutation struct {
	ID string
	// Lane is what it keeps its order in; one without holds back nothing.
	Lane string
	// Op is nil where Refused says why it is not even tried.
	Op      Op
	Refused *Refusal
}

// MutationResult is what became of a mutation, as on the wire and on disk.
type MutationResult uint8

// Results; the first eight are those of decision.Outcome. All but MutationRetry
// are final.
const (
	MutationApplied     MutationResult = 1
	MutationSame        MutationResult = 2
	MutationConflict    MutationResult = 3
	MutationStale       MutationResult = 4
	MutationExpired     MutationResult = 5
	MutationClosed      MutationResult = 6
	MutationNeedsView   MutationResult = 7
	MutationNeedsStepUp MutationResult = 8
	MutationRejected    MutationResult = 9
	MutationRetry       MutationResult = 10
)

// Refusal is an error in the words of the wire.
type Refusal struct {
	Code, Reason, Field string
	Max                 int64
	After               time.Duration
	// Retry: the same may succeed later, and nothing of it was done.
	Retry bool
}

// ErrHeldBack: a mutation before it in its lane is to be retried.
var ErrHeldBack = errors.New("app: held back in its lane")

// Said is what a verb says of itself: how it ended, where that is more than that
// something changed or not, what it made, and who won.
type Said struct {
	Result  MutationResult
	Created string
	Winner  *store.Winner
}

// Outcome is what became of a mutation.
type Outcome struct {
	ID string
	Said
	// Replayed: it had run before.
	Replayed bool
	Refused  *Refusal
	Found    []Found
	refs     []store.EntityRef
}

// keptOutcome is an outcome as it is remembered.
type keptOutcome struct {
	Said    Said
	Refused *Refusal
	Refs    []store.EntityRef
}

// Bounds of outcomes.
const (
	// outcomeRefs is how many entities an outcome names at most.
	outcomeRefs = 32
	// outcomeBytes is what all found entities of an answer take together.
	outcomeBytes = 256 << 10
)

// Mutate carries mutations out in their order, each in a transaction of its own
// that holds its effect, its name on all that it wrote, and its outcome; the
// outcome of a repeat is the first one. What is refused blocks nothing; one that
// is to be retried holds back the rest of its lane. judge gives errors their
// words. Errors, of the whole: ErrRevoked, ErrWrongPrincipal, the end of ctx;
// what was done until then is replayed.
func (a *App) Mutate(ctx context.Context, p policy.Principal, all []Mutation, judge func(error) Refusal) ([]Outcome, error) {
	if !p.Person() {
		return nil, ErrWrongPrincipal
	}
	out := make([]Outcome, len(all))
	held := map[string]bool{}
	for i, m := range all {
		switch {
		case m.Lane != "" && held[m.Lane]:
			out[i] = refusedOutcome(m.ID, judge(ErrHeldBack))
		case m.Op == nil:
			out[i] = refusedOutcome(m.ID, *m.Refused)
		default:
			var err error
			if out[i], err = a.mutate(ctx, p, m, judge); err != nil {
				return nil, err
			}
		}
		if out[i].Result == MutationRetry {
			held[m.Lane] = true
		}
	}
	return out, a.findOutcomes(ctx, p, out)
}

func refusedOutcome(id string, r Refusal) Outcome {
	o := Outcome{ID: id, Refused: &r, Said: Said{Result: MutationRejected}}
	if r.Retry {
		o.Result = MutationRetry
	}
	return o
}

// mutate carries one out. The error is of the caller, never of the mutation.
func (a *App) mutate(ctx context.Context, p policy.Principal, m Mutation, judge func(error) Refusal) (Outcome, error) {
	hash, err := opHash(m.Op)
	if err != nil {
		return Outcome{}, err
	}
	var out Outcome
	var found bool
	err = a.readAccount(ctx, p, func(tx *store.Read, _ store.Installation) (err error) {
		out, found, err = remembered(tx, m.ID, hash)
		return err
	})
	if err == nil && !found {
		c := m.Op.change(ctx, a, p, m.ID)
		out, err = commit(ctx, a, change[Outcome]{account: p.Account, point: "mutation.committed", err: c.err, run: func(tx *store.Tx) (Outcome, error) {
			return a.mutateOnce(tx, p, m.ID, hash, c.run)
		}})
	}
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return Outcome{}, err
	case errors.Is(err, ErrRevoked):
		return Outcome{}, err
	}
	out = refusedOutcome(m.ID, judge(err))
	if _, ok := errors.AsType[*StepUpError](err); ok {
		out.Result = MutationNeedsStepUp
	}
	if out.Result == MutationRetry || found {
		return out, nil
	}
	return a.keepRefusal(ctx, p, out, hash, judge)
}

// mutateOnce is the one transaction of a mutation.
func (a *App) mutateOnce(tx *store.Tx, p policy.Principal, id string, hash []byte, run func(*store.Tx) (Said, error)) (Outcome, error) {
	if have, found, err := remembered(tx.Read, id, hash); err != nil || found {
		return have, err
	}
	if _, err := device(tx.Read, p); err != nil {
		return Outcome{}, err
	}
	tx.Origin(id)
	said, err := run(tx)
	if err != nil {
		return Outcome{}, err
	}
	// The stamp publishes what is still to be published.
	if _, err := a.asOf(tx); err != nil {
		return Outcome{}, err
	}
	out := Outcome{ID: id, Said: said, refs: tx.Written()}
	if out.Result == 0 {
		out.Result = MutationApplied
		if len(out.refs) == 0 {
			out.Result = MutationSame
		}
	}
	out.refs = out.refs[:min(len(out.refs), outcomeRefs)]
	return out, a.keepOutcome(tx, out, hash)
}

// keepRefusal remembers that a mutation was refused for good, unless another
// call has meanwhile carried it out.
func (a *App) keepRefusal(ctx context.Context, p policy.Principal, out Outcome, hash []byte, judge func(error) Refusal) (Outcome, error) {
	kept, err := commit(ctx, a, onDevice(p, func(tx *store.Tx, _ store.Installation) (Outcome, error) {
		if have, found, err := remembered(tx.Read, out.ID, hash); err != nil || found {
			return have, err
		}
		return out, a.keepOutcome(tx, out, hash)
	}))
	if err == nil {
		return kept, nil
	}
	if ctx.Err() != nil || errors.Is(err, ErrRevoked) {
		return Outcome{}, err
	}
	return refusedOutcome(out.ID, judge(err)), nil
}

// opHash is what a repeat is compared by.
func opHash(op Op) ([]byte, error) {
	body, err := json.Marshal(op)
	if err != nil {
		return nil, fmt.Errorf("app: encode mutation: %w", err)
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%T\x00%s", op, body))
	return hash[:], nil
}

// outcomesOf is whose an outcome is: the account's, whatever device asks.
const outcomesOf = "account"

// remembered reads the outcome of a mutation that has run. Another body under
// its name is ErrKeyReused.
func remembered(tx *store.Read, id string, hash []byte) (Outcome, bool, error) {
	kept, found, err := recall[keptOutcome](tx, outcomesOf, "Mutate", id, hash)
	if err != nil || !found {
		return Outcome{}, found, err
	}
	return Outcome{ID: id, Said: kept.Said, Refused: kept.Refused, refs: kept.Refs, Replayed: true}, true, nil
}

func (a *App) keepOutcome(tx *store.Tx, out Outcome, hash []byte) error {
	return remember(a, tx, outcomesOf, "Mutate", out.ID, hash, keptOutcome{Said: out.Said, Refused: out.Refused, Refs: out.refs})
}

// findOutcomes reads what the mutations wrote as it stands now, all in one
// picture.
func (a *App) findOutcomes(ctx context.Context, p policy.Principal, out []Outcome) error {
	return a.readAccount(ctx, p, func(tx *store.Read, _ store.Installation) error {
		left := outcomeBytes
		for i := range out {
			refs := make([]PointRef, len(out[i].refs))
			for j, r := range out[i].refs {
				refs[j] = PointRef{Scope: r.Scope, Key: r.Key}
			}
			found, err := a.find(tx, refs)
			if err != nil {
				return err
			}
			for j := range found {
				var fits []changelog.Entity
				for _, e := range found[j].Put {
					if left -= len(e.Body); left >= 0 {
						fits = append(fits, e)
					}
				}
				found[j].Put = fits
			}
			out[i].Found = found
		}
		return nil
	})
}
