package beckon

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Snooze puts a question aside for a while, at most until its end; zero brings
// it back. It stays PENDING, and nobody has answered anything. Error: [*Error].
func (p *Person) Snooze(ctx context.Context, d *v1.Decision, length time.Duration) (*v1.Decision, error) {
	req := &v1.SnoozeDecisionRequest{DecisionId: d.GetId()}
	if length != 0 {
		req.Snooze = durationpb.New(length)
	}
	res, err := p.Decisions.SnoozeDecision(ctx, req)
	return res.GetDecision(), err
}

// DenyAll refuses every open question of a task, of an agent, or, where both are
// empty, of the account. It tells which it has refused and which it left open: a
// question of the server, and one that wants words with a no. Error: [*Error].
func (p *Person) DenyAll(ctx context.Context, task, agent string, on v1.Surface) (denied, skipped []string, err error) {
	res, err := p.Decisions.DenyAllOpen(ctx, &v1.DenyAllOpenRequest{IdempotencyKey: NewID(), TaskId: task, AgentId: agent, Surface: on})
	return res.GetDeniedIds(), res.GetSkippedIds(), err
}

// Amend adds words or evidence to an open question, by item: whoever saw it has
// to look again. Empty words leave those that are there. Error: [*Error].
func (w *Work) Amend(ctx context.Context, decision, reason string, evidence ...*v1.ItemEvidence) (*v1.Decision, error) {
	res, err := w.API().Decisions.AmendDecision(ctx, &v1.AmendDecisionRequest{DecisionId: decision, AgentReason: reason, Evidence: evidence})
	return res.GetDecision(), err
}
