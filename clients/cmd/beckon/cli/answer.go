package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

func newKey() string { return beckon.NewID() }

type answerCommand struct {
	ID      string   `arg:""                                                                                                                      help:"The decision."                                                                                                                               name:"id"`
	Option  []string `arg:""                                                                                                                      help:"The option, by its name in brackets or its number; several where the question takes several; ITEM=OPTION where there are several questions."`
	Text    string   `help:"A text, where the option takes one."`
	Args    string   `help:"With an option that edits: a file with the whole arguments, or - for standard input; without it $$EDITOR is started." placeholder:"FILE"`
	Set     []string `help:"Of a form: one field; repeat it."                                                                                     placeholder:"NAME=VALUE"                                                                                                                           sep:"none"`
	Content string   `help:"Of a form: a file with the whole JSON object, or - for standard input."                                               placeholder:"FILE"`
}

// Help is shown under the line about the command.
func (answerCommand) Help() string {
	return "A result that waits for your word is answered alike: 'beckon answer dec_… accept', or 'send_back --text \"what is missing\"'.\n\n" +
		"Refusing works from anywhere. Anything else needs a terminal with a person at it, outside of 'beckon run': " +
		"up to class 1 always, class 2 for 15 minutes after an unlock (see 'beckon unlock'), class 3 and 4 never.\n\n" +
		"Exit status: 0 recorded, or the same answer was there; 1 not recorded: another answer was first, the question has changed, " +
		"it has to be answered elsewhere, or you did not confirm; 2 the command makes no sense, as with no such decision or option; " +
		"3 too late; 4 it was taken back or its task ended; 125 Beckon failed, so nothing is known."
}

type answeredView struct {
	Outcome    string       `json:"outcome"`
	Winner     *answerView  `json:"winner,omitempty"`
	NeededStep string       `json:"needed_step,omitempty"`
	Decision   decisionView `json:"decision"`
}

// Run shows the card, asks once more where a person is there, and answers.
func (c answerCommand) Run(s *session) error {
	if err := s.id(c.ID, "dec"); err != nil {
		return err
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	got, err := p.Decisions.GetDecision(s.ctx, &v1.GetDecisionRequest{DecisionId: c.ID})
	if err != nil {
		return err
	}
	d := got.GetDecision()
	items, err := c.compose(s, d)
	if err != nil {
		return err
	}
	interactive, alone := false, "" // why nobody counts as being there
	if d.GetState() == v1.DecisionState_DECISION_STATE_PENDING && raises(d, items) {
		if os.Getenv(beckon.EnvTaskFile) != "" {
			alone = beckon.EnvTaskFile + " is set, as inside 'beckon run', and an agent's command can only refuse"
		} else if interactive, err = s.confirm(p, d, items); err != nil {
			return err
		} else if !interactive {
			alone = "standard input is no terminal with a person at it, and without one this can only refuse"
		}
	}
	res, err := p.Answer(s.ctx, d, beckon.Answer{
		Items: items, Surface: v1.Surface_SURFACE_TERMINAL, Interactive: interactive,
	})
	if err != nil {
		return err
	}
	return s.answered(res, alone)
}

// raises reports whether an answer does anything but refuse or dismiss.
func raises(d *v1.Decision, items []*v1.AnswerItem) bool {
	for _, a := range items {
		for _, id := range a.GetOptionIds() {
			if !lowers(d, a.GetItemId(), id) {
				return true
			}
		}
	}
	return false
}

// lowers reports whether an option lets nothing happen.
func lowers(d *v1.Decision, item, option string) bool {
	for _, it := range d.GetItems() {
		for _, o := range it.GetOptions() {
			if it.GetId() != item || o.GetId() != option {
				continue
			}
			switch o.GetKind() {
			case v1.OptionKind_OPTION_KIND_REJECT_ONCE, v1.OptionKind_OPTION_KIND_IGNORE, v1.OptionKind_OPTION_KIND_CANCEL:
				return true
			default:
				return false
			}
		}
	}
	return false
}

// confirm is what makes an answer interactive: the whole card, with what the
// person changed in it as the server reads it, was on the screen
// of a real terminal and somebody typed a word there. It reports false where
// there is no such terminal. Neither card nor word goes through standard input
// and output, which a program may hold.
func (s *session) confirm(p *beckon.Person, d *v1.Decision, items []*v1.AnswerItem) (bool, error) {
	if !term.IsTerminal(int(s.in.Fd())) {
		return false, nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false, nil
	}
	defer func() { _ = tty.Close() }()
	screen := *s
	screen.in, screen.out, screen.err, screen.lines = tty, tty, tty, nil
	card := decisionViewOf(d)
	card.Agent = s.agentName(p, card.AgentID)
	screen.printDecision(card)
	var words []string
	for _, it := range items {
		words = append(words, it.GetOptionIds()...)
		if err := screen.printParts(s.ctx, p, d, it); err != nil {
			return false, err
		}
	}
	typed, err := screen.readLine("Answer " + oneLine(strings.Join(words, ", ")) + "? [y/N] ")
	if err != nil {
		return false, err
	}
	if t := strings.ToLower(typed); t != "y" && t != "yes" {
		return false, exit{exitNo, "nothing was answered"}
	}
	return true, nil
}

// printParts prints what the person puts in place of the agent's arguments, as
// the server reads it, and the form as it will be sent.
func (s *session) printParts(ctx context.Context, p *beckon.Person, d *v1.Decision, it *v1.AnswerItem) error {
	if text := it.GetText(); text != "" {
		s.sayf("you send:")
		s.fact("text", text)
	}
	if content := it.GetContentJson(); len(content) > 0 {
		s.sayf("you send:")
		s.fact("form", string(content))
	}
	if len(it.GetEditedArgsJson()) == 0 {
		return nil
	}
	facts, err := p.PreviewEdit(ctx, d, it.GetItemId(), it.GetEditedArgsJson())
	if err != nil {
		return err
	}
	s.sayf("with your changes:")
	for _, f := range facts {
		s.fact(f.GetLabel(), f.GetValue()+markedHint(f.GetMarked()))
	}
	return nil
}

// answered tells what an answer met; losing has a status of its own. alone is why
// nobody was there to confirm it, "" when somebody was.
func (s *session) answered(res *v1.AnswerDecisionResponse, alone string) error {
	v := answeredView{Outcome: word(res.GetOutcome()), NeededStep: word(res.GetNeededStep()), Decision: decisionViewOf(res.GetDecision())}
	who := ""
	if w := res.GetWinner(); w != nil {
		v.Winner = winnerView(w)
		who = " by " + oneLine(w.GetInstallationLabel()) + ", " + ago(at(w.GetAnswerTime()))
	}
	if s.line.JSON {
		if err := s.print(v); err != nil {
			return err
		}
	}
	var text string
	code := 0
	switch res.GetOutcome() {
	case v1.AnswerOutcome_ANSWER_OUTCOME_APPLIED:
		text = "Recorded. The agent is told; Beckon itself runs nothing."
	case v1.AnswerOutcome_ANSWER_OUTCOME_SAME:
		text = "The same answer was given already" + who + "."
	case v1.AnswerOutcome_ANSWER_OUTCOME_CONFLICT:
		text, code = "Another answer was given"+who+": "+chosen(res.GetDecision())+". Yours changed nothing.", exitNo
	case v1.AnswerOutcome_ANSWER_OUTCOME_STALE:
		text, code = "The question has changed: look again with 'beckon show "+v.Decision.ID+"'.", exitNo
	case v1.AnswerOutcome_ANSWER_OUTCOME_EXPIRED:
		text, code = "Too late. Nothing was done.", exitLate
	case v1.AnswerOutcome_ANSWER_OUTCOME_CLOSED:
		text, code = "The question was "+v.Decision.State+". Nothing was done.", exitClosed
	case v1.AnswerOutcome_ANSWER_OUTCOME_NEEDS_VIEW:
		text, code = "There is evidence to open first, which a terminal cannot show.", exitNo
	default:
		text, code = "Not from here: "+stepWord(res, alone), exitNo
	}
	if !s.line.JSON && code == 0 {
		s.sayf("%s", text)
		return nil
	}
	if code == 0 {
		return nil
	}
	return exit{code, text}
}

func chosen(d *v1.Decision) string {
	var ids []string
	for _, it := range d.GetAnswer().GetItems() {
		ids = append(ids, it.GetOptionIds()...)
	}
	return oneLine(strings.Join(ids, ", "))
}

// stepWord says what helps where an answer needs more of a person.
func stepWord(res *v1.AnswerDecisionResponse, alone string) string {
	class := classOf(res.GetDecision().GetEffectClass())
	switch {
	case res.GetNeededStep() == v1.Step_STEP_UNLOCKED:
		return "this terminal is locked; run 'beckon unlock' and type its digits on another device; " + lastTerminal
	case class != nil && *class > 2:
		return fmt.Sprintf("class %d is never answered at a terminal; use an unlocked phone or the web app", *class)
	case alone != "":
		return alone + "; use a terminal of your own, your phone or the web"
	default:
		return "this device may not answer it yet; use an unlocked phone or the web app"
	}
}
