package cli

import (
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
		"up to class 1 always, class 2 for 15 minutes after an unlock (see 'beckon unlock'), class 3 and 4 never."
}

type answeredView struct {
	Outcome    string       `json:"outcome"`
	Winner     *answerView  `json:"winner,omitempty"`
	NeededStep string       `json:"needed_step,omitempty"`
	Decision   decisionView `json:"decision"`
}

// Run shows the card, asks once more where a person is there, and answers.
func (c answerCommand) Run(s *session) error {
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
	interactive := false
	if d.GetState() == v1.DecisionState_DECISION_STATE_PENDING && raises(d, c.Option) && os.Getenv(beckon.EnvTaskFile) == "" {
		if interactive, err = s.confirm(d, c.Option); err != nil {
			return err
		}
	}
	res, err := p.Answer(s.ctx, d, beckon.Answer{
		Items: items, Surface: v1.Surface_SURFACE_TERMINAL, Interactive: interactive,
	})
	if err != nil {
		return err
	}
	return s.answered(res)
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

// answered tells what an answer met; losing has a status of its own.
func (s *session) answered(res *v1.AnswerDecisionResponse) error {
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
		text, code = "Not from here: "+stepWord(res.GetNeededStep()), exitNo
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

func stepWord(step v1.Step) string {
	switch step {
	case v1.Step_STEP_UNLOCKED:
		return "this terminal is locked; run 'beckon unlock' and type its digits on another device"
	case v1.Step_STEP_OTHER_DEVICE:
		return "a terminal may not answer this, or not without a person at it; use your phone or the web"
	default:
		return "the person has to be present more strongly; use your phone or the web"
	}
}
