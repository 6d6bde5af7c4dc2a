package store

import (
	storagev1 "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	"github.com/beckon-dev/beckon/server/credential"
)

// settingsCodec stores the choices of a person.
type settingsCodec struct{}

func (settingsCodec) encode(v Settings) ([]byte, error) { return marshal(packSettings(v)) }
func (settingsCodec) decode(b []byte) (Settings, error) { return unmarshal(b, unpackSettings) }

// installationCodec stores a program on a device.
type installationCodec struct{}

func (installationCodec) encode(v Installation) ([]byte, error) { return marshal(packInstallation(v)) }
func (installationCodec) decode(b []byte) (Installation, error) {
	return unmarshal(b, unpackInstallation)
}

// offerCodec stores a pairing in progress.
type offerCodec struct{}

func (offerCodec) encode(v Offer) ([]byte, error) { return marshal(packOffer(v)) }
func (offerCodec) decode(b []byte) (Offer, error) { return unmarshal(b, unpackOffer) }

// unlockCodec stores what a terminal shows to be unlocked.
type unlockCodec struct{}

func (unlockCodec) encode(v Unlock) ([]byte, error) { return marshal(packUnlock(v)) }
func (unlockCodec) decode(b []byte) (Unlock, error) { return unmarshal(b, unpackUnlock) }

// familyCodec stores the refresh tokens of an installation.
type familyCodec struct{}

func (familyCodec) encode(v credential.Family) ([]byte, error) { return marshal(packFamily(v)) }
func (familyCodec) decode(b []byte) (credential.Family, error) { return unmarshal(b, unpackFamily) }

func packSettings(s Settings) *storagev1.Settings {
	return &storagev1.Settings{
		Level: uint32(s.Level), KillSwitchBy: s.KillSwitch.By, KillSwitchSince: micros(s.KillSwitch.Since),
	}
}

func unpackSettings(m *storagev1.Settings, r *reading) Settings {
	return Settings{
		Level:      number[ContentLevel](r, "level", m.GetLevel()),
		KillSwitch: KillSwitch{By: m.GetKillSwitchBy(), Since: moment(m.GetKillSwitchSince())},
	}
}

func packInstallation(i Installation) *storagev1.Installation {
	return &storagev1.Installation{
		Id: i.ID, Label: i.Label, Platform: uint32(i.Platform), App: i.App, Locale: i.Locale,
		PublicKey: i.PublicKey, ApprovalKey: i.ApprovalKey, State: uint32(i.State),
		ProbationEnd: micros(i.ProbationEnd), FullUntil: micros(i.FullUntil),
		ElevatedUntil: micros(i.ElevatedUntil), UnlockUntil: micros(i.UnlockUntil),
		AuthEpoch: i.AuthEpoch, Health: uint32(i.Health), CreateTime: micros(i.CreateTime),
	}
}

func unpackInstallation(m *storagev1.Installation, r *reading) Installation {
	return Installation{
		ID: m.GetId(), Label: m.GetLabel(), Platform: number[Platform](r, "platform", m.GetPlatform()),
		App: m.GetApp(), Locale: m.GetLocale(),
		PublicKey: m.GetPublicKey(), ApprovalKey: m.GetApprovalKey(),
		State:        number[InstallationState](r, "state", m.GetState()),
		ProbationEnd: moment(m.GetProbationEnd()), FullUntil: moment(m.GetFullUntil()),
		ElevatedUntil: moment(m.GetElevatedUntil()), UnlockUntil: moment(m.GetUnlockUntil()),
		AuthEpoch: m.GetAuthEpoch(), Health: number[PushHealth](r, "health", m.GetHealth()), CreateTime: moment(m.GetCreateTime()),
	}
}

func packOffer(o Offer) *storagev1.Offer {
	return &storagev1.Offer{
		Id: o.ID, By: o.By, SecretHash: o.SecretHash, CodeHash: o.CodeHash, State: uint32(o.State),
		ExpireTime: micros(o.ExpireTime), NoProbation: o.NoProbation, DigitsHash: o.DigitsHash, Tries: int64(o.Tries),
		Device: packInstallation(o.Device), RedeemHash: o.RedeemHash, Installation: o.Installation,
		WrongSecrets: int64(o.WrongSecrets), KeyMac: o.KeyMAC, Refresh: o.Refresh,
	}
}

func unpackOffer(m *storagev1.Offer, r *reading) Offer {
	return Offer{
		ID: m.GetId(), By: m.GetBy(), SecretHash: m.GetSecretHash(), CodeHash: m.GetCodeHash(),
		State:      number[PairingState](r, "state", m.GetState()),
		ExpireTime: moment(m.GetExpireTime()), NoProbation: m.GetNoProbation(), DigitsHash: m.GetDigitsHash(), Tries: int(m.GetTries()),
		Device: unpackInstallation(m.GetDevice(), r), RedeemHash: m.GetRedeemHash(), Installation: m.GetInstallation(),
		WrongSecrets: int(m.GetWrongSecrets()), KeyMAC: m.GetKeyMac(), Refresh: m.GetRefresh(),
	}
}

func packUnlock(u Unlock) *storagev1.Unlock {
	return &storagev1.Unlock{DigitsHash: u.DigitsHash, Tries: int64(u.Tries), ExpireTime: micros(u.ExpireTime)}
}

func unpackUnlock(m *storagev1.Unlock, _ *reading) Unlock {
	return Unlock{DigitsHash: m.GetDigitsHash(), Tries: int(m.GetTries()), ExpireTime: moment(m.GetExpireTime())}
}

func packFamily(f credential.Family) *storagev1.Family {
	return &storagev1.Family{
		Current: from32(f.Current), Next: from32(f.Next), Attempt: from32(f.Attempt),
		CreateTime: micros(f.CreateTime), UseTime: micros(f.UseTime), Revoked: f.Revoked, Restored: f.Restored,
	}
}

func unpackFamily(m *storagev1.Family, r *reading) credential.Family {
	return credential.Family{
		Current:    bytes32[credential.Hash](r, "current", m.GetCurrent()),
		Next:       bytes32[credential.Hash](r, "next", m.GetNext()),
		Attempt:    bytes32[credential.Hash](r, "attempt", m.GetAttempt()),
		CreateTime: moment(m.GetCreateTime()), UseTime: moment(m.GetUseTime()), Revoked: m.GetRevoked(), Restored: m.GetRestored(),
	}
}
