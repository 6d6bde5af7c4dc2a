package beckon

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/proof"
)

var (
	// ErrLink is returned for a text that is no claim link.
	ErrLink = errors.New("beckon: not a claim link: it looks like https://server/claim#bk_own_…")
	// ErrPairingDead is returned for an offer that ended before the device was
	// let in: time, wrong digits, or a second redeem.
	ErrPairingDead = errors.New("beckon: this pairing has ended, make a new code")
	// ErrSwappedKey is returned when the key that the server shows is not the
	// one that the new device signed for under the secret of the QR code.
	ErrSwappedKey = errors.New("beckon: the key of the new device was changed on the way")
)

// pairingWait is how long one call waits for news of an offer.
const pairingWait = 25 * time.Second

// Device is what a new installation says of itself.
type Device struct {
	// Platform is what it runs on; TERMINAL when unset.
	Platform v1.Platform
	// Label is shown to the person; the host's name when empty.
	Label string
	// AppID names the program as configured on the server; empty for ours.
	AppID string
	// Locale is a BCP 47 language.
	Locale string
	// Approval makes a second key whose use asks for the person. Never for a
	// terminal: nothing there could ask.
	Approval bool
}

// joiner is a device before it has joined.
type joiner struct {
	path    string
	opts    Options
	profile Profile
	key     *ecdsa.PrivateKey
	says    *v1.NewInstallation
}

// newJoiner draws the keys and reserves the profile, so that nothing one-use is
// spent for a device that cannot be stored.
func newJoiner(path string, device Device, opts Options) (joiner, error) {
	if device.Platform == v1.Platform_PLATFORM_UNSPECIFIED {
		device.Platform = v1.Platform_PLATFORM_TERMINAL
	}
	if device.Label == "" {
		device.Label = hostLabel()
	}
	j := joiner{path: path, opts: opts}
	if opts.Transport == nil {
		server, err := NormalizeServer(opts.Server)
		if err != nil {
			return j, err
		}
		j.opts.Server = server
	}
	key, raw, err := newKey()
	if err != nil {
		return j, err
	}
	j.key, j.profile = key, Profile{Server: j.opts.Server, CAFile: opts.CAFile, Label: device.Label, PrivateKey: raw}
	j.says = &v1.NewInstallation{Platform: device.Platform, Label: device.Label, AppId: device.AppID, Locale: device.Locale}
	if j.says.PublicKey, err = proof.MarshalPublicKey(&key.PublicKey); err != nil {
		return j, err
	}
	if device.Approval {
		approval, raw, err := newKey()
		if err != nil {
			return j, err
		}
		j.profile.ApprovalKey = raw
		if j.says.ApprovalKey, err = proof.MarshalPublicKey(&approval.PublicKey); err != nil {
			return j, err
		}
	}
	return j, reserve(path)
}

// unreserve takes the place of a device back that has not joined. One that has,
// here or in another process, stays.
func (j joiner) unreserve(err error) {
	if err == nil {
		return
	}
	if _, err := LoadProfile(j.path); errors.Is(err, ErrNoProfile) {
		_ = os.Remove(j.path) // an empty one is no profile either
	}
}

func hostLabel() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "terminal"
	}
	if r := []rune(name); len(r) > 60 {
		return string(r[:60])
	}
	return name
}

// finish stores the device that is in now.
func (j joiner) finish(server, account string, installation *v1.Installation, tokens *v1.Tokens) (*Person, error) {
	j.profile.ServerID, j.profile.Account, j.profile.Installation = server, account, installation.GetId()
	j.profile = j.profile.with(tokens)
	if err := j.profile.save(j.path); err != nil {
		return nil, err
	}
	return openPerson(j.path, j.profile, j.opts)
}

// ParseClaimLink takes the link that a server prints apart into its base URL
// and the one-use secret. Errors: [ErrLink], [ErrServer], [ErrInsecure].
func ParseClaimLink(link string) (server, secret string, err error) {
	base, secret, found := strings.Cut(strings.TrimSpace(link), "#")
	if !found || secret == "" {
		return "", "", ErrLink
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", "", ErrLink
	}
	path, found := strings.CutSuffix(strings.TrimRight(u.Path, "/"), "/claim")
	if !found {
		return "", "", ErrLink
	}
	u.Path = path
	server, err = NormalizeServer(u.String())
	return server, secret, err
}

// Claim makes this device the first installation of the account behind a claim
// link, and stores it under path. A link is good once; after an error of the
// network nobody can say whether it was spent. Errors: [ErrProfileExists],
// those of [ParseClaimLink], [*Error].
func Claim(ctx context.Context, path, link string, device Device, opts Options) (p *Person, err error) {
	server, secret, err := ParseClaimLink(link)
	if err != nil {
		return nil, err
	}
	opts.Server = server
	j, err := newJoiner(path, device, opts)
	if err != nil {
		return nil, err
	}
	defer func() { j.unreserve(err) }()
	api, err := Anonymous(j.opts)
	if err != nil {
		return nil, err
	}
	defer api.Close()
	res, err := api.Pairing.ClaimServer(ctx, &v1.ClaimServerRequest{Secret: secret, Installation: j.says})
	if err != nil {
		return nil, err
	}
	return j.finish(res.GetServerId(), res.GetAccountId(), res.GetInstallation(), res.GetTokens())
}

// Invitation is what an existing device shows to a new one: a code to type, or
// the content of a QR code.
type Invitation struct {
	// Code is the eight characters.
	Code string
	// OfferID, Secret and ServerID come from a QR code together.
	OfferID, Secret, ServerID string
}

// Joining is a new device between its code and the person's word.
type Joining struct {
	joiner

	api *API
	res *v1.RedeemPairingResponse
}

// Redeem spends an invitation and gets the digits to show. Errors:
// [ErrProfileExists], [*Error].
func Redeem(ctx context.Context, path string, invitation Invitation, device Device, opts Options) (joining *Joining, err error) {
	j, err := newJoiner(path, device, opts)
	if err != nil {
		return nil, err
	}
	defer func() { j.unreserve(err) }()
	req := &v1.RedeemPairingRequest{Code: invitation.Code, Installation: j.says}
	if invitation.Secret != "" {
		req.Code, req.OfferId, req.Secret = "", invitation.OfferID, invitation.Secret
		mac, err := proof.PairMAC([]byte(invitation.Secret), pairTuple(invitation.ServerID, invitation.OfferID,
			j.says.GetPublicKey(), j.says.GetPlatform(), j.says.GetLabel()))
		if err != nil {
			return nil, err
		}
		req.KeyMac = mac
	}
	api, err := Anonymous(j.opts)
	if err != nil {
		return nil, err
	}
	res, err := api.Pairing.RedeemPairing(ctx, req)
	if err != nil {
		api.Close()
		return nil, err
	}
	return &Joining{joiner: j, api: api, res: res}, nil
}

// Digits are what this device shows; the person types them on the one that
// offered.
func (j *Joining) Digits() string { return j.res.GetDigits() }

// ExpireTime is when the offer ends.
func (j *Joining) ExpireTime() time.Time { return j.res.GetExpireTime().AsTime() }

// Wait waits until the person has typed the digits, and stores the device.
// Errors: [ErrPairingDead], [*Error].
func (j *Joining) Wait(ctx context.Context) (p *Person, err error) {
	defer func() { j.unreserve(err) }()
	defer j.api.Close()
	for {
		res, err := j.api.Pairing.GetPairing(ctx, &v1.GetPairingRequest{
			OfferId: j.res.GetOfferId(), RedeemSecret: j.res.GetRedeemSecret(),
			KnownState: v1.PairingState_PAIRING_STATE_REDEEMED, Wait: durationpb.New(pairingWait),
		})
		if err != nil {
			return nil, err
		}
		switch res.GetState() {
		case v1.PairingState_PAIRING_STATE_CONFIRMED:
			return j.finish(res.GetServerId(), res.GetAccountId(), res.GetInstallation(), res.GetTokens())
		case v1.PairingState_PAIRING_STATE_DEAD:
			return nil, ErrPairingDead
		default:
		}
	}
}

// Offer is an invitation that this device has made.
type Offer struct {
	// ID, Secret and ServerID go into a QR code, Code is for typing.
	ID, Secret, ServerID, Code string
	// ExpireTime is when it ends.
	ExpireTime time.Time

	person *Person
}

// OfferPairing makes an invitation, good for two minutes. Errors: [*Error],
// STEP_UP where the person has to be present first.
func (p *Person) OfferPairing(ctx context.Context) (*Offer, error) {
	res, err := p.Pairing.OfferPairing(ctx, &v1.OfferPairingRequest{})
	if err != nil {
		return nil, err
	}
	return &Offer{
		ID: res.GetOfferId(), Secret: res.GetSecret(), ServerID: p.who.ServerID, Code: res.GetCode(),
		ExpireTime: res.GetExpireTime().AsTime(), person: p,
	}, nil
}

// Redeemed waits until a device has spent the invitation and tells what it says
// of itself, for the person to see before the digits are typed. Errors:
// [ErrPairingDead], [ErrSwappedKey], [*Error].
func (o *Offer) Redeemed(ctx context.Context) (*v1.Installation, error) {
	for {
		res, err := o.person.Pairing.GetPairing(ctx, &v1.GetPairingRequest{
			OfferId: o.ID, KnownState: v1.PairingState_PAIRING_STATE_OFFERED, Wait: durationpb.New(pairingWait),
		})
		if err != nil {
			return nil, err
		}
		switch res.GetState() {
		case v1.PairingState_PAIRING_STATE_REDEEMED:
			return res.GetInstallation(), o.check(res)
		case v1.PairingState_PAIRING_STATE_OFFERED:
		default:
			return nil, ErrPairingDead
		}
	}
}

// check compares the key with what the new device said of it under the secret
// of the QR code. A typed code is too short for that.
func (o *Offer) check(res *v1.GetPairingResponse) error {
	if len(res.GetKeyMac()) == 0 {
		return nil
	}
	device := res.GetInstallation()
	tuple := pairTuple(o.ServerID, o.ID, res.GetPublicKey(), device.GetPlatform(), device.GetLabel())
	if proof.VerifyPairMAC([]byte(o.Secret), tuple, res.GetKeyMac()) != nil {
		return ErrSwappedKey
	}
	return nil
}

// Confirm lets the device in when the digits are the ones it shows. There are
// two tries. Errors: [*Error].
func (o *Offer) Confirm(ctx context.Context, digits string) (*v1.Installation, error) {
	res, err := o.person.Pairing.ConfirmPairing(ctx, &v1.ConfirmPairingRequest{
		OfferId: o.ID, Digits: strings.ReplaceAll(digits, " ", ""),
	})
	return res.GetInstallation(), err
}

func pairTuple(server, offer string, key []byte, platform v1.Platform, label string) proof.PairTuple {
	word := strings.ToLower(strings.TrimPrefix(platform.String(), "PLATFORM_"))
	return proof.PairTuple{ServerID: server, Offer: offer, PublicKey: key, Platform: word, Label: label}
}
