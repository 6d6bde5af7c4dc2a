package rpc

import (
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
)

func effectOut(e effect.State) *v1.Effect {
	class := classOut(decision.Class(e.Class))
	return &v1.Effect{
		Id: e.ID, Key: e.Key, TaskId: e.Task, ThreadId: e.Thread, AgentId: e.Agent,
		Action: &v1.Action{
			App: e.Action.App, Connection: e.Action.Connection, Operation: e.Action.Operation,
			ArgsJson: e.Action.ArgsJSON, TargetJson: e.Action.TargetJSON, EffectClass: class,
			ActionDigest: digestOut(decision.Digest(e.Digest)),
		},
		EffectClass: class, GrantId: e.Grant, DecisionId: e.Decision,
		ProviderIdempotencyKey: e.ProviderKey, Probe: e.Probe,
		State: v1.EffectState(e.Status), Generation: e.Generation, AttemptId: e.Attempt, Receipt: e.Receipt,
		Open: e.Open(), Exit: v1.EffectExit(e.Exit), ResolveDecisionId: e.Card,
		Evidence: mapAll(e.Evidence, evidenceOut), DroppedEvidence: e.Dropped,
		BeginTime: timeOut(e.BeginTime), UncertainTime: timeOut(e.UncertainTime),
		SettleTime: timeOut(e.SettleTime), CreateTime: timeOut(e.CreateTime),
	}
}

func evidenceOut(n effect.Note) *v1.Evidence {
	return &v1.Evidence{Generation: n.Generation, Kind: v1.EvidenceKind(n.Kind), Text: n.Text, Time: timeOut(n.Time)}
}
