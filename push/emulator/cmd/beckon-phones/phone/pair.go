package phone

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/proof"
)

// ErrPairing answers a pairing that ended without letting the phone in: the
// digits were wrong, or time was up.
var ErrPairing = errors.New("phone: the pairing was not confirmed")

// ErrLink answers a claim with what is no claim link.
var ErrLink = errors.New("phone: not a claim link; a new server prints one, http://…/claim#…")

// pairWait is how long one GetPairing stays open; 25 s is the most.
const pairWait = 20 * time.Second

// Pair redeems a typed code at a server, hands the four digits to show, waits
// until a person has typed them on the offering device, and registers for
// pushes. What the phone belonged to before is forgotten only then. caPEM
// replaces the system's roots. Errors: ErrServer, ErrPairing, those of the
// server.
func (a *App) Pair(ctx context.Context, base, caPEM, code string, show func(digits string)) error {
	srv, err := dial(base, caPEM, a.cfg.Device.Online)
	if err != nil {
		return err
	}
	next := State{Server: base, ServerCA: caPEM}
	tokens, err := a.join(ctx, srv, &next, code, show)
	if err != nil {
		srv.close()
		return err
	}
	return a.begin(ctx, srv, next, tokens)
}

// begin is the start of a new installation: it registers for pushes and reads.
func (a *App) begin(ctx context.Context, srv *server, next State, tokens *v1.Tokens) error {
	if err := a.become(srv, next, tokens); err != nil {
		return err
	}
	a.tell(Event{Kind: Paired})
	if err := a.Register(ctx); err != nil {
		return err
	}
	return a.Sync(ctx)
}

// Claim makes the phone the first device of an account by the link that a new
// server prints, "http://host/claim#secret". What the phone belonged to before is
// forgotten only then. Errors: ErrServer, ErrLink, those of the server.
func (a *App) Claim(ctx context.Context, link, caPEM string) error {
	at, err := url.Parse(link)
	if err != nil || at.Fragment == "" || !strings.HasSuffix(at.Path, "/claim") {
		return ErrLink
	}
	secret := at.Fragment
	at.Fragment, at.RawQuery, at.Path = "", "", strings.TrimSuffix(at.Path, "/claim")
	srv, err := dial(at.String(), caPEM, a.cfg.Device.Online)
	if err != nil {
		return err
	}
	next := State{Server: at.String(), ServerCA: caPEM}
	self, err := a.newInstallation(&next)
	if err != nil {
		srv.close()
		return err
	}
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	res, err := srv.pairing.ClaimServer(limited, &v1.ClaimServerRequest{Secret: secret, Installation: self})
	if err != nil {
		srv.close()
		return fmt.Errorf("phone: claim the server: %w", err)
	}
	next.ServerID, next.Account, next.Installation = res.GetServerId(), res.GetAccountId(), res.GetInstallation().GetId()
	return a.begin(ctx, srv, next, res.GetTokens())
}

// join walks through the pairing with keys made for it.
func (a *App) join(ctx context.Context, srv *server, next *State, code string, show func(string)) (*v1.Tokens, error) {
	device, err := a.newInstallation(next)
	if err != nil {
		return nil, err
	}
	redeemed, err := srv.pairing.RedeemPairing(ctx, &v1.RedeemPairingRequest{Code: code, Installation: device})
	if err != nil {
		return nil, fmt.Errorf("phone: redeem the code: %w", err)
	}
	a.tell(Event{Kind: Offered})
	show(redeemed.GetDigits())
	ctx, cancel := context.WithDeadline(ctx, redeemed.GetExpireTime().AsTime().Add(callLimit))
	defer cancel()
	known := v1.PairingState_PAIRING_STATE_REDEEMED
	for {
		var res *v1.GetPairingResponse
		err := insistFor(ctx, pairWait+callLimit, func(ctx context.Context) error {
			var err error
			res, err = srv.pairing.GetPairing(ctx, &v1.GetPairingRequest{
				OfferId: redeemed.GetOfferId(), RedeemSecret: redeemed.GetRedeemSecret(),
				KnownState: known, Wait: durationpb.New(pairWait),
			})
			return err
		})
		switch {
		case err != nil:
			return nil, fmt.Errorf("phone: wait for the digits: %w", err)
		case res.GetState() == v1.PairingState_PAIRING_STATE_DEAD:
			return nil, ErrPairing
		case res.GetTokens() != nil:
			next.ServerID, next.Account = res.GetServerId(), res.GetAccountId()
			next.Installation = res.GetInstallation().GetId()
			return res.GetTokens(), nil
		case ctx.Err() != nil:
			return nil, ErrPairing
		}
	}
}

// newInstallation makes the two keys of a phone and what it says of itself.
func (a *App) newInstallation(next *State) (*v1.NewInstallation, error) {
	platform := v1.Platform_PLATFORM_IOS
	if a.cfg.Vendor == FCM {
		platform = v1.Platform_PLATFORM_ANDROID
	}
	out := &v1.NewInstallation{
		Platform: platform, Label: a.cfg.Device.Name(), AppId: a.cfg.AppID, Locale: "en",
	}
	for _, k := range []struct{ public, private *[]byte }{
		{&out.PublicKey, &next.InstallKey}, {&out.ApprovalKey, &next.ApprovalKey},
	} {
		key, der, err := newKey()
		if err != nil {
			return nil, err
		}
		*k.private = der
		if *k.public, err = proof.MarshalPublicKey(&key.PublicKey); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// become makes the phone the new installation and forgets the old one.
func (a *App) become(srv *server, next State, tokens *v1.Tokens) error {
	a.reading.Lock()
	defer a.reading.Unlock()
	a.renewing.Lock()
	defer a.renewing.Unlock()
	next.Refresh = tokens.GetRefreshToken()
	if err := a.change(func(s *State) { *s = next }); err != nil {
		return err
	}
	a.mu.Lock()
	old := a.server
	a.server, a.token, a.tokenEnds = srv, tokens.GetAccessToken(), tokens.GetAccessExpireTime().AsTime()
	a.opened, a.threads = nil, nil
	a.mu.Unlock()
	a.Vanish()
	clear(a.views)
	old.close()
	return nil
}

// Register tells the server where pushes for this phone go, as an app does at
// every start, and learns which pushes are its own.
func (a *App) Register(ctx context.Context) error {
	var res *v1.PutAddressResponse
	err := insist(ctx, func(ctx context.Context) error {
		return a.do(ctx, func(ctx context.Context, srv *server) error {
			var err error
			res, err = srv.addresses.PutAddress(ctx, a.registration())
			return err
		})
	})
	if err == nil {
		err = a.change(func(s *State) { s.AccountTag = res.GetAccountTag() })
	}
	if err != nil {
		return fmt.Errorf("phone: register for pushes: %w", err)
	}
	a.tell(Event{Kind: Registered})
	return nil
}

// registration is where pushes for this phone go.
func (a *App) registration() *v1.PutAddressRequest {
	token := a.Address()
	out := &v1.PutAddressRequest{
		Kind: v1.AddressKind_ADDRESS_KIND_APNS, Token: token, Topic: a.cfg.Topic,
		Environment: v1.ApnsEnvironment_APNS_ENVIRONMENT_SANDBOX,
	}
	switch {
	case a.cfg.Vendor == FCM:
		out.Kind, out.Environment = v1.AddressKind_ADDRESS_KIND_FCM_TOKEN, v1.ApnsEnvironment_APNS_ENVIRONMENT_UNSPECIFIED
		if isInstallationID(token) {
			out.Kind = v1.AddressKind_ADDRESS_KIND_FCM_FID
		}
	case a.cfg.Production:
		out.Environment = v1.ApnsEnvironment_APNS_ENVIRONMENT_PRODUCTION
	}
	return out
}
