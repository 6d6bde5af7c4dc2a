package store

import (
	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/sync/decision"
)

// agentCodec stores a program with a stable identity.
type agentCodec struct{}

func (agentCodec) encode(v Agent) ([]byte, error) { return marshal(packAgent(v)) }
func (agentCodec) decode(b []byte) (Agent, error) { return unmarshal(b, unpackAgent) }

// linkCodec stores what lets an agent work in an account.
type linkCodec struct{}

func (linkCodec) encode(v AgentLink) ([]byte, error) { return marshal(packLink(v)) }
func (linkCodec) decode(b []byte) (AgentLink, error) { return unmarshal(b, unpackLink) }

// keyCodec stores a key of an agent.
type keyCodec struct{}

func (keyCodec) encode(v AgentKey) ([]byte, error) { return marshal(packKey(v)) }
func (keyCodec) decode(b []byte) (AgentKey, error) { return unmarshal(b, unpackKey) }

// credentialCodec stores what an opaque credential is found by.
type credentialCodec struct{}

func (credentialCodec) encode(v Credential) ([]byte, error) { return marshal(packCredential(v)) }
func (credentialCodec) decode(b []byte) (Credential, error) { return unmarshal(b, unpackCredential) }

func packAgent(a Agent) *storagev1.Agent {
	return &storagev1.Agent{Id: a.ID, Name: a.Name, CreateTime: micros(a.CreateTime)}
}

func unpackAgent(m *storagev1.Agent, _ *reading) Agent {
	return Agent{ID: m.GetId(), Name: m.GetName(), CreateTime: moment(m.GetCreateTime())}
}

func packLink(l AgentLink) *storagev1.AgentLink {
	return &storagev1.AgentLink{
		Agent: l.Agent, Name: l.Name, Scopes: each(l.Scopes, func(s AgentScope) uint32 { return uint32(s) }),
		Ceiling: uint32(l.Ceiling), LockScreen: l.LockScreen, Revoked: l.Revoked, CreateTime: micros(l.CreateTime),
	}
}

func unpackLink(m *storagev1.AgentLink, r *reading) AgentLink {
	return AgentLink{
		Agent: m.GetAgent(), Name: m.GetName(),
		Scopes:     each(m.GetScopes(), func(n uint32) AgentScope { return number[AgentScope](r, "scopes", n) }),
		Ceiling:    number[decision.Class](r, "ceiling", m.GetCeiling()),
		LockScreen: m.GetLockScreen(), Revoked: m.GetRevoked(), CreateTime: moment(m.GetCreateTime()),
	}
}

func packKey(k AgentKey) *storagev1.AgentKey {
	return &storagev1.AgentKey{
		Id: k.ID, Agent: k.Agent, Hash: k.Hash,
		CreateTime: micros(k.CreateTime), ExpireTime: micros(k.ExpireTime), Revoked: k.Revoked,
	}
}

func unpackKey(m *storagev1.AgentKey, _ *reading) AgentKey {
	return AgentKey{
		ID: m.GetId(), Agent: m.GetAgent(), Hash: m.GetHash(),
		CreateTime: moment(m.GetCreateTime()), ExpireTime: moment(m.GetExpireTime()), Revoked: m.GetRevoked(),
	}
}

func packCredential(c Credential) *storagev1.Credential {
	return &storagev1.Credential{
		Id: c.ID, Kind: uint32(c.Kind), Account: c.Account, Agent: c.Agent, Hash: c.Hash,
		ExpireTime: micros(c.ExpireTime), Revoked: c.Revoked,
		Key: c.Key, Task: c.Task, Lease: c.Lease, Installation: c.Installation, StartTime: micros(c.StartTime),
	}
}

func unpackCredential(m *storagev1.Credential, r *reading) Credential {
	return Credential{
		ID: m.GetId(), Kind: number[CredentialKind](r, "kind", m.GetKind()), Account: m.GetAccount(), Agent: m.GetAgent(), Hash: m.GetHash(),
		ExpireTime: moment(m.GetExpireTime()), Revoked: m.GetRevoked(),
		Key: m.GetKey(), Task: m.GetTask(), Lease: m.GetLease(), Installation: m.GetInstallation(), StartTime: moment(m.GetStartTime()),
	}
}
