package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type taskCommand struct {
	List   taskListCommand   `cmd:"" help:"List the tasks that have not ended, and what each waits for."`
	Show   taskShowCommand   `cmd:"" help:"Show where a task stands: what holds it, what it waits for, and what moves it next."`
	Pause  taskPauseCommand  `cmd:"" help:"Keep a task from being worked on until it is resumed."`
	Resume taskResumeCommand `cmd:"" help:"Let a paused task go on."`
	Stop   stopCommand       `cmd:"" help:"Stop a task."`
}

type taskListCommand struct {
	All bool `help:"With those that have ended."`
}

// Run lists tasks, newest first.
func (c taskListCommand) Run(s *session) error {
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	inbox, err := s.readInbox(p)
	if err != nil {
		return err
	}
	tasks := []taskView{}
	for _, t := range inbox.Tasks() {
		if c.All || t.GetEndTime() == nil {
			tasks = append(tasks, taskHeaderViewOf(t))
		}
	}
	if s.line.JSON {
		return s.print(tasks)
	}
	if len(tasks) == 0 {
		s.sayf("No task is open.")
	}
	for _, v := range tasks {
		line := fmt.Sprintf("%s  %-10s %s", v.ID, taskWord(v.Phase, v.Hold), oneLine(v.Title))
		if waits := v.waits(); waits != "" {
			line += "  (" + waits + ")"
		} else if v.Progress != "" && v.Phase == "running" {
			line += "  (" + oneLine(v.Progress) + ")"
		}
		s.sayf("%s", line)
	}
	return nil
}

// taskDetail is all that is known of where a task stands.
type taskDetail struct {
	taskView
	Labels      map[string]string `json:"labels,omitempty"`
	HoldBy      string            `json:"hold_by,omitempty"`
	HoldSince   time.Time         `json:"hold_since,omitzero"`
	Wait        *waitView         `json:"wait,omitempty"`
	Attempts    uint32            `json:"attempts"`
	MaxAttempts uint32            `json:"max_attempts"`
	LeaseUntil  time.Time         `json:"lease_expire_time,omitzero"`
	Deadline    time.Time         `json:"deadline,omitzero"`
}

type waitView struct {
	Mode      string    `json:"mode"`
	Decisions []string  `json:"decision_ids,omitempty"`
	Timers    []string  `json:"timers,omitempty"`
	Until     time.Time `json:"until,omitzero"`
}

func taskDetailOf(t *v1.Task) taskDetail {
	d := taskDetail{
		taskView: taskViewOf(t), Labels: t.GetLabels(), Attempts: t.GetAttempts(), MaxAttempts: t.GetMaxAttempts(),
		LeaseUntil: at(t.GetLeaseExpireTime()), Deadline: at(t.GetDeadline()),
	}
	if d.Hold != "" {
		d.HoldBy, d.HoldSince = t.GetHold().GetBy(), at(t.GetHold().GetSince())
	}
	if w := t.GetWait(); w != nil {
		d.Wait = &waitView{Mode: word(w.GetMode()), Decisions: w.GetDecisionIds(), Timers: w.GetTimers(), Until: at(w.GetUntil())}
	}
	return d
}

// words are the wait set as people say it.
func (w waitView) words() string {
	var parts []string
	for _, id := range w.Decisions {
		parts = append(parts, "the answer to "+id)
	}
	for _, key := range w.Timers {
		parts = append(parts, fmt.Sprintf("timer %q", key))
	}
	joined := strings.Join(parts, " or ")
	if w.Mode == "all" {
		joined = strings.Join(parts, " and ")
	}
	switch {
	case w.Until.IsZero():
		return joined
	case joined == "":
		return "until " + clock(w.Until)
	default:
		return joined + ", until " + clock(w.Until) + " at the latest"
	}
}

// facts are the lines about where a task stands, as label and value.
func (d taskDetail) facts() [][2]string {
	var out [][2]string
	add := func(label, value string) {
		if value != "" {
			out = append(out, [2]string{label, oneLine(value)})
		}
	}
	if d.Hold != "" && d.EndTime.IsZero() {
		held := fmt.Sprintf("%s since %s by %s", d.Hold, clock(d.HoldSince), d.HoldBy)
		if d.HoldReason != "" {
			held += ": " + d.HoldReason
		}
		add("held", held)
	}
	if d.Wait != nil {
		add("waits for", d.Wait.words())
	}
	add("state", d.waits())
	if d.Attempts > 0 {
		add("attempts", fmt.Sprintf("lost its worker %d of at most %d times in a row", d.Attempts, d.MaxAttempts))
	}
	if d.Phase == "running" {
		add("lease", "a worker holds it until "+clock(d.LeaseUntil)+" and longer, while it is heard of")
	}
	if !d.Deadline.IsZero() {
		add("deadline", clock(d.Deadline))
	}
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(d.Labels)) {
		labels = append(labels, k+"="+d.Labels[k])
	}
	add("labels", strings.Join(labels, ", "))
	add("progress", d.Progress)
	return out
}

type taskShowCommand struct {
	ID string `arg:"" help:"The task." name:"id"`
}

// Run shows where a task stands.
func (c taskShowCommand) Run(s *session) error {
	if err := s.id(c.ID, "tsk"); err != nil {
		return err
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	res, err := p.Tasks.GetTask(s.ctx, &v1.GetTaskRequest{TaskId: c.ID})
	if err != nil {
		return err
	}
	d := taskDetailOf(res.GetTask())
	for _, q := range res.GetDecisions() {
		d.Decisions = append(d.Decisions, decisionViewOf(q))
	}
	if s.line.JSON {
		return s.print(d)
	}
	s.sayf("%s\n%s  %s", oneLine(d.Title), d.ID, taskWord(d.Phase, d.Hold))
	for _, f := range d.facts() {
		s.fact(f[0], f[1])
	}
	for _, q := range d.Decisions {
		s.sayf("%s  %-10s %s", q.ID, q.State, oneLine(q.Title))
	}
	return nil
}

type taskPauseCommand struct {
	ID     string `arg:""                                      help:"The task." name:"id"`
	Reason string `help:"Why, for the agent and the timeline."`
}

// Help is shown under the line about the command.
func (taskPauseCommand) Help() string {
	return "A worker that has the task hears of it and gives it back when it can; until then it is pausing. " +
		"A command under `beckon run` knows no pause and goes on to its end: stop it instead."
}

// Run pauses a task.
func (c taskPauseCommand) Run(s *session) error {
	if err := s.id(c.ID, "tsk"); err != nil {
		return err
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	res, err := p.Tasks.PauseTask(s.ctx, &v1.PauseTaskRequest{IdempotencyKey: newKey(), TaskId: c.ID, Reason: c.Reason})
	if err != nil {
		return err
	}
	v := taskViewOf(res.GetTask())
	switch {
	case s.line.JSON:
		return s.print(v)
	case !v.EndTime.IsZero():
		s.sayf("It had already finished: %s.", v.Phase)
	case v.Hold == "stop":
		s.sayf("It is stopping.")
	case v.Phase == "running":
		s.sayf("Pausing: its worker was told.")
	default:
		s.sayf("Paused.")
	}
	return nil
}

type taskResumeCommand struct {
	ID string `arg:"" help:"The task." name:"id"`
}

// Run lifts a pause.
func (c taskResumeCommand) Run(s *session) error {
	if err := s.id(c.ID, "tsk"); err != nil {
		return err
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	res, err := p.Tasks.ResumeTask(s.ctx, &v1.ResumeTaskRequest{IdempotencyKey: newKey(), TaskId: c.ID})
	if err != nil {
		return err
	}
	v := taskViewOf(res.GetTask())
	switch {
	case s.line.JSON:
		return s.print(v)
	case !v.EndTime.IsZero():
		s.sayf("It had already finished: %s.", v.Phase)
	case v.Hold != "":
		s.sayf("Not paused any more, but still held: %s.", v.Hold)
	default:
		s.sayf("It goes on: %s.", v.Phase)
	}
	return nil
}
