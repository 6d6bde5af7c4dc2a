package plan

import (
	"fmt"
	"strings"

	"github.com/beckon-dev/beckon/push"
)

// Result is a task's outcome in words.
type Result struct {
	// Agent and Thread are display names.
	Agent   string
	Thread  string
	Outcome Outcome
	// Summary is the first line of the result, or the reason of a failure.
	Summary string
}

// lines is a text before it is cut: tail always stays whole.
type lines struct {
	title string
	body  string
	tail  string
	// plain: nothing in it had to be made visible.
	plain bool
}

func (l lines) text() push.Text {
	return push.Text{Title: l.title, Body: join(l.body, l.tail)}
}

// fit cuts body first and then the title until both fit into room bytes of
// encoded JSON, and reports whether nothing was cut.
func (l lines) fit(room int) (push.Text, bool) {
	whole := l.text()
	if size(whole) <= room {
		return whole, true
	}
	spare := room - encodedLen(l.title) - encodedLen(l.tail) - encodedLen("\n")
	if spare >= minBody {
		l.body = Cut(l.body, spare)
		return l.text(), false
	}
	l.body = ""
	if size(l.text()) <= room {
		return l.text(), false
	}
	return push.Text{Title: Cut(l.title, room)}, false
}

// minBody is the least body worth showing beside the title.
const minBody = 16

func size(t push.Text) int { return encodedLen(t.Title) + encodedLen(t.Body) }

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// toLookAt tells how many subjects want attention, the present one included:
// open questions, and threads with results that nobody has read. The latter do
// not wait for anything, so that is not the word.
func toLookAt(n uint32) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%d to look at", n)
}

// decisionLines is the text of a decision at a level. At Full the question
// stands in the body with every fact below it, because a title is cut by the
// device; line breaks inside values are marked, so that no value can pretend
// to be a fact of its own.
func decisionLines(c Card, level push.Level, count uint32) lines {
	agent, _ := visible(c.Agent)
	switch level {
	case push.LevelFull:
		l := lines{title: agent + " needs a decision", tail: toLookAt(count), plain: true}
		var parts []string
		add := func(s string) string {
			v, plain := visible(s)
			l.plain = l.plain && plain
			return v
		}
		add(c.Agent)
		parts = append(parts, add(c.Question))
		for _, f := range c.Facts {
			parts = append(parts, add(f.Label)+": "+add(f.Value))
		}
		l.body = strings.Join(parts, "\n")
		return l
	case push.LevelTitle:
		thread, _ := visible(c.Thread)
		return lines{title: agent + " needs a decision", body: thread, tail: toLookAt(count)}
	default:
		return lines{title: "A task needs your decision", tail: toLookAt(count)}
	}
}

// resultLines is the text of a result at a level.
func resultLines(r Result, level push.Level, count uint32) lines {
	agent, _ := visible(r.Agent)
	thread, _ := visible(r.Thread)
	switch level {
	case push.LevelFull:
		summary, _ := visible(r.Summary)
		return lines{title: agent + " " + r.Outcome.past(), body: summary, tail: toLookAt(count)}
	case push.LevelTitle:
		return lines{title: thread + " " + r.Outcome.state(), tail: toLookAt(count)}
	default:
		return lines{title: "A result is ready", tail: toLookAt(count)}
	}
}

func (o Outcome) past() string {
	switch o {
	case Failed:
		return "failed"
	case CouldNotResume:
		return "could not resume"
	case Expired:
		return "was not done in time"
	default:
		return "finished"
	}
}

func (o Outcome) state() string {
	if o == Completed {
		return "is ready"
	}
	return o.past()
}
