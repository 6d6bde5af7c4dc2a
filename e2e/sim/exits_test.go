package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
)

// move is one thing that somebody does in a world; false where it cannot be
// done.
type move struct {
	name string
	do   func(*world) bool
}

// byPerson is what a person can do from any client.
var byPerson = []move{
	{"stop", func(w *world) bool { return w.do(task.Stop{By: "person"}, start) }},
	{"pause", func(w *world) bool { return w.do(task.Pause{By: "person"}, start) }},
	{"resume", func(w *world) bool { return w.do(task.Resume{}, start) }},
	{"approve", func(w *world) bool { return w.say("approve") }},
	{"deny", func(w *world) bool { return w.say("deny") }},
	{"undo", func(w *world) bool { _, ok := to(&w.ask, decision.RevokeGrant{ID: "grt"}, start); return ok }},
	{"happened", func(w *world) bool { return w.resolve(decision.ExitHappened) }},
	{"do it", func(w *world) bool { return w.resolve(decision.ExitDoIt) }},
	{"skip", func(w *world) bool { return w.resolve(decision.ExitSkip) }},
	{"stop on the card", func(w *world) bool { return w.resolve(decision.ExitStop) }},
	{"accept", func(w *world) bool { return w.accept(decision.ExitAccept) }},
	{"send back", func(w *world) bool { return w.accept(decision.ExitSendBack) }},
	{"write", func(w *world) bool { w.tell(); return true }},
}

// byTime is what happens when nobody does anything.
var byTime = []move{
	{"the lease ends", func(w *world) bool { return w.do(w.lost(false), start) }},
	{"the deadline passes", func(w *world) bool { return w.do(task.Overdue{}, late) }},
	{"the wait ends", func(w *world) bool { return w.do(task.Wake{Satisfied: !w.task.Wait.Until.IsZero()}, start) }},
	{"the question ends", func(w *world) bool {
		_, ok := to(&w.ask, decision.Expire{}, late)
		if ok {
			w.tell()
		}
		return ok
	}},
	{"the grant ends", func(w *world) bool { _, ok := to(&w.ask, decision.ExpireGrants{}, late); return ok }},
}

// byAgent is what an agent, or a lost answer, can do.
var byAgent = []move{
	{"claim", func(w *world) bool {
		return w.do(task.Claim{Lease: task.Lease{ID: "lease", ClaimID: "claim", Length: time.Minute, Until: start.Add(time.Minute)}}, start)
	}},
	{"the lease ends, and there was news", func(w *world) bool { return w.do(w.lost(true), start) }},
	{"ack", func(w *world) bool { return w.do(task.Ack{Lease: w.task.Lease.ID}, start) }},
	{"sleep", func(w *world) bool {
		return w.do(task.Yield{Lease: w.task.Lease.ID, Wait: task.Wait{Mode: task.Any, Until: late}}, start)
	}},
	{"sleep on the question", func(w *world) bool {
		return w.ask.Status == decision.Pending &&
			w.do(task.Yield{Lease: w.task.Lease.ID, Wait: task.Wait{Mode: task.Any, Decisions: []string{"ask"}}}, start)
	}},
	{"yield with news", func(w *world) bool {
		return w.do(task.Yield{Lease: w.task.Lease.ID, Wait: task.Wait{Until: late}, Unacked: true}, start)
	}},
	{"release", func(w *world) bool { return w.do(task.Release{Lease: w.task.Lease.ID}, start) }},
	{"complete", (*world).complete},
	{"fail", func(w *world) bool { return w.do(task.Fail{Lease: w.task.Lease.ID}, start) }},
	{"cancel", func(w *world) bool { return w.do(task.Cancel{By: "server"}, start) }}, // the agent was sent away
	{"ask", (*world).request},
	{"withdraw", func(w *world) bool {
		_, ok := to(&w.ask, decision.Close{To: decision.Withdrawn}, start)
		if ok {
			w.tell()
		}
		return ok
	}},
	{"begin", func(w *world) bool { return w.begin(true) }},
	{"begin, the grant is over", func(w *world) bool { return w.begin(false) }},
	{"it worked", func(w *world) bool { return w.confirm(true, false) }},
	{"it failed", func(w *world) bool { return w.confirm(false, true) }},
	{"it failed, late", func(w *world) bool { return w.confirm(false, false) }},
	{"found", func(w *world) bool {
		return w.run(effect.Report{Generation: w.effect.Generation, Kind: effect.Found})
	}},
	{"not found, says a good probe", func(w *world) bool {
		return w.run(effect.Report{Generation: w.effect.Generation, Kind: effect.NotFound, Authoritative: true})
	}},
}

func (w *world) lost(news bool) task.LoseLease {
	c := task.LoseLease{Lease: w.task.Lease.ID, Unacked: news}
	if w.ask.Status == decision.Pending {
		c.Pending = []string{"ask"}
	}
	return c
}

func (w *world) complete() bool {
	c := task.Complete{Lease: w.task.Lease.ID, Result: &task.Result{Summary: "Done."}}
	if w.task.Review {
		c.Review = "offer"
	}
	before := w.task
	if !w.do(c, start) {
		return false
	}
	if w.task.Offer == "" || w.task.Phase.Terminal() {
		return true
	}
	card := w.question(decision.ReviewResult)
	if before.Offer != "" {
		to(&w.offer, decision.Amend{Card: card}, start)
	} else {
		w.offer = card
	}
	return true
}

// request asks, where no other question or permission of the agent is open.
func (w *world) request() bool {
	armed := len(w.ask.Grants) > 0 && w.ask.Grants[0].State == decision.Armed
	if w.task.Phase != task.Running || w.ask.Status == decision.Pending || armed {
		return false
	}
	class := decision.WriteReversible
	d, err := decision.Ask(decision.State{
		ID: "ask", Kind: decision.ConfirmAction, OnExpiry: decision.TellAgent, ExpireTime: start.Add(time.Hour),
		Items: []decision.Item{{ID: "it", Action: &decision.Action{App: "mail", Operation: "send", ArgsJSON: []byte("{}"), Class: &class}}},
	}, start)
	w.ask = d
	return err == nil
}

// begin asks for GO: by the grant, or for one more generation. More than four
// are like the fourth.
func (w *world) begin(alive bool) bool {
	if w.task.Phase != task.Running || w.task.Hold.Kind != task.HoldNone || w.effect.Generation > effect.MaxGenerations {
		return false
	}
	if w.effect.Status == 0 {
		if _, ok := to(&w.ask, decision.UseGrant{ID: "grt", Effect: "eff", Digest: w.grantDigest()}, start); !ok {
			return false
		}
		w.effect = effect.State{ID: "eff"}
	}
	return w.run(effect.Begin{Digest: proof.Digest{}, Alive: alive})
}

func (w *world) grantDigest() (d decision.Digest) {
	if len(w.ask.Grants) > 0 {
		d = w.ask.Grants[0].Digest
	}
	return d
}

func (w *world) confirm(ok, holder bool) bool {
	if holder && w.task.Phase != task.Running {
		return false
	}
	return w.run(effect.Confirm{Generation: w.effect.Generation, OK: ok, Holder: holder})
}

// paperclip#13640: a task that nothing and nobody could end. Every world that
// people, agents and time can bring about is visited; in each of them
//
//   - something moves the task next, or it has ended, and then for good;
//   - a person can stop it: with nothing but time after that it has ended, no
//     question to the agent's person and no permission is left, and what nobody
//     knows is asked about;
//   - a person can settle what is uncertain, by every way out that the card
//     offers;
//   - a person can lift every hold but STOP, so that the task goes on.
func TestExits_EveryWorldHasThem(t *testing.T) {
	t.Parallel()
	for _, review := range []bool{false, true} {
		for _, attempts := range []int{1, 2} {
			n := visit(t, newWorld(review, attempts))
			t.Logf("review %v, %d attempts: %d worlds", review, attempts, n)
			if n < 1000 {
				t.Errorf("only %d worlds were visited: the moves no longer reach the others", n)
			}
		}
	}
}

// visit goes to every world that can be reached and looks for its exits.
func visit(t *testing.T, first world) int {
	t.Helper()
	moves := slices.Concat(byPerson, byTime, byAgent)
	came := map[string]string{first.key(): ""}
	for queue := []world{first}; len(queue) > 0 && !t.Failed(); queue = queue[1:] {
		w := queue[0]
		path := came[w.key()]
		if problem := w.problem(); problem != "" {
			t.Errorf("%s\n  world %+v\n  reached by%s", problem, w.key(), path)
		}
		for _, m := range moves {
			next := w
			if !m.do(&next) {
				continue
			}
			if w.task.Phase.Terminal() && next.task.Phase != w.task.Phase {
				t.Errorf("%s made a task that was %s %s, reached by%s", m.name, w.task.Phase, next.task.Phase, path)
			}
			key := next.key()
			if _, ok := came[key]; !ok {
				came[key] = path + " → " + m.name
				queue = append(queue, next)
			}
		}
	}
	return len(came)
}

// problem is what is wrong with a world; empty where nothing is.
func (w *world) problem() string {
	open := func(id string) bool {
		return id == "ask" && w.ask.Status == decision.Pending || id == "offer" && w.offer.Status == decision.Pending
	}
	if w.task.NextMover(open, func(string) bool { return false }) == task.NoMover {
		return "nothing moves it"
	}
	if w.effect.Status == effect.Uncertain && w.card.Status != decision.Pending {
		return "nobody is asked what happened"
	}
	if w.task.Phase.Terminal() {
		return w.remains()
	}
	if free := w.freed(); free.task.Hold.Kind != task.HoldNone && free.task.Hold.Kind != task.HoldStop {
		return "nobody can lift the hold " + free.task.Hold.Kind.String()
	}
	stopped := *w
	stopped.do(task.Stop{By: "person"}, start)
	if !stopped.task.Phase.Terminal() {
		for _, news := range []bool{true, false} {
			gone := stopped
			gone.do(gone.lost(news), start)
			if !gone.task.Phase.Terminal() {
				return "stopped, without a worker, and still " + gone.task.Phase.String()
			}
			if problem := gone.remains(); problem != "" {
				return "once it is stopped: " + problem
			}
		}
		return ""
	}
	return stopped.remains()
}

// freed is the world after a person has lifted what can be lifted.
func (w *world) freed() world {
	free := *w
	free.resolve(decision.ExitSkip)
	free.do(task.Resume{}, start)
	return free
}

// remains is what is left open of a task that has ended and should not be, once
// a person has said what happened in any of the offered ways.
func (w *world) remains() string {
	if w.ask.Status == decision.Pending || w.offer.Status == decision.Pending {
		return "it has ended, and a question waits for an answer that helps nobody"
	}
	if len(w.ask.Grants) > 0 && w.ask.Grants[0].State == decision.Armed {
		return "it has ended, and a permission is left"
	}
	if w.effect.Status != effect.Uncertain {
		if w.effect.Unsettled() {
			return "it has ended, and its effect is " + w.effect.Status.String() + " for ever"
		}
		return ""
	}
	exits := exitsOf(w.card)
	if len(exits) == 0 {
		return "the card has no way out"
	}
	for _, o := range exits {
		said := *w
		if o.ID == decision.ExitDoIt || !said.resolve(o.ID) {
			return "the way out " + o.ID + " leads nowhere"
		}
		if said.effect.Unsettled() || said.task.Phase != w.task.Phase {
			return "after " + o.ID + " the effect is still " + said.effect.Status.String()
		}
	}
	return ""
}
