package cli

import (
	"fmt"
	"strings"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type inboxCommand struct {
	All bool `help:"Also decisions that were closed, and archived threads."`
}

type inboxView struct {
	OpenDecisions uint32 `json:"open_decisions"`
	UnreadThreads uint32 `json:"unread_threads"`
	Badge         uint32 `json:"badge"`
	// Since when every agent is stopped; left out while they may work.
	KillSwitchSince time.Time      `json:"kill_switch_since,omitzero"`
	Decisions       []decisionView `json:"decisions"`
	Threads         []threadView   `json:"threads"`
	Tasks           []taskView     `json:"tasks"`
}

// Run lists the inbox as every client sees it.
func (c inboxCommand) Run(s *session) error {
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	inbox, err := s.readInbox(p)
	if err != nil {
		return err
	}
	count := inbox.Counters()
	v := inboxView{
		OpenDecisions: count.GetOpenDecisions(), UnreadThreads: count.GetUnreadThreads(), Badge: count.GetBadge(),
		KillSwitchSince: at(inbox.Settings().GetKillSwitch().GetSince()),
		Decisions:       []decisionView{}, Threads: []threadView{}, Tasks: []taskView{},
	}
	for _, d := range inbox.Decisions() {
		if c.All || d.GetState() == v1.DecisionState_DECISION_STATE_PENDING {
			v.Decisions = append(v.Decisions, headerViewOf(d))
		}
	}
	tasks := map[string]*v1.TaskHeader{}
	for _, t := range inbox.Tasks() {
		tasks[t.GetId()] = t
		v.Tasks = append(v.Tasks, taskHeaderViewOf(t))
	}
	for _, t := range inbox.Threads() {
		if t.GetArchived() && !c.All {
			continue
		}
		v.Threads = append(v.Threads, threadViewOf(t))
	}
	if s.line.JSON {
		return s.print(v)
	}
	s.printInbox(v, tasks)
	return nil
}

func (s *session) printInbox(v inboxView, tasks map[string]*v1.TaskHeader) {
	if !v.KillSwitchSince.IsZero() {
		s.sayf("KILL SWITCH ON since %s: every agent is stopped.\n", clock(v.KillSwitchSince))
	}
	if len(v.Decisions) == 0 {
		s.sayf("Nothing waits for an answer.")
	}
	for _, d := range v.Decisions {
		line := fmt.Sprintf("%s  %s", d.ID, oneLine(d.Title))
		if d.State != "pending" {
			line += "  [" + d.State + "]"
		}
		if d.State == "pending" && !d.ExpireTime.IsZero() {
			line += "  until " + clock(d.ExpireTime)
		}
		s.sayf("%s", line)
	}
	if len(v.Threads) > 0 {
		s.sayf("")
	}
	for _, t := range v.Threads {
		unread := " "
		if t.Unread > 0 {
			unread = "●"
		}
		state, waits := "", ""
		if last := tasks[t.LastTaskID]; last != nil {
			v := taskHeaderViewOf(last)
			state = taskWord(v.Phase, v.Hold)
			if waits = v.waits(); waits != "" {
				waits = "  (" + waits + ")"
			}
		}
		s.sayf("%s %s  %-10s %s%s", unread, t.ID, state, oneLine(t.Title), waits)
	}
}

// taskWord is a task's state as people say it.
func taskWord(phase, hold string) string {
	switch {
	case hold == "stop" && phase == "running":
		return "stopping"
	case hold == "pause" && phase == "running":
		return "pausing"
	case hold != "" && (phase == "ready" || phase == "running" || phase == "waiting"):
		return "held: " + hold
	default:
		return phase
	}
}

// waits says what else than a person a task waits for; empty where it is nothing.
func (v taskView) waits() string {
	switch {
	case v.WaitingFor != "":
		return "waiting for " + oneLine(v.WaitingFor) + " since " + clock(v.WaitingSince)
	case !v.RetryTime.IsZero():
		return "its worker was lost; will be tried again at " + clock(v.RetryTime)
	default:
		return ""
	}
}

// oneLine keeps a text of others within its line.
func oneLine(text string) string {
	return strings.NewReplacer("\n", "␤", "\t", " ").Replace(text)
}

type stopCommand struct {
	ID     string `arg:""                                      help:"The task." name:"id"`
	Reason string `help:"Why, for the agent and the timeline."`
}

type stopView struct {
	Outcome string   `json:"outcome"`
	Task    taskView `json:"task"`
}

// Run stops a task. Every outcome is a success: the task does not go on.
func (c stopCommand) Run(s *session) error {
	if err := s.id(c.ID, "tsk"); err != nil {
		return err
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	res, err := p.Tasks.StopTask(s.ctx, &v1.StopTaskRequest{IdempotencyKey: newKey(), TaskId: c.ID, Reason: c.Reason})
	if err != nil {
		return err
	}
	v := stopView{word(res.GetOutcome()), taskViewOf(res.GetTask())}
	if s.line.JSON {
		return s.print(v)
	}
	switch res.GetOutcome() {
	case v1.StopOutcome_STOP_OUTCOME_STOPPED:
		s.sayf("Stopped. Nothing was running.")
	case v1.StopOutcome_STOP_OUTCOME_STOPPING:
		s.sayf("Stopping: its worker was told. What it had begun may still end.")
	default:
		s.sayf("It had already finished: %s.", v.Task.Phase)
	}
	return nil
}

func ago(t time.Time) string {
	d := time.Since(t).Round(time.Second)
	switch {
	case d < time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	default:
		return "at " + clock(t)
	}
}
