package store

import (
	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/proof"
)

// effectCodec stores an action on the outside world and what is known of it.
type effectCodec struct{}

func (effectCodec) encode(v effect.State) ([]byte, error) { return marshal(packEffect(v)) }
func (effectCodec) decode(b []byte) (effect.State, error) { return unmarshal(b, unpackEffect) }

func packEffect(s effect.State) *storagev1.Effect {
	return &storagev1.Effect{
		Id: s.ID, Key: s.Key, Task: s.Task, Thread: s.Thread, Agent: s.Agent,
		Action: &storagev1.Action{
			App: s.Action.App, Connection: s.Action.Connection, Operation: s.Action.Operation,
			ArgsJson: s.Action.ArgsJSON, TargetJson: s.Action.TargetJSON, Digest: from32(s.Digest),
		},
		Class: uint32(s.Class), Grant: s.Grant, Decision: s.Decision, ProviderKey: s.ProviderKey, Probe: s.Probe,
		Status: uint32(s.Status), Generation: s.Generation, Attempt: s.Attempt, Receipt: s.Receipt,
		Opening: uint32(s.Opening), OpenUntil: micros(s.OpenUntil), Exit: uint32(s.Exit), By: s.By,
		TaskEnded: s.TaskEnded, Card: s.Card, Evidence: each(s.Evidence, packNote), Dropped: s.Dropped,
		BeginTime: micros(s.BeginTime), UncertainTime: micros(s.UncertainTime),
		SettleTime: micros(s.SettleTime), CreateTime: micros(s.CreateTime), Skipped: s.Skipped,
	}
}

func unpackEffect(m *storagev1.Effect, r *reading) effect.State {
	a := m.GetAction()
	return effect.State{
		ID: m.GetId(), Key: m.GetKey(), Task: m.GetTask(), Thread: m.GetThread(), Agent: m.GetAgent(),
		Action: effect.Action{
			App: a.GetApp(), Connection: a.GetConnection(), Operation: a.GetOperation(),
			ArgsJSON: a.GetArgsJson(), TargetJSON: a.GetTargetJson(),
		},
		Digest: bytes32[proof.Digest](r, "action.digest", a.GetDigest()),
		Class:  number[uint8](r, "class", m.GetClass()), Grant: m.GetGrant(), Decision: m.GetDecision(),
		ProviderKey: m.GetProviderKey(), Probe: m.GetProbe(),
		Status: number[effect.Status](r, "status", m.GetStatus()), Generation: m.GetGeneration(),
		Attempt: m.GetAttempt(), Receipt: m.GetReceipt(),
		Opening: number[effect.Opening](r, "opening", m.GetOpening()), OpenUntil: moment(m.GetOpenUntil()),
		Exit: number[effect.Exit](r, "exit", m.GetExit()), By: m.GetBy(),
		TaskEnded: m.GetTaskEnded(), Card: m.GetCard(),
		Evidence: each(m.GetEvidence(), func(m *storagev1.EffectNote) effect.Note { return unpackNote(m, r) }), Dropped: m.GetDropped(),
		BeginTime: moment(m.GetBeginTime()), UncertainTime: moment(m.GetUncertainTime()),
		SettleTime: moment(m.GetSettleTime()), CreateTime: moment(m.GetCreateTime()),
		Skipped: m.GetSkipped(),
	}
}

func packNote(n effect.Note) *storagev1.EffectNote {
	return &storagev1.EffectNote{Generation: n.Generation, Kind: uint32(n.Kind), Text: n.Text, Time: micros(n.Time)}
}

func unpackNote(m *storagev1.EffectNote, r *reading) effect.Note {
	return effect.Note{
		Generation: m.GetGeneration(), Kind: number[effect.Kind](r, "evidence.kind", m.GetKind()),
		Text: m.GetText(), Time: moment(m.GetTime()),
	}
}
