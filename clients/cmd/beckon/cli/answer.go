package cli

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

func newKey() string { return beckon.NewID() }

type answerCommand struct {
	ID     string `arg:""                                     help:"The decision."                     name:"id"`
	Option string `arg:""                                     help:"The option, as shown in brackets."`
	Text   string `help:"A text, where the option takes one."`
}

// Help is shown under the line about the command.
func (answerCommand) Help() string {
	return "Refusing works from anywhere. Anything else needs a terminal with a person at it, outside of 'beckon run': " +
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
	items, err := beckon.Choose(d, c.Option, c.Text)
	if err != nil {
		return usage("%v; it has: %s", err, optionIDs(d))
	}
	if err := c.checkText(d); err != nil {
		return err
	}
	interactive, alone := false, "" // why nobody counts as being there
	if d.GetState() == v1.DecisionState_DECISION_STATE_PENDING && raises(d, c.Option) {
		if os.Getenv(beckon.EnvTaskFile) != "" {
			alone = beckon.EnvTaskFile + " is set, as inside 'beckon run', and an agent's command can only refuse"
		} else if interactive, err = s.confirm(d, c.Option); err != nil {
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

// checkText says before anything is confirmed that the option takes a text, or
// that it takes none.
func (c answerCommand) checkText(d *v1.Decision) error {
	for _, it := range d.GetItems() {
		for _, o := range it.GetOptions() {
			switch {
			case o.GetId() != c.Option:
			case len(c.Text) > 4096:
				return usage("--text has %d bytes, at most 4096", len(c.Text))
			case c.Text == "" && o.GetText() == v1.TextRule_TEXT_RULE_REQUIRED:
				return usage("%s needs your words: add --text '…'", oneLine(c.Option))
			case c.Text != "" && o.GetText() != v1.TextRule_TEXT_RULE_REQUIRED && o.GetText() != v1.TextRule_TEXT_RULE_OPTIONAL:
				return usage("%s takes no --text", oneLine(c.Option))
			}
		}
	}
	return nil
}

// raises reports whether an option does anything but refuse.
func raises(d *v1.Decision, option string) bool {
	for _, it := range d.GetItems() {
		for _, o := range it.GetOptions() {
			if o.GetId() == option {
				return o.GetKind() != v1.OptionKind_OPTION_KIND_REJECT_ONCE
			}
		}
	}
	return true
}

// confirm is what makes an answer interactive: the whole card was on the screen
// of a real terminal and somebody typed a word there. It reports false where
// there is no such terminal. Neither card nor word goes through standard input
// and output, which a program may hold.
func (s *session) confirm(d *v1.Decision, option string) (bool, error) {
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
	screen.printDecision(decisionViewOf(d))
	typed, err := screen.readLine("Answer " + oneLine(option) + "? [y/N] ")
	if err != nil {
		return false, err
	}
	if t := strings.ToLower(typed); t != "y" && t != "yes" {
		return false, exit{exitNo, "nothing was answered"}
	}
	return true, nil
}

func optionIDs(d *v1.Decision) string {
	var ids []string
	for _, it := range d.GetItems() {
		for _, o := range it.GetOptions() {
			ids = append(ids, o.GetId())
		}
	}
	return strings.Join(ids, ", ")
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
