package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/beckon-dev/beckon/clients/cmd/beckon/screen"
	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type showCommand struct {
	ID    string `arg:""       help:"A decision (dec_…), a task (tsk_…) or a thread (thr_…)."        name:"id"`
	Items int32  `default:"50" help:"Of a thread or task: how many items of the timeline, 1 to 200."`
}

// Run shows one thing, whole.
func (c showCommand) Run(s *session) error {
	if err := s.id(c.ID, "dec", "tsk", "thr"); err != nil {
		return err
	}
	if c.Items < 1 || c.Items > 200 {
		return usage("--items is from 1 to 200")
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	switch kind, _, _ := strings.Cut(c.ID, "_"); kind {
	case "dec":
		res, err := p.Decisions.GetDecision(s.ctx, &v1.GetDecisionRequest{DecisionId: c.ID})
		if err != nil {
			return err
		}
		return s.showDecision(p, res.GetDecision())
	case "tsk":
		return c.task(s, p)
	default:
		return c.thread(s, p, c.ID)
	}
}

func (c showCommand) task(s *session, p *beckon.Person) error {
	res, err := p.Tasks.GetTask(s.ctx, &v1.GetTaskRequest{TaskId: c.ID})
	if err != nil {
		return err
	}
	v := taskViewOf(res.GetTask())
	for _, d := range res.GetDecisions() {
		v.Decisions = append(v.Decisions, decisionViewOf(d))
	}
	if s.line.JSON {
		return s.print(v)
	}
	items, err := p.Items.ListItems(s.ctx, &v1.ListItemsRequest{ThreadId: v.ThreadID, PageSize: c.Items})
	if err != nil {
		return err
	}
	s.sayf("%s\n%s  %s", oneLine(v.Title), v.ID, taskWord(v.Phase, v.Hold))
	if waits := v.waits(); waits != "" {
		s.sayf("%s", waits)
	}
	switch {
	case v.Failure != "":
		s.sayf("failed: %s", v.Failure)
		s.sayRest(withoutEcho(v.Text, items.GetItems()))
	case v.Summary != "":
		s.sayf("%s", v.Summary)
		s.sayRest(withoutEcho(v.Body, items.GetItems()))
	case v.Progress != "":
		s.sayf("%s", v.Progress)
	}
	for _, d := range v.Decisions {
		s.sayf("%s  %-10s %s", d.ID, d.State, oneLine(d.Title))
	}
	s.showItems(items, func(it *v1.Item) bool {
		// How the task ended stands above, where it is looked for first.
		ending := it.GetKind() == v1.ItemKind_ITEM_KIND_RESULT || it.GetKind() == v1.ItemKind_ITEM_KIND_FAILURE
		return it.GetTaskId() == v.ID && !ending
	})
	return nil
}

// withoutEcho leaves out of a result the last lines of output that a wrapped
// command repeats there for phones, where the output itself is printed below.
func withoutEcho(body string, items []*v1.Item) string {
	head, echo, found := strings.Cut(body, "\n\n")
	var printed strings.Builder
	for _, it := range items {
		for _, part := range it.GetParts() {
			printed.WriteString(screen.Output(part.GetOutput().GetData()))
		}
	}
	if found && echo != "" && strings.HasSuffix(strings.TrimSpace(printed.String()), echo) {
		return head
	}
	return body
}

// sayRest prints a text that may be empty.
func (s *session) sayRest(text string) {
	if text != "" {
		s.sayf("%s", text)
	}
}

// thread prints the end of a timeline.
func (c showCommand) thread(s *session, p *beckon.Person, id string) error {
	items, err := p.Items.ListItems(s.ctx, &v1.ListItemsRequest{ThreadId: id, PageSize: c.Items})
	if err != nil {
		return err
	}
	res, err := p.Threads.GetThread(s.ctx, &v1.GetThreadRequest{ThreadId: id})
	if err != nil {
		return err
	}
	v := threadViewOf(res.GetThread())
	for _, t := range res.GetTasks() {
		v.Tasks = append(v.Tasks, taskViewOf(t))
	}
	for _, it := range items.GetItems() {
		v.Items = append(v.Items, itemViewOf(it))
	}
	v.More = items.GetMore()
	if s.line.JSON {
		return s.print(v)
	}
	s.sayf("%s\n%s", oneLine(v.Title), v.ID)
	s.showItems(items, func(*v1.Item) bool { return true })
	return nil
}

// showItems prints those items of a timeline that are wanted.
func (s *session) showItems(items *v1.ListItemsResponse, wanted func(*v1.Item) bool) {
	if items.GetMore() {
		s.sayf("… earlier items are left out; see --items")
	}
	for _, it := range items.GetItems() {
		if wanted(it) {
			s.showItem(it)
		}
	}
}

func (s *session) showItem(it *v1.Item) {
	if it.GetKind() != v1.ItemKind_ITEM_KIND_OUTPUT {
		s.sayf("── %s, %s, %s", word(it.GetRole()), word(it.GetKind()), clock(at(it.GetCreateTime())))
	}
	for _, part := range it.GetParts() {
		o := part.GetOutput()
		if o == nil {
			s.sayf("%s", part.GetText())
			continue
		}
		if o.GetOmittedBytes() > 0 {
			s.sayf("… %s were not kept …", bytesWord(o.GetOmittedBytes()))
		}
		_, _ = fmt.Fprint(s.out, screen.Output(o.GetData()))
	}
}

func (s *session) showDecision(p *beckon.Person, d *v1.Decision) error {
	v := decisionViewOf(d)
	v.Agent = s.agentName(p, v.AgentID)
	if s.line.JSON {
		return s.print(v)
	}
	s.printDecision(v)
	return nil
}

// printDecision prints a card, nothing cut. What the server knows stands first;
// the agent's own words follow behind a mark, since it may say what it likes.
func (s *session) printDecision(v decisionView) {
	s.sayf("%s  %s", v.ID, v.State)
	s.fact("agent", called(v.Agent, v.AgentID))
	if v.Class != nil {
		s.fact("class", classWord(*v.Class, v.Items))
	}
	if v.Origin != "" {
		s.fact("asked for", v.Origin)
	}
	if v.State == "pending" && !v.SnoozeUntil.IsZero() {
		s.fact("aside until", clock(v.SnoozeUntil))
	}
	if v.State == "pending" && !v.ExpireTime.IsZero() {
		s.fact("answer by", clock(v.ExpireTime))
	}
	for _, it := range v.Items {
		for _, f := range it.Facts {
			s.fact(f.Label, f.Value+markedHint(f.Marked))
		}
	}
	s.printAsked(v)
	for _, it := range v.Items {
		if len(v.Items) > 1 {
			s.sayf("for %s:", oneLine(it.ID))
		}
		for _, e := range it.Evidence {
			need := ""
			if e.MustView {
				need = "; has to be opened before anything but a no, which a terminal cannot"
			}
			s.sayf("  %s, %s%s: %s", e.Kind, bytesWord(e.Bytes), need, oneLine(e.Title))
		}
		s.printForm(it)
		if it.Most > 1 {
			s.sayf("  %d to %d of these:", it.Least, it.Most)
		}
		for _, o := range it.Options {
			s.sayf("  [%s]  %s%s", oneLine(o.ID), oneLine(o.Label), optionHint(o))
		}
	}
	s.printEnd(v)
}

// markedHint warns of what was hidden in a fact.
func markedHint(marked bool) string {
	if !marked {
		return ""
	}
	return "  (hidden or look-alike characters are written out)"
}

// printForm prints the fields of a form, with what goes with --set.
func (s *session) printForm(it questionView) {
	if it.WebOnly {
		s.sayf("  a form that a terminal cannot draw: use the web, or --content FILE")
	}
	for _, f := range it.Fields {
		var notes []string
		if f.Required {
			notes = append(notes, "needed")
		}
		notes = append(notes, f.Bounds...)
		if f.Default != "" {
			notes = append(notes, "else "+oneLine(f.Default))
		}
		for _, c := range f.Choices {
			notes = append(notes, oneLine(c.Value)+" "+oneLine(c.Label))
		}
		note := ""
		if len(notes) > 0 {
			note = "  (" + strings.Join(notes, "; ") + ")"
		}
		s.sayf("  --set %s=…  %s %s%s", oneLine(f.Name), f.Type, oneLine(f.Title), note)
	}
}

// optionHint says what goes with an option.
func optionHint(o optionView) string {
	switch {
	case o.Kind == "edit":
		return "  (takes --args FILE, or opens your editor)" + textHint(o.Text)
	case o.Prefill != "":
		return "  (takes --text; else: " + oneLine(o.Prefill) + ")"
	default:
		return textHint(o.Text)
	}
}

// textHint says how the words of an answer are given.
func textHint(rule string) string {
	switch rule {
	case "required":
		return "  (needs --text '…')"
	case "optional":
		return "  (takes --text '…')"
	default:
		return ""
	}
}

// fact prints one line that the server vouches for.
func (s *session) fact(label, value string) {
	s.sayf("  %-14s %s", oneLine(label)+":", strings.ReplaceAll(value, "\n", "\n                 "))
}

// printAsked prints the agent's words, and how many characters an eye would
// have missed.
func (s *session) printAsked(v decisionView) {
	words := []string{v.Title}
	for _, it := range v.Items {
		if it.Question != "" && it.Question != v.Title {
			words = append(words, it.Question)
		}
	}
	if v.AgentReason != "" {
		words = append(words, v.AgentReason)
	}
	shown, hidden := screen.Text(strings.Join(words, "\n"))
	if v.Kind == resolveUncertain {
		s.sayf("Beckon asks:") // all words of this card are the server's
	} else {
		s.sayf("the agent says; nobody has checked its words:")
	}
	for line := range strings.SplitSeq(shown, "\n") {
		s.sayf("│ %s", line)
	}
	if hidden > 0 {
		s.sayf("│ (%d hidden characters)", hidden)
	}
}

// resolveUncertain is the question whether an effect was done.
const resolveUncertain = "resolve_uncertain"

// printEnd prints how a decision was closed.
func (s *session) printEnd(v decisionView) {
	if v.Answer != nil {
		s.sayf("answered by %s (%s), %s", oneLine(v.Answer.Installation), v.Answer.Surface, ago(v.Answer.AnswerTime))
		for _, it := range v.Answer.Items {
			s.sayf("  %s: %s %s", oneLine(it.ItemID), oneLine(strings.Join(it.Options, ", ")), it.Text)
			if it.Args != "" {
				s.fact("with", it.Args)
			}
			if it.Content != "" {
				s.fact("form", it.Content)
			}
		}
	}
	if v.CloseReason != "" {
		s.sayf("%s", v.CloseReason)
	}
}

// classWord says how much harm the actions can do; a question without one has a
// class as well, and only a number.
func classWord(class int, items []questionView) string {
	word := [...]string{
		"reads what is public", "reads what is private", "writes what can be undone",
		"sends something to somebody", "money, permissions, or cannot be undone",
	}[min(max(class, 0), 4)]
	if !slices.ContainsFunc(items, func(q questionView) bool { return q.Action != nil }) {
		return strconv.Itoa(class)
	}
	return fmt.Sprintf("%d, %s", class, word)
}

func bytesWord(n uint64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
