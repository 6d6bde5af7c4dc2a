package sim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// call is one use of a verb.
type call struct {
	// name is the command in the table of visits, text what the story shows.
	name, text string
	// rule is what a wrong answer breaks.
	rule string
	// task and decision are what it is about, for the visits.
	task     *mTask
	decision *mDecision
	// reads: it changes nothing and cannot die at a commit.
	reads bool
	// chatter: it may not move the headers of lists more often than every two
	// seconds.
	chatter bool
	// many: it makes several commits, so an error does not say that there was
	// none.
	many bool

	// do makes the call and puts what the caller saw into words.
	do func() (string, error)
	// judge says what the caller should have seen, and carries it out in the
	// model. It runs after do, and only if the effect is there.
	judge func() string
	// heard is what a caller learns that got the answer.
	heard func()
}

// attempt makes a call in today's weather and judges it.
func (w *world) attempt(c call) {
	w.visit(c)
	crashAt := 0
	if !c.reads && w.chance(30) {
		crashAt = 1
		if c.many {
			crashAt += w.rand.IntN(3)
		}
	}
	w.engine.begin(crashAt, w.chance(2))
	got, err := c.do()
	died := w.engine.dead
	w.engine.dead = false // the checkers look at what it left
	switch {
	case died:
		w.note(c.text, fmt.Sprintf("the process died, %d commits", w.engine.commits))
		if w.engine.commits > 0 {
			c.judge()
		}
		w.learn()
		w.checkHeaders(false)
		w.check()
		w.retry(c)
		w.restart()
	default:
		got = say(got, err)
		commits := w.engine.commits
		want := c.judge()
		lost := w.chance(9)
		w.note(c.text, got+map[bool]string{true: " (never heard)"}[lost])
		w.visits[Cell{answers, firstWord(got), c.name}]++
		if got != want {
			w.failf(c.rule, "%s was answered %q, want %q", c.text, got, want)
		}
		if err != nil && commits > 0 && !c.many {
			w.failf("R29", "%s was refused with %q and still wrote", c.text, got)
		}
		w.learn()
		w.checkHeaders(c.chatter)
		if lost {
			w.retry(c)
		} else if c.heard != nil && err == nil {
			c.heard()
		}
	}
	w.check()
}

// firstWord is what kind of answer it was.
func firstWord(answer string) string {
	word, rest, _ := strings.Cut(answer, " ")
	switch {
	case word == "ok" && isState(rest):
		return rest
	case strings.HasPrefix(word, "tsk_"), word == "next":
		return "ok"
	default:
		return word
	}
}

func isState(word string) bool {
	return word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// retry keeps a call for later: whoever made it did not hear the answer.
func (w *world) retry(c call) {
	if c.reads {
		return
	}
	if len(w.retries) < 6 {
		w.retries = append(w.retries, c)
	}
}

// repeat makes a call again whose answer got lost.
func (w *world) repeat() {
	if len(w.retries) == 0 {
		return
	}
	i := w.rand.IntN(len(w.retries))
	c := w.retries[i]
	w.retries = append(w.retries[:i:i], w.retries[i+1:]...)
	w.attempt(c)
}

// say puts an answer or a refusal into words.
func say(answer string, err error) string {
	var conflict *task.CheckpointConflictError
	var field *app.FieldError
	var step *app.StepUpError
	var quota *app.QuotaError
	var invalid *decision.InvalidError
	switch {
	case err == nil:
		return answer
	case errors.Is(err, task.ErrLeaseLost):
		return "LEASE_LOST"
	case errors.Is(err, task.ErrEmptyWait):
		return "EMPTY_WAIT"
	case errors.Is(err, store.ErrNotFound):
		return "NOT_FOUND"
	case errors.Is(err, thread.ErrNoAgent):
		return "NO_AGENT"
	case errors.Is(err, app.ErrKeyReused):
		return "KEY_REUSED"
	case errors.Is(err, app.ErrDeniedBefore):
		return "DENIED_BEFORE"
	case errors.Is(err, app.ErrKillSwitch):
		return "KILL_SWITCH"
	case errors.As(err, &step):
		return "STEP_UP"
	case errors.Is(err, app.ErrCeiling):
		return "CEILING"
	case errors.Is(err, app.ErrClosed):
		return "CLOSED"
	case errors.Is(err, app.ErrTaskEnded):
		return "TASK_ENDED"
	case errors.Is(err, app.ErrProof):
		return "BAD_PROOF"
	case errors.Is(err, app.ErrTapSpent):
		return "BAD_TAP"
	case errors.As(err, &conflict):
		return fmt.Sprintf("CONFLICT %d", conflict.Version)
	case errors.As(err, &field):
		return "FIELD " + field.Field
	case errors.As(err, &quota):
		return "QUOTA"
	case errors.As(err, &invalid):
		return "INVALID"
	default:
		return "error: " + err.Error()
	}
}

// onceOnly is what an idempotency key makes of a call: the first answer again,
// or a refusal of another body.
func (w *world) onceOnly(caller, key, body string, run func() (string, bool)) string {
	name := caller + " " + key
	if have, ok := w.model.once[name]; ok && w.now().Before(have.until) {
		if have.body != body {
			return "KEY_REUSED"
		}
		return have.answer
	}
	answer, done := run()
	if done {
		w.model.once[name] = remembered{body: body, answer: answer, until: w.now().Add(w.model.limits.remember)}
	}
	return answer
}
