package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/sync/task"
)

// creation is one request for a task.
type creation struct {
	agent   string
	thread  *mThread // nil makes one
	byAgent bool
	labels  string
	max     int
	mute    bool
	review  bool
	claim   string
	length  time.Duration
	// deadline is when nobody wants it any more; zero is never.
	deadline time.Time
}

// create starts a task, without its id, which is the server's to choose.
func (m *model) create(c creation) (string, *mTask) {
	if !c.deadline.IsZero() && !c.deadline.After(m.now()) {
		return "FIELD deadline", nil
	}
	if c.thread != nil && c.byAgent && !m.worked(c.thread, c.agent) {
		return "NOT_FOUND", nil
	}
	th := c.thread
	if m.liveTasks() >= m.limits.tasks {
		return "QUOTA", nil
	}
	if th == nil {
		th = &mThread{}
		m.threads = append(m.threads, th)
	}
	t := &mTask{
		thread: th, agent: c.agent, labels: c.labels, mute: c.mute, review: c.review, max: c.max, deadline: c.deadline,
		names: map[string]*mDecision{}, denied: map[string]bool{}, items: map[string]bool{}, timers: map[string]*mTimer{},
	}
	if t.max == 0 {
		t.max = m.limits.attempts
	}
	m.tasks = append(m.tasks, t)
	th.live = append(th.live, t)
	th.agent, th.noMessages, th.last = t.agent, t.mute, t
	if c.claim == "" {
		m.ready(t)
	} else {
		t.phase, t.claim, t.taken = task.Running, c.claim, m.now()
		m.extend(t, c.length)
	}
	return "ok " + t.phase.String(), t
}

func (m *model) worked(th *mThread, agent string) bool {
	return find(m.tasks, func(t *mTask) bool { return t.thread == th && t.agent == agent }) != nil
}

// extend gives a lease its length again, from now.
func (m *model) extend(t *mTask, length time.Duration) {
	if length == 0 {
		length = m.limits.lease
	}
	t.length, t.until = length, m.now().Add(length)
}

// claimed is what a claim of this worker gets: the task it holds under the name
// already, or the one that has waited longest.
func (m *model) claimed(agent, claim, labels string, only *mTask) *mTask {
	if m.killed {
		return nil
	}
	if t := find(m.tasks, func(t *mTask) bool {
		return t.agent == agent && t.phase == task.Running && t.claim == claim
	}); t != nil {
		return t
	}
	for _, t := range m.claimable(agent) {
		if matches(t.labels, labels) && (only == nil || only == t) {
			return t
		}
	}
	return nil
}

// matches: every label of the task is one of the worker's.
func matches(wanted, have string) bool { return wanted == "" || wanted == have }

// take carries out a claim. The lease's name is the server's to choose.
func (m *model) take(t *mTask, claim string, length time.Duration) {
	if t.phase == task.Running {
		t.until = m.now().Add(t.length)
		return
	}
	t.phase, t.claim, t.wait, t.taken = task.Running, claim, mWait{}, m.now()
	t.lease = ""
	m.extend(t, length)
}

// view is what a worker is given with a claim.
func (t *mTask) view() string {
	return fmt.Sprintf("checkpoint %d %q signals %s", t.check.version, t.check.data, t.told(0))
}

// told lists what a task has not acknowledged above an id.
func (t *mTask) told(above uint64) string {
	var out []string
	for _, s := range t.signals {
		if s.id <= above {
			continue
		}
		text := fmt.Sprintf("%d:%d", s.id, s.kind)
		if s.d != nil {
			text += ":" + s.d.status.String() + ":" + s.d.answer
		}
		out = append(out, text+s.text)
	}
	return "[" + strings.Join(out, " ") + "]"
}

// holds reports whether a lease is the task's.
func (t *mTask) holds(lease string) bool { return t.phase == task.Running && t.lease == lease }

// checkpointing is a checkpoint that rides on a call.
type checkpointing struct {
	expected uint64
	data     string
}

// save stores a checkpoint on top of the newest. Sent again because its answer
// got lost, it is known by its bytes, which no other call of the story has.
func (m *model) save(t *mTask, c checkpointing) string {
	if c.expected+1 == t.check.version && c.data == t.check.data {
		return ""
	}
	if c.expected != t.check.version {
		return fmt.Sprintf("CONFLICT %d", t.check.version)
	}
	t.check = mCheck{version: c.expected + 1, data: c.data}
	t.attempts = 0
	return ""
}

// yield gives a lease back to sleep: checkpoint, acks and sleep are one.
func (m *model) yield(t *mTask, lease string, w mWait, c *checkpointing, acks []uint64) string {
	if t.endedLease == lease && t.endedBy == "yield" {
		return "ok " + t.endedPhase.String()
	}
	for _, d := range w.named {
		if d.task != t || d.q.ofServer() {
			return "FIELD wait.decision_ids"
		}
	}
	for _, key := range w.timers {
		if t.timers[key] == nil {
			return "FIELD wait.timers"
		}
	}
	if !t.holds(lease) {
		return "LEASE_LOST"
	}
	if c != nil && c.expected != t.check.version {
		return fmt.Sprintf("CONFLICT %d", t.check.version)
	}
	if len(w.named)+len(w.timers) == 0 && w.until.IsZero() {
		return "EMPTY_WAIT"
	}
	if c != nil {
		m.save(t, *c)
	}
	m.ack(t, acks)
	t.giveBack("yield", "")
	unheard := false
	for _, s := range t.signals {
		unheard = unheard || wakes(s, w)
	}
	switch {
	case t.stop:
		m.end(t, t.stoppedAs(), false)
	case unheard || m.satisfied(t, w):
		m.ready(t)
	default:
		t.phase, t.wait = task.Waiting, w
	}
	t.endedPhase = t.phase
	return "ok " + t.phase.String()
}

// release gives a lease back with nothing to wait for.
func (m *model) release(t *mTask, lease string) string {
	if t.endedLease == lease && t.endedBy == "release" {
		return "ok " + t.endedPhase.String()
	}
	if !t.holds(lease) {
		return "LEASE_LOST"
	}
	m.stopWrapped(t)
	t.giveBack("release", "")
	if t.stop {
		m.end(t, t.stoppedAs(), false)
	} else {
		m.ready(t)
	}
	t.endedPhase = t.phase
	return "ok " + t.phase.String()
}

// finish completes or fails a task; both keep their truth under a stop.
func (m *model) finish(t *mTask, lease string, result, failure string, acks []uint64) string {
	by, body, phase := "complete", result, task.Completed
	if failure != "" {
		by, body, phase = "fail", failure, task.Failed
	}
	if t.endedLease == lease && t.endedBy == "complete" && by == "complete" && t.versions > 0 && result == t.result {
		return "ok " + t.phase.String() // its result is on the table, or was taken
	}
	if t.endedLease == lease && t.endedBy == by && t.endedBody == body && t.versions == 0 {
		return "ok " + phase.String()
	}
	if !t.holds(lease) {
		return "LEASE_LOST"
	}
	m.ack(t, acks)
	t.giveBack(by, body)
	if failure == "" {
		t.result = result
	}
	if t.review && failure == "" && !t.stop {
		m.offer(t)
		return "ok " + t.phase.String()
	}
	t.failure = failure
	m.end(t, phase, false)
	return "ok " + phase.String()
}

// send is a message of the person: to the newest live task of the thread, or
// to a new one.
func (m *model) send(th *mThread, text string) (string, *mTask) {
	var to *mTask
	if n := len(th.live); n > 0 {
		to = th.live[n-1]
		if to.mute {
			return "NO_AGENT", nil
		}
	} else if th.noMessages || th.agent == "" {
		return "NO_AGENT", nil
	}
	fresh := to == nil
	if fresh {
		// Work does not move to another environment by itself.
		answer, t := m.create(creation{agent: th.agent, thread: th, labels: th.last.labels})
		if t == nil {
			return answer, nil
		}
		to = t
	}
	th.head++
	for _, t := range th.live {
		clear(t.denied)
	}
	if !fresh {
		m.signal(to, mSignal{kind: task.Message, text: text})
	}
	return "ok " + to.phase.String(), to
}

// markRead merges a mark by the larger one; it never passes what is there.
func (m *model) markRead(th *mThread, gen, pos uint64) string {
	pos = min(pos, th.notable)
	if gen > th.readGen || gen == th.readGen && pos > th.readPos {
		th.readGen, th.readPos = gen, pos
	}
	return fmt.Sprintf("ok %d %d", th.readGen, th.readPos)
}

// stopTask is what a person hears who stops a task.
func (m *model) stopTask(t *mTask) string {
	if !t.live() {
		return "already finished"
	}
	m.askStop(t)
	if t.live() {
		return "stopping"
	}
	return "stopped"
}
