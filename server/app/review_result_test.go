package app_test

import (
	"slices"
	"testing"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// reviewed makes a held task whose result a person has to accept.
func (h *harness) reviewed(title string) (task.State, app.Held) {
	h.t.Helper()
	r, err := h.app.CreateTask(h.t.Context(), h.agent, app.CreateTask{
		Key: "reviewed " + title, Title: title, Review: true, Claim: &app.ClaimOptions{ID: "claim " + title},
	})
	check(h.t, err)
	return r.Task, app.Held{Task: r.Task.ID, Lease: r.Task.Lease.ID}
}

// offered completes a held task and returns the question about its result.
func (h *harness) offered(held app.Held, summary string) decision.State {
	h.t.Helper()
	s, err := h.app.CompleteTask(h.t.Context(), h.agent, app.CompleteTask{Held: held, Result: &task.Result{Summary: summary}})
	check(h.t, err)
	return h.decision(s.Offer)
}

// R8: with review the result is a question first; accepting it is the end, and
// rings nobody who has just read it.
func TestReview_Accepted(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.reviewed("one")
	w := h.watch(s.Thread)
	d := h.offered(held, "The report.")
	e := w.look()
	if got := h.task(s.ID); got.Phase != task.Waiting || got.Result.Summary != "The report." || got.OfferVersion != 1 {
		t.Fatalf("the task is %v with %+v, version %d", got.Phase, got.Result, got.OfferVersion)
	}
	if d.Kind != decision.ReviewResult || d.About != s.ID || d.AboutVersion != 1 || len(e.Outbox) != 1 || e.Commits != 1 || e.Badge.OpenDecisions != 1 {
		t.Fatalf("asked %+v, left behind %+v", d, e)
	}
	if r := h.answer(h.phone, d, decision.ExitAccept); r.Outcome != decision.Applied {
		t.Fatalf("accepting met %v", r.Outcome)
	}
	e = w.look()
	if got := h.task(s.ID); got.Phase != task.Completed || got.Result.Summary != "The report." {
		t.Errorf("accepted, and the task is %v with %+v", got.Phase, got.Result)
	}
	if e.Commits != 1 || e.Badge != (store.Counters{}) || slices.ContainsFunc(e.Outbox, func(o string) bool { return o != "" }) {
		t.Errorf("accepting left behind %+v", e)
	}
}

// What is sent back wakes the task with the words; the next result is the next
// revision of the card.
func TestReview_SentBack(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.reviewed("one")
	first := h.offered(held, "The report.")
	if r := h.answerWith(h.phone, first, decision.ExitSendBack, "The sum is missing."); r.Outcome != decision.Applied {
		t.Fatalf("sending back met %v", r.Outcome)
	}
	if got := h.task(s.ID); got.Phase != task.Ready || got.Result != nil || got.Offer != "" {
		t.Fatalf("sent back, and the task is %v with %+v", got.Phase, got.Result)
	}
	signals := h.signals(s.ID)
	if len(signals) != 1 || signals[0].Kind != task.ResultSentBack || signals[0].Text != "The sum is missing." {
		t.Fatalf("signals %+v", signals)
	}
	again := h.claim("again")
	second := h.offered(app.Held{Task: s.ID, Lease: again.Task.Lease.ID}, "The report with the sum.")
	if second.ID == first.ID || second.AboutVersion != 2 {
		t.Errorf("asked again as %s, version %d", second.ID, second.AboutVersion)
	}
}

// A message wakes the task while its result is on the table; the next one
// replaces it there, and the screen that shows the older one is stale.
func TestReview_OfferedAnewIsStale(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.reviewed("one")
	first := h.offered(held, "The report.")
	_, err := h.app.SendMessage(t.Context(), h.phone.Principal, app.SendMessage{Key: "m", Thread: s.Thread, Text: "And the sum?"})
	check(t, err)
	again := h.claim("again")
	next := app.Held{Task: s.ID, Lease: again.Task.Lease.ID}
	check(t, h.app.AckSignals(t.Context(), h.agent, app.AckSignals{Held: next, Signals: []uint64{again.Signals[0].ID}}))
	second := h.offered(next, "The report with the sum.")
	if second.ID != first.ID || second.Revision != 2 || second.AboutVersion != 2 {
		t.Fatalf("the card is %s revision %d version %d", second.ID, second.Revision, second.AboutVersion)
	}
	if r := h.answer(h.phone, first, decision.ExitAccept); r.Outcome != decision.Stale {
		t.Errorf("accepting the older result met %v", r.Outcome)
	}
	if got := h.task(s.ID); got.Phase != task.Waiting {
		t.Errorf("the task is %v", got.Phase)
	}
	if r := h.answer(h.phone, second, decision.ExitAccept); r.Outcome != decision.Applied {
		t.Errorf("accepting the newer met %v", r.Outcome)
	}
	if got := h.task(s.ID); got.Phase != task.Completed || got.Result.Summary != "The report with the sum." {
		t.Errorf("the task is %v with %+v", got.Phase, got.Result)
	}
}

// A result accepted on one device while another sends it back: one of them wins,
// and the other is told so.
func TestReview_AcceptedWhileSentBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second string
		want          task.Phase
	}{
		"accepted first":  {decision.ExitAccept, decision.ExitSendBack, task.Completed},
		"sent back first": {decision.ExitSendBack, decision.ExitAccept, task.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.reviewed("one")
			d := h.offered(held, "The report.")
			tablet := h.newDevice(h.account, store.PlatformIOS)
			words := map[string]string{decision.ExitSendBack: "Not yet."}
			if r := h.answerWith(h.phone, d, c.first, words[c.first]); r.Outcome != decision.Applied {
				t.Fatalf("first met %v", r.Outcome)
			}
			if r := h.answerWith(tablet, d, c.second, words[c.second]); r.Outcome != decision.Conflict || r.Winner.Installation != h.phone.Installation {
				t.Errorf("second met %v", r.Outcome)
			}
			if got := h.task(s.ID).Phase; got != c.want {
				t.Errorf("the task is %v, want %v", got, c.want)
			}
		})
	}
}

// Stopping a task takes its result off the table; nobody can accept it then.
func TestReview_Stopped(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.reviewed("one")
	d := h.offered(held, "The report.")
	h.stop("k", s.ID)
	if got := h.decision(d.ID); got.Status != decision.Canceled || h.task(s.ID).Phase != task.Canceled {
		t.Errorf("the card is %v, the task %v", got.Status, h.task(s.ID).Phase)
	}
	if r := h.answer(h.phone, d, decision.ExitAccept); r.Outcome != decision.Closed {
		t.Errorf("accepting met %v", r.Outcome)
	}
}

// The questions of the server are not the agent's to ask, join or take back.
func TestReview_IsNotTheAgents(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.reviewed("one")
	d := h.offered(held, "The report.")
	_, err := h.app.WithdrawDecision(t.Context(), h.agent, d.ID, app.Obsolete)
	sameNamed(t, "withdrawn by the agent", err, store.ErrNotFound)
	_, other := h.startTask("two")
	_, err = h.app.RequestDecision(t.Context(), h.agent, app.RequestDecision{
		Held: other, Name: "n", Kind: decision.ReviewResult, Title: "Is it?", Items: []decision.Item{{ID: "a", Question: "Is it?"}},
	})
	sameNamed(t, "asked by the agent", err, &decision.InvalidError{Field: "kind", Reason: "NOT_ALLOWED"})
}

// Under a stop a result ends the task without being looked at, also where an
// older one was sent back: nobody has accepted it, so it is shown and it calls.
func TestReview_R8_StoppedIsNotAccepted(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.reviewed("one")
	first := h.offered(held, "The report.")
	if r := h.answerWith(h.phone, first, decision.ExitSendBack, "The sum is missing."); r.Outcome != decision.Applied {
		t.Fatalf("sending back met %v", r.Outcome)
	}
	again := h.claim("again")
	h.stop("k", s.ID)
	w := h.watch(s.Thread)
	_, err := h.app.CompleteTask(t.Context(), h.agent, app.CompleteTask{
		Held: app.Held{Task: s.ID, Lease: again.Task.Lease.ID}, Result: &task.Result{Summary: "The sum."},
	})
	check(t, err)
	e := w.look()
	if got := h.task(s.ID); got.Phase != task.Completed || got.EndPosition == 0 {
		t.Errorf("the task is %v, and its end is at %d of what is worth reading", got.Phase, got.EndPosition)
	}
	if e.Badge.UnreadThreads != 1 || !slices.ContainsFunc(e.Outbox, func(o string) bool { return o != "" }) {
		t.Errorf("a result that nobody has seen left behind %+v", e)
	}
}

// What the agent has not heard when it offers its result wakes it again.
func TestReview_R2_AMessageUnheard(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.reviewed("one")
	_, err := h.app.SendMessage(t.Context(), h.phone.Principal, app.SendMessage{Key: "m", Thread: s.Thread, Text: "And the sum?"})
	check(t, err)
	first := h.offered(held, "The report.")
	if got := h.task(s.ID); got.Phase != task.Ready || first.Status != decision.Pending {
		t.Fatalf("offered with a message unheard, the task is %v and the card %v", got.Phase, first.Status)
	}
	again := h.claim("again")
	if len(again.Signals) != 1 || again.Signals[0].Kind != task.Message {
		t.Fatalf("the next worker hears %+v", again.Signals)
	}
	_, err = h.app.CompleteTask(t.Context(), h.agent, app.CompleteTask{
		Held: app.Held{Task: s.ID, Lease: again.Task.Lease.ID}, Result: &task.Result{Summary: "With the sum."}, Ack: []uint64{again.Signals[0].ID},
	})
	check(t, err)
	if got := h.task(s.ID); got.Phase != task.Waiting || h.decision(first.ID).Revision != 2 {
		t.Errorf("heard and offered anew, the task is %v", got.Phase)
	}
}
