package auth

import (
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/sync/proof"
)

// Grants mints what the verbs hand out.
type Grants struct{ issuer *Issuer }

var _ app.Tokens = Grants{}

// NewGrants mints by issuer.
func NewGrants(issuer *Issuer) Grants { return Grants{issuer: issuer} }

// kindInstallation is what every access token says; whether the device is on
// probation changes with time and is read live.
const kindInstallation = "installation"

// Access makes an access token for an installation. Error: ErrGrant.
func (g Grants) Access(a app.AccessGrant) (credential.Secret, time.Time, error) {
	return g.issuer.MintAccess(AccessGrant{
		Account: a.Account, Installation: a.Installation, Kind: kindInstallation, Generation: a.AuthEpoch,
	})
}

// Tap makes the token of one button on one device. Its id is the issuer's own.
// Error: ErrGrant.
func (g Grants) Tap(t app.TapGrant) (string, error) {
	token, _, err := g.issuer.MintTap(TapGrant{
		Account: t.Account, Installation: t.Installation, Decision: t.Decision,
		Revision: uint64(t.Revision), Digest: proof.Digest(t.Asked), Verb: t.Verb,
	}, t.ExpireTime)
	return token.Reveal(), err
}

// Permit makes the token of one attempt of one effect. Error: ErrGrant.
func (g Grants) Permit(p app.PermitGrant) (string, time.Time, error) {
	return g.issuer.MintPermit(PermitGrant{
		Account: p.Account, Agent: p.Agent, Task: p.Task, Effect: p.Effect, Generation: p.Generation,
		App: p.App, Connection: p.Connection, Operation: p.Operation, Digest: proof.Digest(p.Digest),
	})
}
