package cli

import (
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type effectCommand struct {
	List effectListCommand `cmd:"" help:"List what a task has done to the outside world, and what nobody knows of."`
	Show effectShowCommand `cmd:"" help:"Show one effect, with its arguments and what was said of it."`
}

type effectListCommand struct {
	Task string `arg:""       help:"The task."                  name:"task"`
	N    uint32 `default:"20" help:"At most so many, up to 50." name:"n"    short:"n"`
}

type effectShowCommand struct {
	ID string `arg:"" help:"The effect." name:"id"`
}

type evidenceView struct {
	Generation uint32    `json:"generation"`
	Kind       string    `json:"kind"`
	Text       string    `json:"text,omitempty"`
	Time       time.Time `json:"time"`
}

type effectView struct {
	ID            string         `json:"id"`
	Key           string         `json:"key"`
	TaskID        string         `json:"task_id"`
	State         string         `json:"state"`
	Exit          string         `json:"exit,omitempty"`
	Generation    uint32         `json:"generation"`
	Open          bool           `json:"open"`
	App           string         `json:"app"`
	Connection    string         `json:"connection,omitempty"`
	Operation     string         `json:"operation"`
	Args          string         `json:"args,omitempty"`
	Target        string         `json:"target,omitempty"`
	Class         int            `json:"class"`
	Receipt       string         `json:"receipt,omitempty"`
	DecisionID    string         `json:"decision_id,omitempty"`
	ResolveID     string         `json:"resolve_decision_id,omitempty"`
	Probe         string         `json:"probe,omitempty"`
	ProviderKey   string         `json:"provider_idempotency_key,omitempty"`
	Evidence      []evidenceView `json:"evidence,omitempty"`
	CreateTime    time.Time      `json:"create_time"`
	BeginTime     time.Time      `json:"begin_time,omitzero"`
	UncertainTime time.Time      `json:"uncertain_time,omitzero"`
	SettleTime    time.Time      `json:"settle_time,omitzero"`
}

func effectViewOf(e *v1.Effect) effectView {
	a := e.GetAction()
	v := effectView{
		ID: e.GetId(), Key: e.GetKey(), TaskID: e.GetTaskId(), State: word(e.GetState()), Exit: word(e.GetExit()),
		Generation: e.GetGeneration(), Open: e.GetOpen(), App: a.GetApp(), Connection: a.GetConnection(),
		Operation: a.GetOperation(), Args: string(a.GetArgsJson()), Target: string(a.GetTargetJson()),
		Class: int(e.GetEffectClass()) - 1, Receipt: e.GetReceipt(), DecisionID: e.GetDecisionId(),
		ResolveID: e.GetResolveDecisionId(), Probe: e.GetProbe(), ProviderKey: e.GetProviderIdempotencyKey(),
		CreateTime: at(e.GetCreateTime()), BeginTime: at(e.GetBeginTime()),
		UncertainTime: at(e.GetUncertainTime()), SettleTime: at(e.GetSettleTime()),
	}
	for _, n := range e.GetEvidence() {
		v.Evidence = append(v.Evidence, evidenceView{Generation: n.GetGeneration(), Kind: word(n.GetKind()), Text: n.GetText(), Time: at(n.GetTime())})
	}
	return v
}

// Run lists effects, newest first.
func (c effectListCommand) Run(s *session) error {
	if err := s.id(c.Task, "tsk"); err != nil {
		return err
	}
	if c.N < 1 || c.N > 50 {
		return usage("-n is from 1 to 50")
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	res, err := p.Effects.ListEffects(s.ctx, &v1.ListEffectsRequest{TaskId: c.Task, Limit: c.N})
	if err != nil {
		return err
	}
	for _, e := range res.GetEffects() {
		v := effectViewOf(e)
		if s.line.JSON {
			if err := s.print(v); err != nil {
				return err
			}
			continue
		}
		s.sayf("%s  %-17s %s: %s %s", v.ID, v.State, oneLine(v.Key), oneLine(v.App), oneLine(v.Operation))
		if v.State == uncertain {
			s.sayf("    say what happened: beckon show %s", v.ResolveID)
		}
	}
	return nil
}

// uncertain is the state in which the person is asked.
const uncertain = "uncertain"

// Run shows one effect, nothing cut.
func (c effectShowCommand) Run(s *session) error {
	if err := s.id(c.ID, "eff"); err != nil {
		return err
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	res, err := p.Effects.GetEffect(s.ctx, &v1.GetEffectRequest{EffectId: c.ID})
	if err != nil {
		return err
	}
	v := effectViewOf(res.GetEffect())
	if s.line.JSON {
		return s.print(v)
	}
	s.printEffect(v)
	return nil
}

func (s *session) printEffect(v effectView) {
	s.sayf("%s  %s", v.ID, v.State)
	s.fact("task", v.TaskID)
	s.fact("name", oneLine(v.Key))
	s.fact("app", oneLine(v.App))
	s.fact("operation", oneLine(v.Operation))
	s.fact("arguments", v.Args)
	for _, f := range [][2]string{
		{"connection", v.Connection}, {"target", v.Target}, {"receipt", v.Receipt}, {"approved by", v.DecisionID},
		{"provider key", v.ProviderKey}, {"how to look", v.Probe}, {"person said", v.Exit},
	} {
		if f[1] != "" {
			s.fact(f[0], f[1])
		}
	}
	if !v.BeginTime.IsZero() {
		s.fact("permitted", ago(v.BeginTime))
	}
	for _, n := range v.Evidence {
		s.fact("was said", n.Kind+", "+ago(n.Time)+" "+n.Text)
	}
	if v.State == uncertain {
		s.sayf("Nobody knows whether it was done. Look, then say so: beckon show %s", v.ResolveID)
	}
}
