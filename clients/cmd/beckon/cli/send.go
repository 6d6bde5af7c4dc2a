package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// mostMessage is how long a message may be, in bytes.
const mostMessage = 16 << 10

type sendCommand struct {
	ID   string `arg:"" help:"A thread (thr_…), or a task (tsk_…) for the thread it is in."     name:"id"`
	Text string `arg:"" help:"What you write; - reads standard input."`
}

// Help is shown under the line about the command.
func (sendCommand) Help() string {
	return "A message goes to the newest task of the thread that takes messages, and wakes it; where there is none, the thread's agent gets a new task with it. " +
		"It answers no question. A command under 'beckon run' takes no messages."
}

type sentView struct {
	Item itemView  `json:"item"`
	Task *taskView `json:"task,omitempty"`
}

// Run sends the message.
func (c sendCommand) Run(s *session) error {
	if err := s.id(c.ID, "thr", "tsk"); err != nil {
		return err
	}
	if c.Text == "-" {
		raw, err := s.readFile("-", "the message")
		if err != nil {
			return err
		}
		c.Text = string(raw)
	}
	switch text := c.Text; {
	case !utf8.ValidString(text) || !legible(text) || strings.TrimSpace(text) == "":
		return usage("the message has to be a text that can be read")
	case len(text) > mostMessage:
		return usage("the message has %d bytes, at most %d", len(text), mostMessage)
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	thread := c.ID
	if strings.HasPrefix(c.ID, "tsk_") {
		res, err := p.Tasks.GetTask(s.ctx, &v1.GetTaskRequest{TaskId: c.ID})
		if err != nil {
			return err
		}
		thread = res.GetTask().GetThreadId()
	}
	res, err := p.Threads.SendMessage(s.ctx, &v1.SendMessageRequest{IdempotencyKey: newKey(), ThreadId: thread, Text: c.Text})
	if err != nil {
		return err
	}
	v := sentView{Item: itemViewOf(res.GetItem())}
	to := "nobody works on it now"
	if t := res.GetTask(); t != nil {
		task := taskViewOf(t)
		v.Task, to = &task, fmt.Sprintf("%s has it: %s", task.ID, taskWord(task.Phase, task.Hold))
	}
	if s.line.JSON {
		return s.print(v)
	}
	s.sayf("Sent. %s.", to)
	return nil
}
