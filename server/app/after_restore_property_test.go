package app_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/sync/decision"
)

// outside is what really happened, which no restore takes back.
type outside struct {
	// done counts how often each name was run; word is whether a person has said
	// since the last run that it is to be done.
	done map[string]int
	word map[string]bool
	// went are the generations of each effect that got a GO, in whatever history.
	went map[string]bool
}

// R28, R15, as one story: work, approvals, calls that reach the outside and
// confirmations that come or do not, backups, and restores from any of them.
// Whatever the order, nothing reaches the outside a second time unless a person
// has said "it did not happen, do it" since, and no generation is given twice.
func TestAfterRestore_R28_NoSecondRunInAnyStory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			storyOfRestores(t, rand.New(rand.NewPCG(seed, 28)))
		})
	}
}

func storyOfRestores(t *testing.T, rng *rand.Rand) {
	h := newHarness(t)
	out := outside{done: map[string]int{}, word: map[string]bool{}, went: map[string]bool{}}
	s := h.createTask("one")
	copies := []*memstore.Engine{h.backupAll()}
	above := h.store.EpochNumber()
	for step := range 60 {
		h.clock.Advance(time.Second)
		switch op := rng.IntN(12); {
		case op < 6:
			workOnce(h, s.ID, fmt.Sprint("effect ", rng.IntN(3)), step, rng, &out)
		case op < 9:
			answerAll(h, step, rng, &out)
		case op < 10:
			copies = append(copies, h.backupAll())
		default:
			above = max(above, h.store.EpochNumber())
			h.restoreAbove(copies[rng.IntN(len(copies))], above)
		}
	}
}

// workOnce is a worker that takes the task if it may, asks anew for a yes, gets
// it, and runs what it is told to; it may be gone before it says so.
func workOnce(h *harness, id, name string, step int, rng *rand.Rand, out *outside) {
	h.t.Helper()
	claim, found, err := h.app.ClaimTask(h.t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: fmt.Sprint("claim ", step)}})
	check(h.t, err)
	if !found {
		return
	}
	held := app.Held{Task: id, Lease: claim.Task.Lease.ID}
	d := h.request(held, func(c *app.RequestDecision) {
		c.Name, c.Items = fmt.Sprint(name, " at ", step), []decision.Item{action(name, decision.WriteReversible)}
	})
	c := reply(h.t, d, "approve")
	c.Key = fmt.Sprint("approve ", step)
	r := h.giveSigned(d, c)
	begun, err := h.app.BeginEffect(h.t.Context(), h.agent, app.BeginEffect{
		Held: held, Name: name, Grant: r.Decision.Grants[0].ID, Attempt: fmt.Sprint("attempt at step ", step),
	})
	check(h.t, err)
	if begun.Go {
		e := begun.Effect
		generation := fmt.Sprint(e.ID, " ", e.Generation)
		if out.went[generation] {
			h.t.Fatalf("step %d: GO for %s was said before", step, generation)
		}
		if out.went[generation] = true; out.done[name] > 0 && !out.word[name] {
			h.t.Fatalf("step %d: %s is run once more, and nobody has said that it did not happen", step, name)
		}
		out.done[name]++
		out.word[name] = false
		if rng.IntN(2) == 0 {
			h.confirm(e, e.Generation, true, held.Lease)
		}
	}
	if rng.IntN(3) > 0 {
		if err := workVerbs["ReleaseTask"](h.app, h.agent, held); err != nil && !errors.Is(err, app.ErrHeld) {
			h.t.Fatal(err)
		}
		return
	}
	h.clock.Advance(lease) // it is gone
	h.due()
}

// answerAll answers what the server asks about the task.
func answerAll(h *harness, step int, rng *rand.Rand, out *outside) {
	h.t.Helper()
	for _, d := range h.openOfServer() {
		var exit string
		switch d.Kind {
		case decision.AfterRestore:
			exit = decision.ExitGoOn
		case decision.ResolveUncertain:
			exit = [...]string{decision.ExitHappened, decision.ExitDoIt, decision.ExitSkip}[rng.IntN(3)]
		default:
			continue
		}
		c := reply(h.t, d, exit)
		c.Key = fmt.Sprint(exit, " ", d.ID, " ", step)
		h.giveSigned(d, c)
		if exit == decision.ExitDoIt {
			out.word[h.effect(d.About).Key] = true
		}
	}
}
