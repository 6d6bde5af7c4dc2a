package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
)

type pairingService struct{ app *app.App }

var _ beckonv1connect.PairingServiceHandler = pairingService{}

func (s pairingService) ClaimServer(ctx context.Context, r *v1.ClaimServerRequest) (*v1.ClaimServerResponse, error) {
	device, err := deviceIn(r.GetInstallation())
	if err != nil {
		return nil, err
	}
	result, err := s.app.ClaimServer(ctx, app.ClaimServer{Secret: credential.NewSecret(r.GetSecret()), Device: device})
	if err != nil {
		return nil, err
	}
	return &v1.ClaimServerResponse{
		AccountId: result.Account, Installation: installationOut(result.Installation),
		Tokens: tokensOut(&result.Tokens), ServerId: s.app.ServerID(),
	}, nil
}

func (s pairingService) OfferPairing(ctx context.Context, _ *v1.OfferPairingRequest) (*v1.OfferPairingResponse, error) {
	offer, err := s.app.OfferPairing(ctx, principalOf(ctx))
	if err != nil {
		return nil, err
	}
	return &v1.OfferPairingResponse{
		OfferId: offer.ID, Secret: offer.Secret.Reveal(), Code: offer.Code.Reveal(), ExpireTime: timeOut(offer.ExpireTime),
	}, nil
}

func (s pairingService) RedeemPairing(ctx context.Context, r *v1.RedeemPairingRequest) (*v1.RedeemPairingResponse, error) {
	device, err := deviceIn(r.GetInstallation())
	if err != nil {
		return nil, err
	}
	redeemed, err := s.app.RedeemPairing(ctx, app.RedeemPairing{
		Offer: r.GetOfferId(), Secret: credential.NewSecret(r.GetSecret()), Code: credential.NewSecret(r.GetCode()),
		Device: device, KeyMAC: r.GetKeyMac(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.RedeemPairingResponse{
		OfferId: redeemed.Offer, Digits: redeemed.Digits.Reveal(), RedeemSecret: redeemed.Redeem.Reveal(),
		ExpireTime: timeOut(redeemed.ExpireTime),
	}, nil
}

func (s pairingService) ConfirmPairing(ctx context.Context, r *v1.ConfirmPairingRequest) (*v1.ConfirmPairingResponse, error) {
	inst, err := s.app.ConfirmPairing(ctx, principalOf(ctx), r.GetOfferId(), credential.NewSecret(r.GetDigits()))
	if err != nil {
		return nil, err
	}
	return &v1.ConfirmPairingResponse{Installation: installationOut(inst)}, nil
}

func (s pairingService) GetPairing(ctx context.Context, r *v1.GetPairingRequest) (*v1.GetPairingResponse, error) {
	known, err := enumIn("known_state", r.GetKnownState(), store.OfferDead)
	if err != nil {
		return nil, err
	}
	pairing, err := s.app.GetPairing(ctx, principalOf(ctx), app.GetPairing{
		Offer: r.GetOfferId(), Redeem: credential.NewSecret(r.GetRedeemSecret()), Known: known, Wait: waitIn(r.GetWait()),
	})
	if err != nil {
		return nil, err
	}
	return pairingOut(pairing, r.GetRedeemSecret() != "", s.app.ServerID()), nil
}

func (s pairingService) RequestUnlock(ctx context.Context, _ *v1.RequestUnlockRequest) (*v1.RequestUnlockResponse, error) {
	offer, err := s.app.RequestUnlock(ctx, principalOf(ctx))
	if err != nil {
		return nil, err
	}
	return &v1.RequestUnlockResponse{Digits: offer.Digits.Reveal(), ExpireTime: timeOut(offer.ExpireTime)}, nil
}

func (s pairingService) UnlockTerminal(ctx context.Context, r *v1.UnlockTerminalRequest) (*v1.UnlockTerminalResponse, error) {
	until, err := s.app.UnlockTerminal(ctx, principalOf(ctx), r.GetInstallationId(), credential.NewSecret(r.GetDigits()))
	if err != nil {
		return nil, err
	}
	return &v1.UnlockTerminalResponse{UnlockEndTime: timeOut(until)}, nil
}
