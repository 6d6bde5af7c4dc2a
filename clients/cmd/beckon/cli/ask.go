package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

const actionHelp = "For a question about an action: "

type askCommand struct {
	Question   string        `arg:""                                                                                                             help:"One line, at most 1,024 bytes."`
	YesNo      bool          `help:"Ask for yes or no; this is the default."                                                                     xor:"shape"`
	Option     []string      `help:"One of several answers to choose from, 'id=label'; repeat it."                                               placeholder:"ID=LABEL"                                                                                              sep:"none"  xor:"shape"`
	FreeText   bool          `help:"Ask for a text."                                                                                             xor:"shape"`
	App        string        `help:"${actions}the program or service acted on."                                                                  xor:"shape"`
	Connection string        `help:"${actions}which account or place of it."`
	Operation  string        `help:"${actions}what is done."`
	Args       string        `help:"${actions}its arguments, a JSON object."                                                                     placeholder:"JSON"`
	Target     string        `help:"${actions}what it is done to, a JSON value."                                                                 placeholder:"JSON"`
	Class      int           `default:"-1"                                                                                                       help:"${actions}how much harm it can do, 0 (reads what is public) to 4 (money, cannot be undone); 3 when left out."`
	Reason     string        `help:"Why you ask, in your words; at most 2,048 bytes."`
	Timeout    time.Duration `help:"How long the person has, 1s to 720h; no end when left out."`
	Key        string        `help:"Name of the question: asked again under the same name, it is the same question, also after it was answered."`
	KeyFile    string        `help:"Outside of 'beckon run': file with the agent's key."                                                         placeholder:"FILE"                                                                                                  type:"path"`
}

// Help is shown under the line about the command.
func (askCommand) Help() string {
	return `The chosen option, or the text, is printed. Exit status: 0 yes, approved, chosen or written; 1 no; 2 the question makes no sense; 3 nobody answered in time; 4 it was taken back or its task ended; 125 Beckon failed, so nothing is known.

Inside 'beckon run' the question belongs to that task; elsewhere it gets a task of its own. An approval is the person's permission for this one action; Beckon itself runs nothing. Without --key, ending this command takes the question back; with it, run the command again to go on waiting.`
}

// Run asks and waits.
func (c askCommand) Run(s *session) error {
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
	if own != nil {
		keep := w.KeepAlive(context.WithoutCancel(s.ctx))
		defer keep.Close()
		news = keep.News()
		req.OnExpiry = v1.OnExpiry_ON_EXPIRY_STOP_TASK // its task is for nothing else
	}
	d, err := w.Ask(s.ctx, req)
	if beckon.ReasonOf(err) == beckon.ReasonDeniedBefore {
		return exit{exitNo, "the person has denied exactly this in this task; it can be asked again once they have written in the thread"}
	}
	if err == nil && d.GetState() == v1.DecisionState_DECISION_STATE_PENDING {
		s.notef("asked; waiting for an answer to %s", d.GetId())
		d, err = s.await(w, d.GetId(), news)
	}
	if err != nil {
		if own != nil && beckon.ReasonOf(err) == beckon.ReasonKillSwitch {
			// The question cannot be taken back now; a task that is given back is
			// canceled with it. A keyed one waits until the switch is off.
			_, _ = w.Release(context.WithoutCancel(s.ctx))
			return err
		}
		c.leave(s, w, own, req)
		return err
	}
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
		sum := sha256.Sum256([]byte("beckon ask\x00" + c.Key))
		req.IdempotencyKey, req.MaxAttempts = "ask-"+hex.EncodeToString(sum[:16]), 0
		req.Claim.ClaimId = req.GetIdempotencyKey()
	}
	w, err = agent.Start(s.ctx, req)
	return w, &owner{agent}, err
}

// leave takes the question back when nobody waits for it any more.
func (c askCommand) leave(s *session, w *beckon.Work, own *owner, req *v1.RequestDecisionRequest) {
	if c.Key != "" {
		s.notef("the question stays open; run the same command again to wait for its answer")
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 5*time.Second)
	defer cancel()
	// The answer to the first request may never have arrived; asking again
	// under the same key finds the question either way.
	d, err := w.Ask(ctx, req)
	if err == nil {
		_, err = w.API().Decisions.WithdrawDecision(ctx, &v1.WithdrawDecisionRequest{
			DecisionId: d.GetId(), Reason: v1.WithdrawReason_WITHDRAW_REASON_OBSOLETE,
		})
	}
	if err != nil {
		s.notef("the question could not be taken back: %v", err)
	}
	if own != nil {
		_, _ = w.Fail(ctx, &v1.TaskFailure{Code: "interrupted", Text: "The program stopped waiting before there was an answer."})
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
		if d.GetKind() == v1.DecisionKind_DECISION_KIND_TEXT {
			s.sayf("%s", got.GetText())
		} else {
			s.sayf("%s", strings.Join(got.GetOptionIds(), ","))
		}
		if d.GetKind() != v1.DecisionKind_DECISION_KIND_TEXT && got.GetText() != "" {
			s.notef("with the words: %s", got.GetText())
		}
	}
	for _, id := range got.GetOptionIds() {
		if !raises(d, id) {
			return exit{code: exitNo}
		}
	}
	return nil
}

// request makes the question, or says what is wrong with it.
func (c askCommand) request() (*v1.RequestDecisionRequest, error) {
	q := strings.TrimSpace(c.Question)
	switch {
	case q == "" || !utf8.ValidString(q):
		return nil, usage("the question has to be a text")
	case len(q) > 1024:
		return nil, usage("the question has %d bytes, at most 1024 are shown; say more in --reason", len(q))
	case len(c.Reason) > 2048:
		return nil, usage("--reason has %d bytes, at most 2048 are shown", len(c.Reason))
	case c.Timeout != 0 && (c.Timeout < time.Second || c.Timeout > 720*time.Hour):
		return nil, usage("--timeout is from 1s to 720h")
	}
	req := &v1.RequestDecisionRequest{Key: c.Key, Title: shorten(q, 120, 480), AgentReason: c.Reason}
	if req.GetKey() == "" {
		req.Key = beckon.NewID()
	}
	if c.Timeout != 0 {
		req.Timeout = durationpb.New(c.Timeout)
	}
	item := &v1.DecisionItem{Id: "q", Question: q}
	req.Items = []*v1.DecisionItem{item}
	var err error
	req.Kind, err = c.shape(item)
	return req, err
}

// shape fills in how the question can be answered.
func (c askCommand) shape(item *v1.DecisionItem) (v1.DecisionKind, error) {
	const choose = v1.OptionKind_OPTION_KIND_CHOOSE
	switch {
	case c.App != "":
		return v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, c.action(item)
	case c.Operation != "" || c.Args != "" || c.Target != "" || c.Connection != "" || c.Class != -1:
		return 0, usage("a question about an action needs --app, --operation and --args")
	case c.FreeText:
		return v1.DecisionKind_DECISION_KIND_TEXT, nil
	case len(c.Option) == 0:
		item.Options = []*v1.Option{
			{Id: "yes", Label: "Yes", Kind: choose, Text: v1.TextRule_TEXT_RULE_NONE},
			{Id: "no", Label: "No", Kind: v1.OptionKind_OPTION_KIND_REJECT_ONCE, Text: v1.TextRule_TEXT_RULE_OPTIONAL},
		}
		return v1.DecisionKind_DECISION_KIND_CHOOSE, nil
	}
	for _, option := range c.Option {
		id, label, found := strings.Cut(option, "=")
		if !found {
			label = id
		}
		if id == "" || label == "" || len(id) > 64 || utf8.RuneCountInString(label) > 60 {
			return 0, usage("--option is ID=LABEL, at most 64 bytes and 60 characters: %q", option)
		}
		item.Options = append(item.Options, &v1.Option{Id: id, Label: label, Kind: choose})
	}
	if n := len(item.GetOptions()); n < 2 || n > 8 {
		return 0, usage("a choice has 2 to 8 options, not %d", n)
	}
	return v1.DecisionKind_DECISION_KIND_CHOOSE, nil
}

func (c askCommand) action(item *v1.DecisionItem) error {
	switch {
	case c.Operation == "":
		return usage("what is done? add --operation")
	case c.Args == "":
		return usage("with which arguments? add --args '{…}', or '{}' for none")
	case c.Class < -1 || c.Class > 4:
		return usage("--class is from 0 to 4")
	}
	item.Action = &v1.Action{
		App: c.App, Connection: c.Connection, Operation: c.Operation, ArgsJson: []byte(c.Args), TargetJson: []byte(c.Target),
		EffectClass: v1.EffectClass(c.Class + 1),
	}
	return nil
}
