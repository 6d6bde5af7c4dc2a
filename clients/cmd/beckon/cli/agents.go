package cli

import (
	"fmt"
	"path/filepath"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type agentCommand struct {
	Add agentAddCommand `cmd:"" help:"Create an agent and write its key to a file."`
}

type agentAddCommand struct {
	Name       string `arg:""                                                                           help:"Shown on every card."`
	LockScreen bool   `help:"Allow Approve on notifications, up to class 2."`
	Ceiling    int    `default:"2"                                                                      enum:"0,1,2,3,4"                          help:"Highest class of action it may ask for."`
	Days       uint32 `default:"90"                                                                     help:"Days until the key ends, 1 to 365."`
	Out        string `help:"Where to write the key; agent.json in the configuration folder otherwise." placeholder:"FILE"                        type:"path"`
}

// Help is shown under the line about the command.
func (agentAddCommand) Help() string {
	return "Programs find the key in the usual place, or by BECKON_KEY_FILE. Keep it out of reach of what the agent runs: " +
		"`beckon run` gives its command a token for one task instead."
}

type agentAddView struct {
	Agent   agentView `json:"agent"`
	Key     keyView   `json:"key"`
	KeyFile string    `json:"key_file"`
}

// Run creates the agent. The key is in the file before anything is printed.
func (c agentAddCommand) Run(s *session) error {
	out := c.Out
	if out == "" {
		path, err := beckon.AgentKeyPath()
		if err != nil {
			return err
		}
		out = path
	}
	if err := exists(out); err != nil {
		return err
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	created, err := p.Agents.CreateAgent(s.ctx, &v1.CreateAgentRequest{
		IdempotencyKey: beckon.NewID(), Name: c.Name, LockScreenApproval: c.LockScreen, Ceiling: v1.EffectClass(c.Ceiling + 1),
	})
	if err != nil {
		return err
	}
	issued, err := p.Agents.IssueKey(s.ctx, &v1.IssueKeyRequest{AgentId: created.GetLink().GetAgentId(), Days: c.Days})
	if err != nil {
		return err
	}
	return c.store(s, p, out, created.GetLink(), issued)
}

func (agentAddCommand) store(s *session, p *beckon.Person, out string, link *v1.AgentLink, issued *v1.IssueKeyResponse) error {
	server, caFile := p.Address()
	if caFile != "" {
		if abs, err := filepath.Abs(caFile); err == nil {
			caFile = abs
		}
	}
	key := issued.GetKey()
	err := beckon.WriteKeyFile(out, beckon.KeyFile{
		Server: server, CAFile: caFile, AgentID: link.GetAgentId(), KeyID: key.GetId(),
		Key: issued.GetSecret(), ExpireTime: at(key.GetExpireTime()),
	})
	if err != nil {
		// Nobody has the key now, so nobody shall be able to use it.
		_, revoke := p.Agents.RevokeKey(s.ctx, &v1.RevokeKeyRequest{KeyId: key.GetId()})
		if revoke != nil {
			s.notef("the key %s could not be revoked again: %v", key.GetId(), revoke)
		}
		return err
	}
	if s.line.JSON {
		return s.print(agentAddView{agentViewOf(link), keyView{key.GetId(), at(key.GetExpireTime())}, out})
	}
	s.sayf("Agent %q is %s. Its key is in %s and ends on %s.", link.GetAgentName(), link.GetAgentId(), out, clock(at(key.GetExpireTime())))
	return nil
}

// agentName is what the person calls an agent; "" for one that is linked no
// more, or when the server cannot say now: the id says the same.
func (s *session) agentName(p *beckon.Person, id string) string {
	res, err := p.Agents.ListAgents(s.ctx, &v1.ListAgentsRequest{})
	if err != nil {
		return ""
	}
	for _, link := range res.GetLinks() {
		if link.GetAgentId() == id {
			return link.GetAgentName()
		}
	}
	return ""
}

// called is a name with the id behind it, which nobody can choose.
func called(name, id string) string {
	if name == "" {
		return id
	}
	return fmt.Sprintf("%s (%s)", oneLine(name), id)
}

type agentsCommand struct{}

type agentsView struct {
	Agents []agentView `json:"agents"`
}

// Run lists agents with their keys.
func (agentsCommand) Run(s *session) error {
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	res, err := p.Agents.ListAgents(s.ctx, &v1.ListAgentsRequest{})
	if err != nil {
		return err
	}
	all := agentsView{Agents: []agentView{}}
	for _, link := range res.GetLinks() {
		v := agentViewOf(link)
		for _, key := range res.GetKeys() {
			if key.GetAgentId() == v.ID {
				v.Keys = append(v.Keys, keyView{key.GetId(), at(key.GetExpireTime())})
			}
		}
		all.Agents = append(all.Agents, v)
	}
	if s.line.JSON {
		return s.print(all)
	}
	for _, v := range all.Agents {
		s.sayf("%s  %-8s %s", v.ID, v.State, v.Name)
		for _, key := range v.Keys {
			s.sayf("    key %s, until %s", key.ID, clock(key.ExpireTime))
		}
	}
	return nil
}
