package rpc

import (
	"testing"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
)

func TestEffectEnums_SameNumbers(t *testing.T) {
	t.Parallel()
	for _, s := range effect.Statuses {
		agree(t, v1.EffectState(s), s.String())
	}
	for e := effect.Happened; e <= effect.StopTask; e++ {
		agree(t, v1.EffectExit(e), e.String())
	}
	agree(t, v1.EvidenceKind(effect.Found), "FOUND")
	agree(t, v1.EvidenceKind(effect.Unknown), "UNKNOWN")
	agree(t, v1.EvidenceKind(effect.SaidFailed), "SAID_FAILED")
	agree(t, v1.SignalKind(task.EffectSettled), "EFFECT_SETTLED")
	agree(t, v1.SignalKind(task.EffectUncertain), "EFFECT_UNCERTAIN")
	agree(t, v1.DecisionKind(decision.ResolveUncertain), "RESOLVE_UNCERTAIN")
	agree(t, v1.DecisionKind(decision.Stalled), "STALLED")
	agree(t, v1.DecisionKind(decision.AfterRestore), "RESTORED")
	agree(t, v1.AgentScope(store.ScopeEffectWrite), "EFFECT_WRITE")
	agree(t, v1.RevokeOutcome(app.GrantRevoked), "REVOKED")
	agree(t, v1.RevokeOutcome(app.GrantTooLate), "TOO_LATE")
	agree(t, v1.RevokeOutcome(app.GrantEnded), "ENDED")
}

func TestEffectWhole(t *testing.T) {
	t.Parallel()
	at := timeOut(moment())
	digest := make([]byte, 32)
	digest[0] = 7
	class := v1.EffectClass_EFFECT_CLASS_OUTWARD
	want := &v1.Effect{
		Id: "eff", Key: "send", TaskId: "tsk", ThreadId: "thr", AgentId: "agt",
		Action: &v1.Action{
			App: "mail", Connection: "work", Operation: "send", ArgsJson: []byte(`{}`), TargetJson: []byte(`1`),
			EffectClass: class, ActionDigest: digest,
		},
		EffectClass: class, GrantId: "grt", DecisionId: "dec", ProviderIdempotencyKey: "pk", Probe: "GET /sent",
		State: v1.EffectState_EFFECT_STATE_RESOLVED_BY_HUMAN, Generation: 2, AttemptId: "att", Receipt: "r", Open: true,
		Exit: v1.EffectExit_EFFECT_EXIT_DO_IT, ResolveDecisionId: "card", DroppedEvidence: 3,
		Evidence:  []*v1.Evidence{{Generation: 1, Kind: v1.EvidenceKind_EVIDENCE_KIND_NOT_FOUND, Text: "t", Time: at}},
		BeginTime: at, UncertainTime: at, SettleTime: at, CreateTime: at,
	}
	same(t, want, effectOut(effect.State{
		ID: "eff", Key: "send", Task: "tsk", Thread: "thr", Agent: "agt",
		Action: effect.Action{App: "mail", Connection: "work", Operation: "send", ArgsJSON: []byte(`{}`), TargetJSON: []byte(`1`)},
		Digest: proof.Digest{7}, Class: 3, Grant: "grt", Decision: "dec", ProviderKey: "pk", Probe: "GET /sent",
		Status: effect.ResolvedByHuman, Generation: 2, Attempt: "att", Receipt: "r", Opening: effect.AfterPerson, OpenUntil: moment(),
		Exit: effect.DoIt, By: "ins", Card: "card", Dropped: 3,
		Evidence:  []effect.Note{{Generation: 1, Kind: effect.NotFound, Text: "t", Time: moment()}},
		BeginTime: moment(), UncertainTime: moment(), SettleTime: moment(), CreateTime: moment(),
	}))
	same(t, &v1.Grant{
		Id: "grt", ItemId: "a", ActionDigest: digest, State: v1.GrantState_GRANT_STATE_CONSUMED, ExpireTime: at, EffectId: "eff", UseTime: at,
	}, grantOut(decision.Grant{
		ID: "grt", Item: "a", Digest: decision.Digest{7}, State: decision.Consumed, ExpireTime: moment(), Effect: "eff", UseTime: moment(),
	}))
	signal := signalOut(app.SignalView{Signal: task.Signal{ID: 1, Kind: task.EffectUncertain, Effect: "eff", Time: moment()}})
	same(t, &v1.Signal{Id: 1, Kind: v1.SignalKind_SIGNAL_KIND_EFFECT_UNCERTAIN, EffectId: "eff", CreateTime: at}, signal)
}
