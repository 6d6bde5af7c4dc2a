package sim_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// world is a task with at most one question of its agent, one effect, one card
// about that effect and one offered result: all life cycles together, as a
// server joins them. Times stand still: what time brings about is a move.
type world struct {
	task   task.State
	ask    decision.State // asked by the agent
	effect effect.State
	card   decision.State // RESOLVE_UNCERTAIN
	offer  decision.State // REVIEW_RESULT
}

var (
	start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	late  = start.Add(48 * time.Hour) // past every deadline
)

// newWorld is a task that nobody has claimed.
func newWorld(review bool, attempts int) world {
	s := task.State{ID: "tsk", MaxAttempts: attempts, Review: review, Deadline: start.Add(time.Hour)}
	return world{task: task.Create(s, task.Lease{}, start)}
}

// key is all of a world that what follows depends on. Ways in which a question
// or a permission can be over are one here: nothing changes it any more.
func (w *world) key() string {
	s, e := w.task, w.effect
	armed := len(w.ask.Grants) > 0 && w.ask.Grants[0].State == decision.Armed
	open := func(d decision.State) bool { return d.Status == decision.Pending }
	return fmt.Sprint(s.Phase, s.Hold.Kind, s.Below.Kind, s.Expiring, s.Lease.ID, s.Attempts, s.Wait.Decisions, s.Wait.Until.IsZero(), s.Offer,
		"|", open(w.ask), armed, "|", e.Status, min(e.Generation, effect.MaxGenerations), e.Opening, e.TaskEnded,
		"|", open(w.card), len(exitsOf(w.card)), "|", open(w.offer))
}

func exitsOf(d decision.State) []decision.Option {
	if len(d.Items) == 0 {
		return nil
	}
	return d.Items[0].Options
}

// do gives the task a command, with all that follows; false where it is refused
// or has nothing to do.
func (w *world) do(c task.Command, now time.Time) bool {
	before := w.task
	events, err := task.Decide(before, c, now)
	if err != nil || len(events) == 0 {
		return false
	}
	w.task = task.ApplyAll(before, events, start)
	w.task.Ended = task.Ended{} // repeats of a lost answer decide nothing
	switch {
	case w.task.Phase.Terminal():
		w.end()
	case task.Lifted(before, w.task):
		w.tell()
	case before.Phase == task.Running && w.task.Phase != task.Running:
		w.run(effect.LoseLease{})
	}
	return true
}

// tell is a signal that wakes by itself.
func (w *world) tell() { w.do(task.Wake{Waking: true}, start) }

// end is what the end of a task means for the rest.
func (w *world) end() {
	for _, d := range []*decision.State{&w.ask, &w.offer} {
		to(d, decision.Close{To: decision.Canceled}, start)
		to(d, decision.VoidGrants{}, start)
	}
	w.run(effect.EndTask{})
}

// to gives a decision a command.
func to(d *decision.State, c decision.Command, now time.Time) (decision.Outcome, bool) {
	if d.Status == 0 {
		return 0, false
	}
	events, outcome, err := decision.Decide(*d, c, now)
	if err != nil {
		return outcome, false
	}
	*d = decision.ApplyAll(*d, events, start)
	return outcome, len(events) > 0
}

// run gives the effect a command, with all that follows.
func (w *world) run(c effect.Command) bool {
	before := w.effect
	if _, begins := c.(effect.Begin); before.Status == 0 && !begins {
		return false
	}
	events, _, err := effect.Decide(before, c, start)
	if err != nil || len(events) == 0 {
		return false
	}
	w.effect = effect.ApplyAll(before, events, start)
	w.effect.Evidence, w.effect.Dropped = nil, 0 // decides nothing
	is := w.effect.Status == effect.Uncertain
	switch {
	case is && before.Status != effect.Uncertain:
		w.card = w.question(decision.ResolveUncertain)
		if w.do(task.Review{}, start); !w.task.Phase.Terminal() {
			w.tell()
		}
	case is && before.TaskEnded != w.effect.TaskEnded:
		to(&w.card, decision.Amend{Card: w.question(decision.ResolveUncertain)}, start)
	case !is && before.Status == effect.Uncertain:
		to(&w.card, decision.Close{To: decision.Withdrawn}, start)
		w.tell()
		if w.effect.Exit != effect.StopTask {
			w.do(task.Clear{}, start)
		}
	}
	return true
}

// question is a card of the server, with the ways out that there are.
func (w *world) question(kind decision.Kind) decision.State {
	d := decision.State{ID: kind.String(), Kind: kind, Items: []decision.Item{{ID: "it", Question: "?"}}}
	if kind == decision.ResolveUncertain {
		d.Items[0].Action = &decision.Action{App: "mail", Operation: "send", ArgsJSON: []byte("{}")}
		d.Items[0].Options = slices.DeleteFunc(decision.Exits(kind), func(o decision.Option) bool {
			return !slices.Contains(w.effect.Exits(), meaning[o.ID])
		})
	}
	return decision.AskByServer(d, start)
}

var meaning = map[string]effect.Exit{
	decision.ExitHappened: effect.Happened, decision.ExitDoIt: effect.DoIt,
	decision.ExitSkip: effect.Skip, decision.ExitStop: effect.StopTask,
}

// reply answers a question of one item with one option.
func reply(d *decision.State, option, text string) bool {
	o, _ := to(d, decision.GiveAnswer{
		Revision: d.Revision, Asked: d.Asked, Given: decision.StepVerified, Needed: decision.StepProof, GrantIDs: []string{"grt"},
		Answer: decision.Answer{Items: []decision.AnswerItem{{Item: "it", Options: []string{option}, Text: text}}},
	}, start)
	return o == decision.Applied
}

// resolve is a person who says what happened.
func (w *world) resolve(exit string) bool {
	if !reply(&w.card, exit, "") {
		return false
	}
	w.run(effect.Resolve{Exit: meaning[exit], By: "person", Until: start.Add(time.Hour)})
	if exit == decision.ExitStop {
		w.do(task.Stop{By: "person"}, start)
	}
	return true
}

// accept is a person's word about the offered result.
func (w *world) accept(exit string) bool {
	text := ""
	if exit == decision.ExitSendBack {
		text = "Not yet."
	}
	if !reply(&w.offer, exit, text) {
		return false
	}
	if exit == decision.ExitAccept {
		return w.do(task.Accept{}, start)
	}
	w.do(task.SendBack{}, start)
	w.tell()
	return true
}

// say answers the agent's question.
func (w *world) say(option string) bool {
	if !reply(&w.ask, option, "") {
		return false
	}
	w.tell()
	return true
}
