package app_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/thread"
)

var errCut = errors.New("the connection was cut")

// cutting is an engine that loses a commit, or its answer, where it is told to.
type cutting struct {
	store.Engine
	// before and after say how many of the next updates fail without, or in
	// spite of, their commit.
	before, after int
}

func (e *cutting) Update(ctx context.Context, account string, fn func(store.Writer) error) error {
	if e.before > 0 {
		e.before--
		return e.Engine.Update(ctx, account, func(w store.Writer) error {
			if err := fn(w); err != nil {
				return err
			}
			return errCut
		})
	}
	err := e.Engine.Update(ctx, account, fn)
	if err == nil && e.after > 0 {
		e.after--
		return errCut
	}
	return err
}

// over is a claimed server on an engine.
func over(t *testing.T, engine store.Engine) *harness {
	t.Helper()
	h := newEmptyHarness(t)
	var err error
	h.store, err = store.Open(t.Context(), engine, store.Config{Clock: h.clock.Now})
	check(t, err)
	t.Cleanup(func() { _ = h.store.Close() })
	h.config.Store = h.store
	h.restart()
	h.account = h.newAccount()
	h.phone = h.newDevice(h.account, store.PlatformIOS)
	h.agent, h.agentToken = h.newAgent(h.account, "Builder")
	return h
}

func bolt(t *testing.T) store.Engine {
	t.Helper()
	engine, err := boltstore.Open(t.TempDir(), boltstore.Options{})
	check(t, err)
	return engine
}

// plainWords gives an error plain words: the reason is its text.
func plainWords(err error) app.Refusal {
	return app.Refusal{Code: "test", Reason: err.Error(), Retry: errors.Is(err, errCut) || errors.Is(err, app.ErrHeldBack)}
}

func (h *harness) mutate(p policy.Principal, all ...app.Mutation) []app.Outcome {
	h.t.Helper()
	out, err := h.app.Mutate(context.Background(), p, all, plainWords)
	check(h.t, err)
	return out
}

func mutationID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// queue is one mutation of each kind, in the lane of one thread.
func (h *harness) queue() (ops []app.Mutation, s string) {
	h.t.Helper()
	tsk, held := h.startTask("one")
	h.append(held, thread.RoleAgent, thread.Message, true, "Look.")
	ask, aside := h.ask(held, "a", decision.WriteReversible), h.ask(held, "b", decision.WriteReversible)
	for i, op := range []app.Op{
		app.SetDraft{Subject: tsk.Thread, Words: "hello"},
		app.SendMessage{Thread: tsk.Thread, Text: "hello", Draft: h.base(1)},
		h.signed(h.phone, ask, "deny"),
		app.MarkReadOp{Thread: tsk.Thread, Mark: thread.ReadMark{Position: 1}},
		app.SetView{Thread: tsk.Thread, Anchor: 1},
		app.SnoozeOp{Decision: aside.ID, Length: time.Hour},
		app.AcknowledgeOp{Decision: aside.ID},
		app.PauseTask{Task: tsk.ID}, app.ResumeTask{Task: tsk.ID},
		app.ArchiveOp{Thread: tsk.Thread, Away: true},
		app.StopTask{Task: tsk.ID},
		app.StopTask{Task: "tsk_x"},
	} {
		ops = append(ops, app.Mutation{ID: mutationID(i), Lane: tsk.Thread, Op: op})
	}
	return ops, tsk.Thread
}

// origins is every entity of a thread and the account, by kind, with the
// mutation that wrote it.
func (h *harness) origins(thread string) map[string]int {
	h.t.Helper()
	out := map[string]int{}
	h.view(h.account, func(tx *store.Read) error {
		for _, scope := range []changelog.Scope{changelog.AccountScope, changelog.ThreadScope(thread)} {
			put, _, err := tx.Entities(scope, changelog.Key{}, 1<<20)
			if err != nil {
				return err
			}
			for _, e := range put {
				out[fmt.Sprintf("%s of %q", kindWord(e.Kind), e.Origin)]++
			}
		}
		return nil
	})
	return out
}

// Each mutation is sent one to three times, its commits and their answers are
// lost at random: it is done once, and the outcome is the first one, over memory
// as over a file.
func TestMutate_SentAgainIsDoneOnce(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	want := []app.MutationResult{
		app.MutationApplied, app.MutationApplied, app.MutationApplied, app.MutationApplied, app.MutationApplied, app.MutationApplied,
		app.MutationSame, app.MutationApplied, app.MutationApplied, app.MutationApplied, app.MutationApplied, app.MutationRejected,
	}
	var states []map[string]int
	for _, engine := range []store.Engine{memstore.New(), bolt(t)} {
		for _, lossy := range []bool{false, true} {
			if lossy {
				// A fresh engine of the same kind for the second run.
				if _, ok := engine.(*memstore.Engine); ok {
					engine = memstore.New()
				} else {
					engine = bolt(t)
				}
			}
			r := rand.New(rand.NewPCG(seed, 1))
			cut := &cutting{Engine: engine}
			h := over(t, cut)
			ops, s := h.queue()
			for i, m := range ops {
				for done := false; !done; {
					if lossy {
						cut.before, cut.after = r.IntN(3)/2, r.IntN(3)/2
					}
					got := h.mutate(h.phone.Principal, m)[0]
					done = got.Result != app.MutationRetry
					cut.before, cut.after = 0, 0
					if done && got.Result != want[i] {
						t.Errorf("%T met %d, %+v", m.Op, got.Result, got.Refused)
					}
				}
				for range r.IntN(3) {
					again := h.mutate(h.phone.Principal, m)[0]
					if !again.Replayed || again.Result != want[i] || (again.Refused != nil) != (want[i] == app.MutationRejected) {
						t.Errorf("%T again met %+v", m.Op, again)
					}
				}
			}
			// Another body under a name that was used.
			if got := h.mutate(h.phone.Principal, app.Mutation{ID: ops[1].ID, Op: app.SendMessage{Thread: s, Text: "other"}})[0]; got.Result != app.MutationRejected || got.Refused.Reason != app.ErrKeyReused.Error() {
				t.Errorf("the name of another met %+v", got)
			}
			states = append(states, h.origins(s))
		}
	}
	for i := range states {
		if diff := cmp.Diff(states[0], states[i]); diff != "" {
			t.Errorf("run %d has other entities than the first (-first +this):\n%s", i, diff)
		}
	}
	for _, written := range []string{
		fmt.Sprintf("item of %q", mutationID(1)), fmt.Sprintf("view of %q", mutationID(4)), fmt.Sprintf("decision of %q", mutationID(2)),
	} {
		if states[0][written] == 0 {
			t.Errorf("there is no %s: %v", written, states[0])
		}
	}
}

// SY10: a commit that is lost leaves neither effect nor outcome, one whose
// answer is lost both.
func TestMutate_EffectAndOutcomeTogether(t *testing.T) {
	t.Parallel()
	for _, engine := range []store.Engine{memstore.New(), bolt(t)} {
		cut := &cutting{Engine: engine}
		h := over(t, cut)
		s, _ := h.startTask("one")
		send := app.Mutation{ID: mutationID(1), Op: app.SendMessage{Thread: s.Thread, Text: "hello"}}
		state := func() string {
			var kept bool
			h.view(h.account, func(tx *store.Read) (err error) {
				_, kept, err = tx.Once("account", "Mutate", send.ID)
				return err
			})
			return fmt.Sprintf("%d signals, outcome %t", len(h.signals(s.ID)), kept)
		}
		cut.before = 1
		if got := h.mutate(h.phone.Principal, send)[0]; got.Result != app.MutationRetry || state() != "0 signals, outcome false" {
			t.Errorf("a lost commit met %d and left %s", got.Result, state())
		}
		cut.after = 1
		if got := h.mutate(h.phone.Principal, send)[0]; got.Result != app.MutationRetry || state() != "1 signals, outcome true" {
			t.Errorf("a lost answer met %d and left %s", got.Result, state())
		}
		got := h.mutate(h.phone.Principal, send)[0]
		if got.Result != app.MutationApplied || !got.Replayed || got.Created == "" || state() != "1 signals, outcome true" {
			t.Errorf("the repeat met %+v and left %s", got, state())
		}
		h.clock.Advance(31 * 24 * time.Hour)
		check(t, h.app.Forget(t.Context()))
		if state() != "1 signals, outcome false" {
			t.Errorf("after 31 days: %s", state())
		}
	}
}

// What is refused blocks nothing; what is to be retried blocks its lane and no
// other; and the batch says it of each.
func TestMutate_Lanes(t *testing.T) {
	t.Parallel()
	cut := &cutting{Engine: memstore.New()}
	h := over(t, cut)
	one, _ := h.startTask("one")
	two, _ := h.startTask("two")
	say := func(n int, lane, id string) app.Mutation {
		return app.Mutation{ID: mutationID(n), Lane: lane, Op: app.SendMessage{Thread: id, Text: fmt.Sprint(n)}}
	}
	busy := app.Refusal{Reason: "busy", Retry: true}
	batch := []app.Mutation{
		say(0, one.Thread, "thr_poison"), say(1, one.Thread, one.Thread),
		{ID: mutationID(2), Lane: one.Thread, Refused: &busy}, say(3, one.Thread, one.Thread),
		say(4, two.Thread, two.Thread), {ID: mutationID(5), Refused: &busy}, say(6, "", two.Thread), say(7, one.Thread, one.Thread),
		{ID: mutationID(8), Lane: two.Thread, Refused: &app.Refusal{Reason: "bad"}}, say(9, two.Thread, two.Thread),
	}
	const rejected, applied, retry = app.MutationRejected, app.MutationApplied, app.MutationRetry
	want := []app.MutationResult{rejected, applied, retry, retry, applied, retry, applied, retry, rejected, applied}
	got := h.mutate(h.phone.Principal, batch...)
	for i, o := range got {
		if o.ID != batch[i].ID || o.Result != want[i] {
			t.Errorf("mutation %d met %d as %s; want %d", i, o.Result, o.ID, want[i])
		}
	}
	if got[3].Refused.Reason != app.ErrHeldBack.Error() || got[2].Refused.Reason != "busy" {
		t.Errorf("held back by %+v, itself %+v", got[3].Refused, got[2].Refused)
	}
	for _, o := range got[1:2] {
		if len(o.Found) == 0 || o.Found[0].AsOf == nil {
			t.Errorf("found %+v", o.Found)
		}
	}
	_, err := h.app.Mutate(t.Context(), h.agent, batch, plainWords)
	refused(t, "an agent", err, app.ErrWrongPrincipal)
	h.update(h.account, func(tx *store.Tx) error {
		inst, err := tx.Installation(h.phone.Installation)
		inst.State = store.InstallationRevoked
		return errors.Join(err, tx.PutInstallation(inst))
	})
	_, err = h.app.Mutate(t.Context(), h.phone.Principal, batch, plainWords)
	refused(t, "a revoked device", err, app.ErrRevoked)
}

// R10: however the answers of two devices are mixed and repeated, one wins, the
// other is told who did, and a forged one is refused.
func TestMutate_AnswersOfTwoDevices(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	desk := h.newDevice(h.account, store.PlatformDesktop)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	_, held := h.startTask("one")
	for n := range 1000 {
		d := h.ask(held, fmt.Sprint(n), decision.WriteReversible)
		type sent struct {
			by device
			m  app.Mutation
		}
		options := []string{"deny", "deny"}
		if r.IntN(2) == 0 {
			options[1] = "approve"
		}
		var line []sent
		for i, by := range []device{h.phone, desk} {
			m := app.Mutation{ID: mutationID(2*n + i), Op: h.signed(by, d, options[i])}
			for range 1 + r.IntN(3) {
				line = append(line, sent{by, m})
			}
		}
		r.Shuffle(len(line), func(i, j int) { line[i], line[j] = line[j], line[i] })
		first := map[string]app.Outcome{}
		winner := ""
		for _, s := range line {
			o := h.mutate(s.by.Principal, s.m)[0]
			was, again := first[o.ID]
			switch {
			case again:
				if !o.Replayed || o.Result != was.Result {
					t.Fatalf("seed %d: a repeat met %+v after %+v", seed, o, was)
				}
			case winner == "":
				winner = s.by.Installation
				if o.Result != app.MutationApplied {
					t.Fatalf("seed %d: the first met %+v", seed, o)
				}
			case options[0] == options[1] && o.Result != app.MutationSame, options[0] != options[1] && o.Result != app.MutationConflict:
				t.Fatalf("seed %d: the second met %+v", seed, o)
			}
			if o.Winner == nil || o.Winner.Installation != winner {
				t.Fatalf("seed %d: the winner is %+v, not %s", seed, o.Winner, winner)
			}
			first[o.ID] = o
		}
	}
	d := h.ask(held, "forged", decision.WriteReversible)
	forged := h.signed(desk, d, "approve")
	if o := h.mutate(h.phone.Principal, app.Mutation{ID: mutationID(9999), Op: forged})[0]; o.Result != app.MutationRejected || o.Refused.Reason != app.ErrProof.Error() {
		t.Errorf("a forged answer met %+v", o)
	}
	if got := h.decision(d.ID).Status; got != decision.Pending {
		t.Errorf("the question is %v", got)
	}
}

// The numbers of outcomes and results are one list.
func TestMutate_ResultsAreOutcomes(t *testing.T) {
	t.Parallel()
	for o, m := range map[decision.Outcome]app.MutationResult{
		decision.Applied: app.MutationApplied, decision.Same: app.MutationSame, decision.Conflict: app.MutationConflict,
		decision.Stale: app.MutationStale, decision.TooLate: app.MutationExpired, decision.Closed: app.MutationClosed,
		decision.NeedsView: app.MutationNeedsView, decision.NeedsStepUp: app.MutationNeedsStepUp,
	} {
		if app.MutationResult(o) != m {
			t.Errorf("%v is %d as a mutation's result", o, m)
		}
	}
}

// R26: marks of two devices, read here and unread there, in any order and more
// than once, come out alike, and the badge is what it counts after every one of
// 100,000 operations.
func TestMutate_MarksAndBadge(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	desk := h.newDevice(h.account, store.PlatformDesktop)
	var threads []string
	var helds []app.Held
	for i := range 5 {
		s, held := h.startTask(fmt.Sprint("task ", i))
		threads, helds = append(threads, s.Thread), append(helds, held)
	}
	want := make([]thread.ReadMark, len(threads))
	notable := make([]uint64, len(threads))
	steps := 100_000
	if testing.Short() {
		steps = 2000
	}
	for n := range steps {
		i := r.IntN(len(threads))
		if n < 500 && r.IntN(4) == 0 {
			h.append(helds[i], thread.RoleAgent, thread.Message, true, fmt.Sprint("Look ", n))
			notable[i]++
		} else {
			m := thread.ReadMark{Generation: want[i].Generation + r.Uint64N(3)/2, Position: r.Uint64N(notable[i] + 2)}
			by := h.phone
			if r.IntN(2) == 0 {
				by = desk
			}
			h.mutate(by.Principal, app.Mutation{ID: mutationID(n), Lane: threads[i], Op: app.MarkReadOp{Thread: threads[i], Mark: m}})
			m.Position = min(m.Position, notable[i])
			if m.Generation > want[i].Generation || m.Generation == want[i].Generation && m.Position > want[i].Position {
				want[i] = m
			}
		}
		h.view(h.account, func(tx *store.Read) error {
			th, err := tx.Thread(threads[i])
			if err != nil {
				return err
			}
			count, err := tx.Attention()
			unread := uint32(0)
			for j := range threads {
				if notable[j] > want[j].Position {
					unread++
				}
			}
			if th.Read != want[i] || count != tx.Counters() || count.UnreadThreads != unread {
				t.Fatalf("seed %d, step %d: mark %+v, want %+v; counted %+v, shown %+v, %d unread", seed, n, th.Read, want[i], count, tx.Counters(), unread)
			}
			return err
		})
	}
}
