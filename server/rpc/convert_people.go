package rpc

import (
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
)

func settingsOut(s store.Settings) *v1.Settings {
	out := &v1.Settings{ContentLevel: v1.ContentLevel(s.Level)}
	if s.KillSwitch.On() {
		out.KillSwitch = &v1.KillSwitch{InstallationId: s.KillSwitch.By, Since: timeOut(s.KillSwitch.Since)}
	}
	return out
}

func installationOut(i store.Installation) *v1.Installation {
	out := &v1.Installation{
		Id: i.ID, Label: i.Label, Platform: v1.Platform(i.Platform), AppId: i.App,
		State: v1.InstallationState(i.State), Locale: i.Locale,
		HasApprovalKey: len(i.ApprovalKey) > 0, CreateTime: timeOut(i.CreateTime),
		PushHealth: v1.PushHealth(i.Health),
	}
	if i.State == store.InstallationProbation {
		out.ProbationEndTime = timeOut(i.ProbationEnd)
	}
	return out
}

func linkOut(l store.AgentLink) *v1.AgentLink {
	state := v1.LinkState_LINK_STATE_ACTIVE
	if l.Revoked {
		state = v1.LinkState_LINK_STATE_REVOKED
	}
	return &v1.AgentLink{
		AgentId: l.Agent, AgentName: l.Name, Scopes: mapAll(l.Scopes, scopeOut), Ceiling: classOut(l.Ceiling),
		LockScreenApproval: l.LockScreen, State: state, CreateTime: timeOut(l.CreateTime),
	}
}

func scopeOut(s store.AgentScope) v1.AgentScope { return v1.AgentScope(s) }

func scopesIn(scopes []v1.AgentScope) ([]store.AgentScope, error) {
	var out []store.AgentScope
	for _, s := range scopes {
		scope, err := enumIn("scopes", s, store.ScopeEffectWrite)
		if err != nil {
			return nil, err
		}
		out = append(out, scope)
	}
	return out, nil
}

func keyOut(k store.AgentKey) *v1.AgentKey {
	return &v1.AgentKey{
		Id: k.ID, AgentId: k.Agent, CreateTime: timeOut(k.CreateTime), ExpireTime: timeOut(k.ExpireTime),
	}
}

func deviceIn(d *v1.NewInstallation) (app.NewDevice, error) {
	platform, err := enumIn("installation.platform", d.GetPlatform(), store.PlatformTerminal)
	return app.NewDevice{
		Platform: platform, Label: d.GetLabel(), PublicKey: d.GetPublicKey(), ApprovalKey: d.GetApprovalKey(),
		App: d.GetAppId(), Locale: d.GetLocale(),
	}, err
}

// tokensOut leaves absent tokens out.
func tokensOut(p *app.TokenPair) *v1.Tokens {
	if p == nil {
		return nil
	}
	return &v1.Tokens{
		AccessToken: p.Access.Reveal(), AccessExpireTime: timeOut(p.AccessExpireTime), RefreshToken: p.Refresh.Reveal(),
	}
}

// pairingOut shows an offer to one of its two sides: the new device gets what
// it needs to start, the offering one what it has to check.
func pairingOut(p app.Pairing, newDevice bool, server string) *v1.GetPairingResponse {
	out := &v1.GetPairingResponse{State: v1.PairingState(p.State)}
	if p.Installation.Platform != 0 {
		out.Installation = installationOut(p.Installation)
	}
	if newDevice {
		out.Tokens, out.AccountId = tokensOut(p.Tokens), p.Account
		if p.State == store.OfferConfirmed {
			out.ServerId = server
		}
		return out
	}
	out.PublicKey, out.KeyMac = p.Installation.PublicKey, p.KeyMAC
	return out
}
