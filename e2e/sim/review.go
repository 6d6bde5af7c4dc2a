package sim

import (
	"strings"

	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// aboutResult is the question of the server whether a result is what was
// wanted.
func aboutResult() question {
	return question{name: "result", kind: decision.ReviewResult, class: 2, acts: []string{""}}
}

// ofServer: no agent asks this, joins it, waits for it or takes it back.
func (q question) ofServer() bool { return q.kind == decision.ReviewResult }

// offer lays a result on the table: R8. One that lies there is replaced, and
// the person is called to the new version.
func (m *model) offer(t *mTask) {
	t.versions++
	t.thread.head++
	if t.offer == nil {
		t.offer = &mDecision{task: t, q: aboutResult(), status: decision.Pending, revision: 1}
		t.cards++
		m.decisions = append(m.decisions, t.offer)
	} else {
		t.offer.revision++
		m.facts = append(m.facts, fact{kind: factAsked, subject: t.offer.id, version: t.offer.revision})
	}
	w := mWait{named: []*mDecision{t.offer}}
	for _, s := range t.signals {
		if wakes(s, w) { // the result was made without it
			m.ready(t)
			return
		}
	}
	t.phase, t.wait = task.Waiting, w
}

// settle is what a person said about a result: R8. An accepted one ends the
// task whatever it does meanwhile.
func (m *model) settle(d *mDecision) {
	t := d.task
	t.offer = nil
	if option, text, _ := strings.Cut(d.answer, ";"); option == decision.ExitSendBack {
		t.result = ""
		if t.phase == task.Waiting {
			m.ready(t)
		}
		m.signal(t, mSignal{kind: task.ResultSentBack, text: text})
		return
	}
	t.accepted = true
	m.end(t, task.Completed, false)
}
