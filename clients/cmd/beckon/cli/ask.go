package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/alecthomas/kong"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

const actionHelp = "For a question about an action: "

type askCommand struct {
	Question   string         `arg:""                                                                                                             help:"One line, at most 1,024 bytes."`
	YesNo      bool           `help:"Ask for yes or no; this is the default."                                                                     xor:"shape"`
	Option     []string       `help:"One of several answers to choose from, 'id=label'; repeat it."                                               placeholder:"ID=LABEL"                                                                                              sep:"none"  xor:"shape"`
	FreeText   bool           `help:"Ask for a text."                                                                                             xor:"shape"`
	Most       int            `default:"1"                                                                                                        help:"With --option: how many may be chosen together."`
	Form       string         `help:"Ask to fill in a form: file with its JSON Schema."                                                           placeholder:"FILE"                                                                                                  type:"path" xor:"shape"`
	Open       string         `help:"Ask to open an https page and to say when it is done."                                                       placeholder:"URL"                                                                                                   xor:"shape"`
	Edit       bool           `help:"${actions}the person may change its arguments."`
	ArgsSchema string         `help:"${actions}file with the JSON Schema that changed arguments have to satisfy."                                 placeholder:"FILE"                                                                                                  type:"path"`
	App        string         `help:"${actions}the program or service acted on."                                                                  xor:"shape"`
	Connection string         `help:"${actions}which account or place of it."`
	Operation  string         `help:"${actions}what is done."`
	Args       string         `help:"${actions}its arguments, a JSON object."                                                                     placeholder:"JSON"`
	Target     string         `help:"${actions}what it is done to, a JSON value."                                                                 placeholder:"JSON"`
	Class      int            `default:"-1"                                                                                                       help:"${actions}how much harm it can do, 0 (reads what is public) to 4 (money, cannot be undone); 3 when left out."`
	Reason     string         `help:"Why you ask, in your words; at most 2,048 bytes."`
	Timeout    *time.Duration `help:"How long the person has, 1s to 720h; no end when left out."`
	Key        keyName        `help:"Name of the question: asked again under the same name, it is the same question, also after it was answered."`
	KeyFile    string         `help:"Outside of 'beckon run': file with the agent's key."                                                         placeholder:"FILE"                                                                                                  type:"path"`
}

// keyName is a name that was given: an empty one, as of a variable that is not
// set, must not ask without a name.
type keyName string

// Decode reads the flag.
func (k *keyName) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("name", &text); err != nil {
		return err
	}
	if text == "" {
		return errors.New("it has to be a name; leave it out to ask a new question each time")
	}
	*k = keyName(text)
	return nil
}

// Help is shown under the line about the command.
func (askCommand) Help() string {
	return `The chosen option, the text, or the form is printed, and on a line of their own the arguments if the person changed them. Exit status: 0 yes, approved, chosen or written; 1 no; 2 the question makes no sense; 3 nobody answered in time; 4 it was taken back or its task ended; 125 Beckon failed, so nothing is known.

Inside 'beckon run' the question belongs to that task; elsewhere it gets a task of its own. An approval is the person's permission for this one action; Beckon itself runs nothing. Without --key, ending this command takes the question back; with it, run the command again to go on waiting.`
}

// Run asks and waits.
func (c askCommand) Run(s *session) error {
	if c.Most < 1 || c.Most > 8 {
		return usage("--most is from 1 to 8")
	}
	req, err := c.request()
	if err != nil {
		return err
	}
	w, own, err := c.work(s, req.GetTitle())
	if err != nil {
		return err
	}
	defer w.API().Close()
	var news <-chan beckon.News
	endBeats := func() {}
	if own != nil {
		keep := w.KeepAlive(context.WithoutCancel(s.ctx))
		endBeats = keep.Close
		defer endBeats()
		news = keep.News()
		req.OnExpiry = v1.OnExpiry_ON_EXPIRY_STOP_TASK // its task is for nothing else
	}
	d, err := w.Ask(s.ctx, req)
	if beckon.ReasonOf(err) == beckon.ReasonDeniedBefore {
		return exit{exitNo, "the person has denied exactly this in this task; it can be asked again once they have written in the thread"}
	}
	if refused(err) {
		c.drop(s, w, own, err)
		return fmt.Errorf("nothing was asked: %w", err)
	}
	if err == nil && d.GetState() == v1.DecisionState_DECISION_STATE_PENDING {
		id := d.GetId()
		s.notef("asked; waiting for an answer to %s", id)
		if d, err = s.await(w, id, news); err != nil {
			if own != nil && beckon.ReasonOf(err) == beckon.ReasonKillSwitch {
				c.drop(s, w, own, err)
				return err
			}
			c.leave(s, w, own, id)
			return err
		}
	}
	if err != nil {
		c.doubt(s, w, own, req)
		return err
	}
	endBeats() // before the task ends, or the last one would find no lease
	c.finish(s, w, own, d)
	return s.asked(d)
}

// errStopped: the person stopped the task that was made for the question.
var errStopped = errors.New("stopped")

// await waits for the end of a question. A stop of its own task ends the wait:
// giving the task back is then what closes the question.
func (s *session) await(w *beckon.Work, id string, news <-chan beckon.News) (*v1.Decision, error) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case n := <-news:
				if n.Hold.GetKind() == v1.HoldKind_HOLD_KIND_STOP {
					cancel(errStopped)
				}
			}
		}
	}()
	d, err := w.Wait(ctx, id)
	stopped := errors.Is(context.Cause(ctx), errStopped)
	cancel(nil)
	<-done
	if err == nil || !stopped {
		return d, err
	}
	res, err := w.API().Decisions.GetDecision(s.ctx, &v1.GetDecisionRequest{DecisionId: id})
	if err == nil && res.GetDecision().GetState() == v1.DecisionState_DECISION_STATE_PENDING {
		if _, err = w.Release(s.ctx); err == nil {
			res, err = w.API().Decisions.GetDecision(s.ctx, &v1.GetDecisionRequest{DecisionId: id})
		}
	}
	return res.GetDecision(), err
}

// owner is the agent that has made a task for the question alone.
type owner struct{ agent *beckon.Agent }

// work is the task to ask in. own is set when it was made for this question.
func (c askCommand) work(s *session, title string) (w *beckon.Work, own *owner, err error) {
	if path := os.Getenv(beckon.EnvTaskFile); path != "" && c.KeyFile == "" {
		w, err = beckon.OpenTask(path, s.options())
		return w, nil, err
	}
	agent, err := beckon.AgentFromEnv(c.KeyFile, s.options())
	if err != nil {
		return nil, nil, err
	}
	req := &v1.CreateTaskRequest{Title: title, MaxAttempts: 1, NoMessages: true, Claim: &v1.ClaimOptions{}}
	if c.Key != "" {
		// The same names give the same task, and one that survives its asker.
		sum := sha256.Sum256([]byte("beckon ask\x00" + string(c.Key)))
		req.IdempotencyKey, req.MaxAttempts = "ask-"+hex.EncodeToString(sum[:16]), 0
		req.Claim.ClaimId = req.GetIdempotencyKey()
	}
	w, err = agent.Start(s.ctx, req)
	return w, &owner{agent}, err
}

// refused reports that the server has judged a question and not taken it, so
// that nobody was asked. Without its word nobody can say.
func refused(err error) bool {
	e, ok := errors.AsType[*beckon.Error](err)
	if !ok || e.Reason == "" || e.Reason == beckon.ReasonUnreachable {
		return false
	}
	switch e.Code {
	case connect.CodeUnavailable, connect.CodeCanceled, connect.CodeDeadlineExceeded,
		connect.CodeInternal, connect.CodeUnknown, connect.CodeDataLoss:
		return false
	default:
		return true
	}
}

// drop ends the task that was made for a question nobody was asked. A task that
// holds an earlier question of this name is not ours to end.
func (c askCommand) drop(s *session, w *beckon.Work, own *owner, err error) {
	if own == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 5*time.Second)
	defer cancel()
	switch beckon.ReasonOf(err) {
	case beckon.ReasonKillSwitch:
		// A task that is given back under the switch is canceled; a keyed one
		// waits until it is off.
		_, _ = w.Release(ctx)
		return
	case beckon.ReasonKeyReused, beckon.ReasonLeaseLost, beckon.ReasonTaskEnded:
		return
	}
	if c.Key != "" {
		res, err := own.agent.Tasks.GetTask(ctx, &v1.GetTaskRequest{TaskId: w.ID()})
		if err != nil || len(res.GetDecisions()) > 0 {
			return
		}
	}
	_ = w.GiveUp(ctx, "the server did not take the question, so nothing was asked")
}

// leave takes a question back when nobody waits for it any more.
func (c askCommand) leave(s *session, w *beckon.Work, own *owner, id string) {
	if c.Key != "" {
		s.notef("the question stays open; run the same command again to wait for its answer")
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 5*time.Second)
	defer cancel()
	_, err := w.API().Decisions.WithdrawDecision(ctx, &v1.WithdrawDecisionRequest{
		DecisionId: id, Reason: v1.WithdrawReason_WITHDRAW_REASON_OBSOLETE,
	})
	switch {
	case beckon.ReasonOf(err) == beckon.ReasonKillSwitch && own != nil:
		_, _ = w.Release(ctx) // cancels the task, and the question with it
		return
	case err != nil:
		s.notef("the question could not be taken back: %v", err)
	}
	own.giveUp(ctx, w)
}

// doubt is for a question whose first request was never answered: it may stand
// or not. Asking again under the same name finds it either way.
func (c askCommand) doubt(s *session, w *beckon.Work, own *owner, req *v1.RequestDecisionRequest) {
	if c.Key != "" {
		s.notef("nobody knows whether it was asked; run the same command again to ask it or to wait for its answer")
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 5*time.Second)
	defer cancel()
	d, err := w.Ask(ctx, req)
	switch {
	case err == nil:
		c.leave(s, w, own, d.GetId())
		return
	case !refused(err):
		s.notef("nobody knows whether it was asked, and it could not be taken back: %v", err)
	}
	own.giveUp(ctx, w)
}

// giveUp ends the task that was made for a question nobody waits for; nil has
// none.
func (o *owner) giveUp(ctx context.Context, w *beckon.Work) {
	if o != nil {
		_ = w.GiveUp(ctx, "the program stopped waiting before there was an answer")
	}
}

// finish tells the server that the answer has arrived, and ends a task that was
// made for the question. Neither changes the answer, so failing is only noted.
func (c askCommand) finish(s *session, w *beckon.Work, own *owner, d *v1.Decision) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 10*time.Second)
	defer cancel()
	if own == nil {
		if err := w.AckAnswer(ctx, d.GetId()); err != nil && beckon.ReasonOf(err) != beckon.ReasonLeaseLost {
			s.notef("the answer could not be acknowledged: %v", err)
		}
		return
	}
	if err := own.end(ctx, w, d); err != nil && beckon.ReasonOf(err) != "NOT_CLAIMABLE" {
		s.notef("the task of the question could not be closed: %v", err)
	}
}

// end closes the question's own task: silently, as the person has just dealt
// with it, or canceled when there was no answer.
func (o *owner) end(ctx context.Context, w *beckon.Work, d *v1.Decision) error {
	end := func(w *beckon.Work) error {
		if d.GetState() != v1.DecisionState_DECISION_STATE_RESOLVED {
			_, err := w.Release(ctx) // a repeat after a stop is answered alike
			return err
		}
		if err := w.AckAnswer(ctx, d.GetId()); err != nil {
			return err
		}
		_, err := w.Complete(ctx, nil)
		return err
	}
	err := end(w)
	if beckon.ReasonOf(err) != beckon.ReasonLeaseLost {
		return err
	}
	// An earlier asker under the same key has lost the lease: the answer has
	// made the task ready, or it has ended.
	res, err := o.agent.Tasks.GetTask(ctx, &v1.GetTaskRequest{TaskId: w.ID()})
	if err != nil || res.GetTask().GetEndTime() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	again, err := o.agent.Claim(ctx, &v1.ClaimTaskRequest{TaskId: w.ID(), Claim: &v1.ClaimOptions{}})
	if err != nil {
		return err
	}
	return end(again)
}

// asked prints the answer and gives its status.
func (s *session) asked(d *v1.Decision) error {
	if s.line.JSON {
		if err := s.print(decisionViewOf(d)); err != nil {
			return err
		}
	}
	switch d.GetState() {
	case v1.DecisionState_DECISION_STATE_RESOLVED:
	case v1.DecisionState_DECISION_STATE_EXPIRED:
		return exit{exitLate, "nobody answered in time; that is neither a yes nor a no"}
	default:
		return exit{exitClosed, "the question was " + word(d.GetState()) + ": " + oneLine(d.GetCloseReason())}
	}
	if len(d.GetAnswer().GetItems()) != 1 || len(d.GetItems()) != 1 {
		return errors.New("the answer does not fit the question")
	}
	got := d.GetAnswer().GetItems()[0]
	if !s.line.JSON {
		switch {
		case d.GetKind() == v1.DecisionKind_DECISION_KIND_TEXT:
			s.words(got.GetText())
		case len(got.GetContentJson()) > 0:
			s.sayf("%s", got.GetContentJson())
		default:
			s.sayf("%s", strings.Join(got.GetOptionIds(), ","))
		}
		if len(got.GetEditedArgsJson()) > 0 {
			s.sayf("%s", got.GetEditedArgsJson())
		}
		if d.GetKind() != v1.DecisionKind_DECISION_KIND_TEXT && got.GetText() != "" {
			s.notef("with the words: %s", got.GetText())
		}
	}
	if !raises(d, []*v1.AnswerItem{got}) {
		return exit{code: exitNo}
	}
	return nil
}
