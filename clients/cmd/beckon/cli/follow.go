package cli

import (
	"cmp"
	"slices"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type watchCommand struct{}

// changeView is one line of watch. Event says which of the others is there:
// decision_opened, decision_closed, task or result.
type changeView struct {
	Event    string        `json:"event"`
	Decision *decisionView `json:"decision,omitempty"`
	Task     *taskView     `json:"task,omitempty"`
}

// Run prints what waits for an answer, and then each change as it happens,
// until a signal ends it.
func (watchCommand) Run(s *session) error {
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	inbox, err := s.inbox(p)
	if err != nil {
		return err
	}
	shown := &shownInbox{decisions: map[string]string{}, tasks: map[string]string{}, first: true}
	inbox.Trouble = func(err error) {
		if err == nil {
			s.notef("the server is there again")
			return
		}
		server, _ := p.Address()
		s.notef("%s cannot be reached now (%v); trying on", server, err)
	}
	return inbox.Follow(s.ctx, func() error {
		for _, v := range shown.changes(inbox) {
			if err := s.printChange(v); err != nil {
				return err
			}
		}
		return nil
	})
}

// shownInbox is what has been printed: the state of each thing in words.
type shownInbox struct {
	decisions, tasks map[string]string
	// first: nothing has been printed yet, and what is over is no news.
	first bool
}

// changes lists what differs from what was shown, the oldest first, and takes it
// as shown.
func (w *shownInbox) changes(inbox *beckon.Inbox) []changeView {
	var out []changeView
	tasks, decisions := inbox.Tasks(), inbox.Decisions()
	slices.SortStableFunc(decisions, func(a, b *v1.DecisionHeader) int {
		return cmp.Compare(a.GetCreateTime().AsTime().UnixNano(), b.GetCreateTime().AsTime().UnixNano())
	})
	for _, d := range decisions {
		v := headerViewOf(d)
		open := d.GetState() == v1.DecisionState_DECISION_STATE_PENDING
		if renewed(w.decisions, v.ID, v.State) && (open || !w.first) {
			event := "decision_closed"
			if open {
				event = "decision_opened"
			}
			out = append(out, changeView{Event: event, Decision: &v})
		}
	}
	slices.Reverse(tasks)
	for _, t := range tasks {
		v := taskHeaderViewOf(t)
		if renewed(w.tasks, v.ID, taskWord(v.Phase, v.Hold)) && !w.first {
			event := "task"
			if v.Summary != "" || v.Failure != "" {
				event = "result"
			}
			out = append(out, changeView{Event: event, Task: &v})
		}
	}
	w.first = false
	return out
}

// renewed keeps the present state of a thing and reports whether it is another.
func renewed(known map[string]string, id, state string) bool {
	old := known[id]
	known[id] = state
	return old != state
}

func (s *session) printChange(v changeView) error {
	if s.line.JSON {
		return s.print(v)
	}
	switch v.Event {
	case "decision_opened":
		s.sayf("? %s  %s", v.Decision.ID, oneLine(v.Decision.Title))
	case "decision_closed":
		by := ""
		if v.Decision.Answer != nil {
			by = " on " + oneLine(v.Decision.Answer.Installation)
		}
		s.sayf("  %s  %s  [%s%s]", v.Decision.ID, oneLine(v.Decision.Title), v.Decision.State, by)
	default:
		line := taskWord(v.Task.Phase, v.Task.Hold)
		if said := cmp.Or(v.Task.Summary, v.Task.Failure); said != "" {
			line += ": " + oneLine(said)
		}
		s.sayf("  %s  %s  [%s]", v.Task.ID, oneLine(v.Task.Title), line)
	}
	return nil
}
