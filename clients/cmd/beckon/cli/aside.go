package cli

import (
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type snoozeCommand struct {
	ID  string        `arg:""       help:"The decision."                                          name:"id"`
	For time.Duration `default:"1h" help:"For how long, at most until its end; 0 brings it back."`
}

// Run puts a question aside.
func (c snoozeCommand) Run(s *session) error {
	if err := s.id(c.ID, "dec"); err != nil {
		return err
	}
	if c.For < 0 || c.For > 720*time.Hour {
		return usage("--for is from 0 to 720h")
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	d, err := p.Snooze(s.ctx, &v1.Decision{Id: c.ID}, c.For)
	if err != nil {
		return err
	}
	v := decisionViewOf(d)
	switch {
	case v.State != "pending":
		return exit{exitClosed, "the question was " + v.State}
	case s.line.JSON:
		return s.print(v)
	case v.SnoozeUntil.IsZero():
		s.sayf("It is back; nobody has answered it.")
	default:
		s.sayf("Put aside until %s; nobody has answered it.", clock(v.SnoozeUntil))
	}
	return nil
}

type denyAllCommand struct {
	Task  string `help:"Only what this task asks."  placeholder:"ID"`
	Agent string `help:"Only what this agent asks." placeholder:"ID"`
}

type denyAllView struct {
	Denied  []string `json:"denied_ids"`
	Skipped []string `json:"skipped_ids"`
}

// Run refuses everything that is open.
func (c denyAllCommand) Run(s *session) error {
	for id, kind := range map[string]string{c.Task: "tsk", c.Agent: "agt"} {
		if id == "" {
			continue
		}
		if err := s.id(id, kind); err != nil {
			return err
		}
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	denied, skipped, err := p.DenyAll(s.ctx, c.Task, c.Agent, v1.Surface_SURFACE_TERMINAL)
	if err != nil {
		return err
	}
	if s.line.JSON {
		return s.print(denyAllView{append([]string{}, denied...), append([]string{}, skipped...)})
	}
	s.sayf("%d refused, %d left open", len(denied), len(skipped))
	for _, id := range skipped {
		s.sayf("  %s has no plain no; see 'beckon show %s'", id, id)
	}
	return nil
}
