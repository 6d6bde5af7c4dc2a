package app

import "sync"

// attempts are the ready tasks that workers are claiming at this moment. Woken
// together, workers would all try the task that has waited longest, and whoever
// loses waits for a commit to hear of it, so k workers on k tasks would cost k²/2
// commands. A worker passes by what another one is trying. The store alone
// decides who gets a task; a claim in another process is merely not seen here.
type attempts struct {
	mu     sync.Mutex
	byTask map[string]*attempt
}

// attempt is one task in the hands of the calls under one claim id.
type attempt struct {
	claim string
	calls int
	// passed: another worker has left the task alone because of this attempt.
	passed bool
}

func newAttempts() *attempts { return &attempts{byTask: map[string]*attempt{}} }

// passes reports whether a worker should leave a task to the one who tries it.
// Repeated calls under one claim id are the same worker: they must find the
// same task.
func (t *attempts) passes(id, claim string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.byTask[id]
	if a == nil || a.claim == claim {
		return false
	}
	a.passed = true
	return true
}

// begin is false, and nothing has begun, where another worker was faster.
func (t *attempts) begin(id, claim string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.byTask[id]
	switch {
	case a == nil:
		t.byTask[id] = &attempt{claim: claim, calls: 1}
	case a.claim == claim:
		a.calls++
	default:
		a.passed = true
		return false
	}
	return true
}

// end reports whether somebody has passed the task by in the meantime. After an
// attempt that failed that worker has to be woken.
func (t *attempts) end(id string) (passed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.byTask[id]
	if a.calls--; a.calls == 0 {
		delete(t.byTask, id)
	}
	return a.passed
}
