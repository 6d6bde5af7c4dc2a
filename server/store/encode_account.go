package store

import (
	"math"

	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// metaCodec stores the own row of the store.
type metaCodec struct{}

func (metaCodec) encode(v meta) ([]byte, error) { return marshal(packMeta(v)) }
func (metaCodec) decode(b []byte) (meta, error) { return unmarshal(b, unpackMeta) }

// accountCodec stores an account as seen from outside.
type accountCodec struct{}

func (accountCodec) encode(v AccountRow) ([]byte, error) { return marshal(packAccount(v)) }
func (accountCodec) decode(b []byte) (AccountRow, error) { return unmarshal(b, unpackAccount) }

// headCodec stores what every command of an account reads and writes.
type headCodec struct{}

func (headCodec) encode(v head) ([]byte, error) { return marshal(packHead(v)) }
func (headCodec) decode(b []byte) (head, error) { return unmarshal(b, unpackHead) }

// scopeCodec stores where a scope stands.
type scopeCodec struct{}

func (scopeCodec) encode(v scopeRow) ([]byte, error) { return marshal(packScope(v)) }
func (scopeCodec) decode(b []byte) (scopeRow, error) { return unmarshal(b, unpackScope) }

// idempotentCodec stores the remembered result of a write.
type idempotentCodec struct{}

func (idempotentCodec) encode(v Idempotent) ([]byte, error) { return marshal(packIdempotent(v)) }
func (idempotentCodec) decode(b []byte) (Idempotent, error) { return unmarshal(b, unpackIdempotent) }

func packMeta(v meta) *storagev1.Meta {
	return &storagev1.Meta{
		ServerId: v.ServerID,
		Epochs:   each(v.Epochs, func(e changelog.Epoch) []byte { return e[:] }),
		KeyCheck: v.KeyCheck, EpochNumber: v.EpochNumber, OldestEpoch: int64(v.OldestEpoch),
		EpochTime: micros(v.EpochTime), CopyTime: micros(v.CopyTime),
	}
}

func unpackMeta(m *storagev1.Meta, r *reading) meta {
	return meta{
		ServerID: m.GetServerId(),
		Epochs: each(m.GetEpochs(), func(b []byte) (e changelog.Epoch) {
			if copy(e[:], b) != len(e) || len(b) != len(e) {
				r.refuse("epochs")
			}
			return e
		}),
		KeyCheck: m.GetKeyCheck(), EpochNumber: m.GetEpochNumber(), OldestEpoch: int(m.GetOldestEpoch()),
		EpochTime: moment(m.GetEpochTime()), CopyTime: moment(m.GetCopyTime()),
	}
}

func packAccount(a AccountRow) *storagev1.Account {
	return &storagev1.Account{Key: a.Key, Claimed: a.Claimed, CreateTime: micros(a.CreateTime), Link: a.Link}
}

func unpackAccount(m *storagev1.Account, _ *reading) AccountRow {
	return AccountRow{Key: m.GetKey(), Claimed: m.GetClaimed(), CreateTime: moment(m.GetCreateTime()), Link: m.GetLink()}
}

func packHead(h head) *storagev1.Head {
	return &storagev1.Head{
		LastCommit: micros(h.LastCommit), Counters: packCounters(h.Counters), LiveTasks: int64(h.LiveTasks),
		AuditSeq: h.AuditSeq, AuditHash: h.AuditHash, ArtifactBytes: h.ArtifactBytes, EpochNumber: h.EpochNumber,
	}
}

func unpackHead(m *storagev1.Head, r *reading) head {
	return head{
		LastCommit: moment(m.GetLastCommit()), Counters: unpackCounters(m.GetCounters(), r), LiveTasks: int(m.GetLiveTasks()),
		AuditSeq: m.GetAuditSeq(), AuditHash: m.GetAuditHash(), ArtifactBytes: m.GetArtifactBytes(), EpochNumber: m.GetEpochNumber(),
	}
}

func packScope(s scopeRow) *storagev1.Scope {
	return &storagev1.Scope{
		Head: uint64(s.Head), Floor: uint64(s.Floor),
		Bases: each(s.Bases, func(b changelog.Base) *storagev1.Base {
			return &storagev1.Base{Epoch: int64(b.Epoch), Head: uint64(b.Head)}
		}),
	}
}

func unpackScope(m *storagev1.Scope, r *reading) scopeRow {
	return scopeRow{
		Head: changelog.Seq(m.GetHead()), Floor: changelog.Seq(m.GetFloor()),
		Bases: each(m.GetBases(), func(m *storagev1.Base) changelog.Base {
			if m.GetEpoch() < 0 || m.GetEpoch() > math.MaxInt32 {
				r.refuse("bases.epoch")
			}
			return changelog.Base{Epoch: int(m.GetEpoch()), Head: changelog.Seq(m.GetHead())}
		}),
	}
}

func packIdempotent(i Idempotent) *storagev1.Idempotent {
	return &storagev1.Idempotent{BodyHash: i.BodyHash, Result: i.Result, ExpireTime: micros(i.ExpireTime)}
}

func unpackIdempotent(m *storagev1.Idempotent, _ *reading) Idempotent {
	return Idempotent{BodyHash: m.GetBodyHash(), Result: m.GetResult(), ExpireTime: moment(m.GetExpireTime())}
}
