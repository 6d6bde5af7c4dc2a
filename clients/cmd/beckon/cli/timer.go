package cli

import (
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type timerCommand struct {
	List timerListCommand `cmd:"" help:"List the timers of a task: when it is woken, and which have fired."`
}

type timerListCommand struct {
	Task string `arg:"" help:"The task." name:"task"`
}

type timerView struct {
	TaskID     string    `json:"task_id"`
	Key        string    `json:"key"`
	FireTime   time.Time `json:"fire_time"`
	Fired      bool      `json:"fired"`
	Data       string    `json:"data,omitempty"`
	CreateTime time.Time `json:"create_time"`
}

// Run lists timers, by their names.
func (c timerListCommand) Run(s *session) error {
	if err := s.id(c.Task, "tsk"); err != nil {
		return err
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	res, err := p.Timers.ListTimers(s.ctx, &v1.ListTimersRequest{TaskId: c.Task})
	if err != nil {
		return err
	}
	for _, t := range res.GetTimers() {
		v := timerView{
			TaskID: t.GetTaskId(), Key: t.GetKey(), FireTime: at(t.GetFireTime()), Fired: t.GetFired(),
			Data: string(t.GetData()), CreateTime: at(t.GetCreateTime()),
		}
		if s.line.JSON {
			if err := s.print(v); err != nil {
				return err
			}
			continue
		}
		state := "waits"
		if v.Fired {
			state = "fired"
		}
		s.sayf("%s  %s  %s", clock(v.FireTime), state, oneLine(v.Key))
	}
	return nil
}
