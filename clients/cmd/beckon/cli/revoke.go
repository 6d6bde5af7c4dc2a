package cli

import (
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type revokeCommand struct {
	ID string `arg:"" help:"The decision that was approved." name:"id"`
}

// Help is shown under the line about the command.
func (revokeCommand) Help() string {
	return "It works from anywhere, until the agent has begun what was approved; the agent is told.\n\n" +
		"Exit status: 0 taken back, or it was before; 1 too late for some of it; 2 the command makes no sense, as with a decision " +
		"that allowed nothing; 4 nothing was left to take back, since its time had passed or its task ended; 125 Beckon failed, so nothing is known."
}

type revokedView struct {
	GrantID string    `json:"grant_id"`
	ItemID  string    `json:"item_id"`
	Outcome string    `json:"outcome"`
	UseTime time.Time `json:"use_time,omitzero"`
}

// Run takes back every permission that a decision has given.
func (c revokeCommand) Run(s *session) error {
	if err := s.id(c.ID, "dec"); err != nil {
		return err
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	got, err := p.Decisions.GetDecision(s.ctx, &v1.GetDecisionRequest{DecisionId: c.ID})
	if err != nil {
		return err
	}
	grants := got.GetDecision().GetGrants()
	if len(grants) == 0 {
		return usage("this decision has allowed nothing, so there is nothing to take back")
	}
	end := exit{}
	for _, g := range grants {
		res, err := p.Decisions.RevokeGrant(s.ctx, &v1.RevokeGrantRequest{GrantId: g.GetId()})
		if err != nil {
			return err
		}
		v := revokedView{g.GetId(), g.GetItemId(), word(res.GetOutcome()), at(res.GetGrant().GetUseTime())}
		if s.line.JSON {
			if err := s.print(v); err != nil {
				return err
			}
		}
		switch res.GetOutcome() {
		case v1.RevokeOutcome_REVOKE_OUTCOME_REVOKED:
			if !s.line.JSON {
				s.sayf("Taken back. The agent is told.")
			}
		case v1.RevokeOutcome_REVOKE_OUTCOME_TOO_LATE:
			end = exit{exitNo, "too late: the agent began it " + ago(v.UseTime)}
		default:
			if end.code == 0 {
				end = exit{exitClosed, "nothing was left to take back: its time had passed, or its task has ended"}
			}
		}
	}
	if end.code != 0 {
		return end
	}
	return nil
}
