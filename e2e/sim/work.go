package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/decision"
)

// osLabels turns the one label of this simulation into the server's form.
func osLabels(labels string) map[string]string {
	if labels == "" {
		return nil
	}
	return map[string]string{"os": labels}
}

// createTask starts a task, by a worker that takes it at once or leaves it, or
// by the person.
func (w *world) createTask() {
	wk := pick(w, w.workers)
	c := creation{agent: wk.agent.Agent, byAgent: w.chance(2), labels: pick(w, []string{"", "linux", "mac"})}
	if len(w.model.threads) > 0 && !w.chance(3) {
		c.thread = pick(w, w.model.threads)
	}
	if w.chance(4) {
		c.max = 1 + w.rand.IntN(2)
	}
	c.mute, c.review = w.chance(5), c.max != 1 && w.chance(3)
	if w.chance(4) {
		c.deadline = micro(w.now().Add(time.Duration(w.rand.IntN(400)-10) * time.Second))
	}
	key := w.name("create")
	p := wk.agent.Principal
	if !c.byAgent {
		p = pick(w, w.devices).Principal
	}
	cmd := app.CreateTask{
		Key: key, Agent: c.agent, Title: "Task " + key, Labels: osLabels(c.labels),
		MaxAttempts: c.max, NoMessages: c.mute, Review: c.review, Deadline: c.deadline,
	}
	if c.byAgent && w.chance(2) {
		c.claim, c.length = w.name("claim"), pick(w, leases())
		cmd.Claim = &app.ClaimOptions{ID: c.claim, Length: c.length}
	}
	if c.thread != nil {
		cmd.Thread = c.thread.id
	}
	h := &holding{}
	w.attempt(call{
		name: "CreateTask", rule: "R3",
		text: fmt.Sprintf("%s CreateTask %s in %q claim %q max %d mute %v review %v deadline %s", p.ID(), key, cmd.Thread, c.claim, c.max, c.mute, c.review, c.deadline.Format("15:04:05.0")),
		do: func() (string, error) {
			r, err := w.app.CreateTask(w.ctx, p, cmd)
			if r.Claim != nil {
				h.lease = r.Claim.Task.Lease.ID
			}
			return "ok " + r.Task.Phase.String(), err
		},
		judge: func() string {
			if c.byAgent && w.model.killed {
				return "KILL_SWITCH"
			}
			return w.onceOnly(p.ID(), "CreateTask "+key, "", func() (string, bool) {
				answer, t := w.model.create(c)
				if t != nil {
					h.task = t
				}
				return answer, t != nil
			})
		},
		heard: func() {
			if c.claim != "" {
				w.hold(wk, h)
			}
		},
	})
}

// hold puts a lease into a worker's hands; the oldest falls out.
func (w *world) hold(wk *process, h *holding) {
	wk.held = append(wk.held, h)
	if len(wk.held) > 6 {
		wk.held = wk.held[1:]
	}
}

func leases() []time.Duration {
	return []time.Duration{0, 5 * time.Second, 30 * time.Second, 2 * time.Minute}
}

// claimTask asks for work, sometimes under a name that was used before.
func (w *world) claimTask() {
	wk := pick(w, w.workers)
	for range 2 { // mostly one that has something to find
		if w.model.claimed(wk.agent.Agent, "", wk.labels, nil) == nil {
			wk = pick(w, w.workers)
		}
	}
	claim, length := "", pick(w, leases())
	if len(wk.claims) > 0 && w.chance(4) {
		claim = pick(w, wk.claims)
	} else {
		claim = w.name("claim")
		wk.claims = append(wk.claims, claim)
	}
	var only *mTask
	cmd := app.ClaimTask{Claim: app.ClaimOptions{ID: claim, Length: length}, Labels: osLabels(wk.labels)}
	if len(w.model.tasks) > 0 && w.chance(8) {
		only = w.rareTask()
		cmd.Task = only.id
	}
	h := &holding{}
	met := only
	if met == nil {
		met = w.model.claimed(wk.agent.Agent, claim, wk.labels, nil)
	}
	w.attempt(call{
		name: "ClaimTask", rule: "R3", task: met,
		text: fmt.Sprintf("%s ClaimTask %s for %s labels %q task %q", wk.name, claim, length, wk.labels, cmd.Task),
		do: func() (string, error) {
			c, found, err := w.app.ClaimTask(w.ctx, wk.agent.Principal, cmd)
			if !found {
				return "nothing", err
			}
			h.lease, h.check, h.heard = c.Task.Lease.ID, c.Checkpoint.Version, nil
			for _, s := range c.Signals {
				h.heard = append(h.heard, s.ID)
			}
			return fmt.Sprintf("%s checkpoint %d %q signals %s", c.Task.ID, c.Checkpoint.Version, c.Checkpoint.Data, signalText(c.Signals)), nil
		},
		judge: func() string {
			t := w.model.claimed(wk.agent.Agent, claim, wk.labels, only)
			if h.task = t; t == nil {
				return "nothing"
			}
			w.model.take(t, claim, length)
			return t.id + " " + t.view()
		},
		heard: func() {
			if h.task == nil {
				return
			}
			if h.task.lease != h.lease {
				w.failf("R3", "worker %s was given lease %q of %s, want %q", wk.name, h.lease, h.task.id, h.task.lease)
			}
			w.hold(wk, h)
		},
	})
}

// signalText puts delivered signals into the words of the model; an answer
// travels with its signal.
func signalText(signals []app.SignalView) string {
	var out []string
	for _, s := range signals {
		text := fmt.Sprintf("%d:%d", s.ID, s.Kind)
		if s.About != nil {
			text += ":" + s.About.Status.String() + ":" + answerText(s.About.Answer)
		}
		out = append(out, text+s.Text+s.Timer+string(s.Data))
	}
	return "[" + strings.Join(out, " ") + "]"
}

// answerText is what was chosen and written, in the words of the model.
func answerText(a *decision.Answer) string {
	if a == nil {
		return ""
	}
	var chosen []string
	for _, it := range a.Items {
		chosen = append(chosen, strings.Join(it.Options, ","))
	}
	return strings.Join(chosen, ";") + ";" + a.Items[0].Text + string(a.Items[0].EditedArgs) + string(a.Items[0].Content)
}

// hand is one use of a task that a worker holds, or thinks it does.
type hand struct {
	*holding
	worker    *process
	principal policy.Principal
	named     app.Held
}

// hand picks a holding and the credential it is used with.
func (w *world) hand() (hand, bool) {
	wk := pick(w, w.workers)
	busy := slices.ContainsFunc(wk.held, func(h *holding) bool { return h.task.holds(h.lease) })
	if len(wk.held) == 0 || !busy && !w.chance(3) {
		return hand{}, false
	}
	h := hand{holding: pick(w, wk.held), worker: wk, principal: wk.agent.Principal}
	if w.chance(2) {
		// Whatever state a task is in, some worker may still call about it.
		h.holding = w.rareHolding(wk)
	} else if good := find2(wk.held, func(h *holding) bool { return h.task.holds(h.lease) }); good != nil && !w.chance(6) {
		h.holding = *good
	}
	h.named = app.Held{Task: h.task.id, Lease: h.lease}
	if w.chance(6) {
		// A child process: its token names task and lease.
		h.principal = policy.Principal{Kind: policy.TaskToken, Agent: wk.agent.Agent, Key: wk.agent.Key, Task: h.task.id, Lease: h.lease}
		h.named.Lease = ""
	}
	return h, true
}

// rareHolding picks among what a worker holds by the state of its task, and what
// is held more often than that.
func (w *world) rareHolding(wk *process) *holding {
	var paused []*holding
	for _, h := range wk.held {
		if h.task.paused && h.task.live() {
			paused = append(paused, h)
		}
	}
	if len(paused) > 0 && w.chance(2) {
		return rare(w, paused, func(h *holding) string { return h.task.state() })
	}
	return rare(w, wk.held, func(h *holding) string { return h.task.state() })
}

// acks picks some of what the worker has heard.
func (w *world) acks(h hand) []uint64 {
	var ids []uint64
	for _, id := range h.heard {
		if !w.chance(4) {
			ids = append(ids, id)
		}
	}
	return ids
}

// with makes a call about a held task.
func (w *world) with(h hand, name, rule, args string, do func() (string, error), judge func() string, heard func()) {
	switch name {
	case "Heartbeat", "ReleaseTask", "CompleteTask", "FailTask": // pass under the switch
	default:
		judge = w.model.stopped(judge)
	}
	w.attempt(call{
		name: name, rule: rule, task: h.task, text: fmt.Sprintf("%s %s %s %s %s", h.worker.name, name, h.task.id, h.lease, args),
		do: do, judge: judge, heard: heard,
	})
}
