package store

import (
	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/push"
)

// addressCodec stores a push endpoint.
type addressCodec struct{}

func (addressCodec) encode(v push.Address) ([]byte, error) { return marshal(packAddress(v)) }
func (addressCodec) decode(b []byte) (push.Address, error) { return unmarshal(b, unpackAddress) }

// ownerCodec stores who owns a push endpoint.
type ownerCodec struct{}

func (ownerCodec) encode(v Registered) ([]byte, error) { return marshal(packOwner(v)) }
func (ownerCodec) decode(b []byte) (Registered, error) { return unmarshal(b, unpackOwner) }

// deliveryCodec stores an outbox row.
type deliveryCodec struct{}

func (deliveryCodec) encode(v push.Delivery) ([]byte, error) { return marshal(packDelivery(v)) }
func (deliveryCodec) decode(b []byte) (push.Delivery, error) { return unmarshal(b, unpackDelivery) }

// quietCodec stores what was planned without being shown.
type quietCodec struct{}

func (quietCodec) encode(v push.Quiet) ([]byte, error) { return marshal(packQuiet(v)) }
func (quietCodec) decode(b []byte) (push.Quiet, error) { return unmarshal(b, unpackQuiet) }

func packAddress(a push.Address) *storagev1.Address {
	return &storagev1.Address{
		Id: a.ID, Account: a.Account, Installation: a.Installation, App: a.App,
		Kind: string(a.Kind), Env: string(a.Env), Token: a.Token, Topic: a.Topic, AccountTag: a.AccountTag,
		Generation: a.Generation, RegisterTime: micros(a.RegisteredAt),
		State: string(a.State), Locale: a.Locale, Level: string(a.Level),
	}
}

func unpackAddress(m *storagev1.Address, _ *reading) push.Address {
	return push.Address{
		ID: m.GetId(), Account: m.GetAccount(), Installation: m.GetInstallation(), App: m.GetApp(),
		Kind: push.AddressKind(m.GetKind()), Env: push.Env(m.GetEnv()), Token: m.GetToken(), Topic: m.GetTopic(), AccountTag: m.GetAccountTag(),
		Generation: m.GetGeneration(), RegisteredAt: moment(m.GetRegisterTime()),
		State: push.AddressState(m.GetState()), Locale: m.GetLocale(), Level: push.Level(m.GetLevel()),
	}
}

func packOwner(o Registered) *storagev1.EndpointOwner {
	return &storagev1.EndpointOwner{
		Account: o.Account, Installation: o.Installation, Address: o.Address, Generation: o.Generation,
	}
}

func unpackOwner(m *storagev1.EndpointOwner, _ *reading) Registered {
	return Registered{
		Account: m.GetAccount(), Installation: m.GetInstallation(), Address: m.GetAddress(), Generation: m.GetGeneration(),
	}
}

func packDelivery(d push.Delivery) *storagev1.Delivery {
	return &storagev1.Delivery{
		Id: d.ID, Intent: d.Intent, Kind: string(d.Kind),
		Thread: d.Thread, Task: d.Task, Decision: d.Decision, Version: d.Version,
		Account: d.Account, Address: d.Address, Generation: d.Generation, Lane: d.Lane, Env: string(d.Env),
		State: string(d.State), Reason: d.Reason, Attempt: int64(d.Attempt), MaybeSent: d.MaybeSent,
		DueTime: micros(d.DueAt), Lease: d.Lease, LeaseUntil: micros(d.LeaseUntil),
		CreateTime: micros(d.CreatedAt), ExpireTime: micros(d.ExpiresAt), AcceptTime: micros(d.AcceptedAt),
		CollapseId: d.CollapseID, ProviderId: d.ProviderID,
		HoldUntil: micros(d.HeldUntil), EndTime: micros(d.EndedAt),
	}
}

func unpackDelivery(m *storagev1.Delivery, _ *reading) push.Delivery {
	return push.Delivery{
		ID: m.GetId(), Intent: m.GetIntent(), Kind: push.Kind(m.GetKind()),
		Subject: push.Subject{Thread: m.GetThread(), Task: m.GetTask(), Decision: m.GetDecision(), Version: m.GetVersion()},
		Account: m.GetAccount(), Address: m.GetAddress(), Generation: m.GetGeneration(), Lane: m.GetLane(), Env: push.Env(m.GetEnv()),
		State: push.State(m.GetState()), Reason: m.GetReason(), Attempt: int(m.GetAttempt()), MaybeSent: m.GetMaybeSent(),
		DueAt: moment(m.GetDueTime()), Lease: m.GetLease(), LeaseUntil: moment(m.GetLeaseUntil()),
		CreatedAt: moment(m.GetCreateTime()), ExpiresAt: moment(m.GetExpireTime()), AcceptedAt: moment(m.GetAcceptTime()),
		CollapseID: m.GetCollapseId(), ProviderID: m.GetProviderId(),
		HeldUntil: moment(m.GetHoldUntil()), EndedAt: moment(m.GetEndTime()),
	}
}

func packQuiet(q push.Quiet) *storagev1.Quiet {
	m := &storagev1.Quiet{Badge: q.Badge}
	for _, s := range q.Sweeps {
		m.Sweeps = append(m.Sweeps, &storagev1.SweepBatch{Row: s.Row, Withdrawals: s.Withdrawals, Zero: s.Zero})
	}
	return m
}

func unpackQuiet(m *storagev1.Quiet, _ *reading) push.Quiet {
	q := push.Quiet{Badge: m.GetBadge()}
	for _, s := range m.GetSweeps() {
		q.Sweeps = append(q.Sweeps, push.SweepBatch{Row: s.GetRow(), Withdrawals: s.GetWithdrawals(), Zero: s.GetZero()})
	}
	return q
}
