package feed

import (
	"container/list"
	"sort"
	"strings"
	"sync"
)

// Queue wakes one waiting worker for each task that becomes claimable: the
// longest idle one of every set of labels that may have it. A thousand idle
// workers are not a thousand reads per task.
type Queue struct {
	mu    sync.Mutex
	lines map[string]map[string]*line // agent → label set → line
}

// line is the waiters of one agent that offer the same labels.
type line struct {
	labels  map[string]string
	waiters list.List // of *Waiter, longest idle first
}

// NewQueue is a queue nobody waits in.
func NewQueue() *Queue { return &Queue{lines: map[string]map[string]*line{}} }

// Waiter is one idle worker.
type Waiter struct {
	queue      *Queue
	agent, set string
	element    *list.Element
	c          chan struct{}
}

// Join lines up behind the other idle workers of the same agent and labels.
func (q *Queue) Join(agent string, labels map[string]string) *Waiter {
	w := &Waiter{queue: q, agent: agent, set: labelSet(labels), c: make(chan struct{}, 1)}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.enter(w, labels)
	return w
}

func (q *Queue) enter(w *Waiter, labels map[string]string) {
	if q.lines[w.agent] == nil {
		q.lines[w.agent] = map[string]*line{}
	}
	l := q.lines[w.agent][w.set]
	if l == nil {
		l = &line{labels: labels}
		q.lines[w.agent][w.set] = l
	}
	w.element = l.waiters.PushBack(w)
}

// C receives when there may be a task for this worker.
func (w *Waiter) C() <-chan struct{} { return w.c }

// Again lines up once more after a wake. Do so before looking: a task that comes
// between a look and lining up would wake nobody. Who has not taken its wake yet
// has one coming and stays out of line.
func (w *Waiter) Again(labels map[string]string) {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	if w.element == nil && len(w.c) == 0 {
		w.queue.enter(w, labels)
	}
}

// Pass gives a wake that this worker took and could not use to the next one.
func (w *Waiter) Pass() {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	if l := w.queue.lines[w.agent][w.set]; l != nil {
		w.queue.wakeFirst(w.agent, w.set, l)
	}
}

// Leave goes away. A wake that this worker did not use goes to the next one.
func (w *Waiter) Leave() {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	l := w.queue.lines[w.agent][w.set]
	if w.element != nil {
		l.waiters.Remove(w.element)
		w.element = nil
		w.queue.drop(w.agent, w.set)
	}
	select {
	case <-w.c:
		if l = w.queue.lines[w.agent][w.set]; l != nil {
			w.queue.wakeFirst(w.agent, w.set, l)
		}
	default:
	}
}

// Offer wakes one worker of every label set that may have a task.
func (q *Queue) Offer(agent string, may func(worker map[string]string) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for set, l := range q.lines[agent] {
		if may(l.labels) {
			q.wakeFirst(agent, set, l)
		}
	}
}

func (q *Queue) wakeFirst(agent, set string, l *line) {
	front := l.waiters.Front()
	if front == nil {
		return
	}
	w, ok := l.waiters.Remove(front).(*Waiter)
	if !ok {
		return // a line holds nothing else
	}
	w.element = nil
	w.c <- struct{}{} // has room: a waiter in line holds no wake
	q.drop(agent, set)
}

// drop forgets a line that nobody stands in.
func (q *Queue) drop(agent, set string) {
	if l := q.lines[agent][set]; l != nil && l.waiters.Len() == 0 {
		delete(q.lines[agent], set)
		if len(q.lines[agent]) == 0 {
			delete(q.lines, agent)
		}
	}
}

func labelSet(labels map[string]string) string {
	keys := make([]string, 0, len(labels))
	for k := range labels {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(k + "\x00" + labels[k] + "\x00")
	}
	return b.String()
}
