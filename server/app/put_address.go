package app

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// PutAddress registers a push endpoint.
type PutAddress struct {
	Kind  push.AddressKind
	Token string
	Env   push.Env
	Topic string
}

// Forms of what Google hands out. An installation id is 22 characters of
// base64url whose first four bits are 0111. A registration token is longer, and
// nothing is promised about it.
var (
	fcmFIDForm   = regexp.MustCompile(`^[c-f][A-Za-z0-9_-]{21}$`)
	fcmTokenForm = regexp.MustCompile(`^[!-~]{32,512}$`)
)

// Bounds of FCM's addresses.
const fcmTokenMax, fcmFIDMax = 512, 22

// Bounds of an APNs device token in hex. Apple: "APNs device tokens are of
// variable length. Don't hard-code their size" (Registering your app with
// APNs), so there is room on both sides of what they are today.
const apnsTokenMin, apnsTokenMax = 32, 200

// PutAddress registers where pushes for the calling device go. Apps call it at
// every start. A new token takes the place of the one before under the same
// topic, and the endpoint is taken away from whoever had it. It works again
// whatever was thought of it. By any device. Errors: *FieldError, *QuotaError,
// ErrWrongPrincipal, ErrRevoked.
func (a *App) PutAddress(ctx context.Context, p policy.Principal, c PutAddress) (push.Address, error) {
	if err := checkEndpoint(&c); err != nil {
		return push.Address{}, err
	}
	var out push.Address
	err := a.onAccount(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		if err := a.checkTopic(inst, c.Topic); err != nil {
			return err
		}
		var err error
		if out, err = a.putAddress(tx, inst, c); err != nil || inst.Health == store.PushOK {
			return err
		}
		inst.Health = store.PushOK
		return tx.PutInstallation(inst)
	})
	return out, err
}

// checkEndpoint judges the form of an endpoint and gives its token the one
// spelling under which it is registered.
func checkEndpoint(c *PutAddress) error {
	var err error
	switch c.Kind {
	case push.KindAPNs:
		err = checkAPNs(c)
	case push.KindFCMToken:
		err = checkFCM(*c, fcmTokenForm, fcmTokenMax)
	case push.KindFCMFID:
		err = checkFCM(*c, fcmFIDForm, fcmFIDMax)
	default:
		return &FieldError{Field: "kind", Reason: "UNKNOWN"}
	}
	if err == nil && c.Topic == "" {
		err = &FieldError{Field: "topic", Reason: "REQUIRED"}
	}
	return err
}

func checkAPNs(c *PutAddress) error {
	if c.Env != push.EnvSandbox && c.Env != push.EnvProduction {
		return &FieldError{Field: "environment", Reason: "REQUIRED"}
	}
	if _, err := hex.DecodeString(c.Token); err != nil || len(c.Token) < apnsTokenMin || len(c.Token) > apnsTokenMax {
		return &FieldError{Field: "token", Reason: "MALFORMED", Max: apnsTokenMax}
	}
	c.Token = strings.ToLower(c.Token)
	return nil
}

// checkFCM judges an address of Google's, where case matters and there is one
// environment.
func checkFCM(c PutAddress, form *regexp.Regexp, longest int64) error {
	if c.Env != "" {
		return &FieldError{Field: "environment", Reason: "MALFORMED"}
	}
	if !form.MatchString(c.Token) {
		return &FieldError{Field: "token", Reason: "MALFORMED", Max: longest}
	}
	return nil
}

// checkTopic refuses a bundle id that is not the app's, where its operator has
// said which are.
func (a *App) checkTopic(inst store.Installation, topic string) error {
	known := a.apps[inst.App].Topics
	if len(known) > 0 && !slices.Contains(known, topic) {
		return &FieldError{Field: "topic", Reason: "UNKNOWN_TOPIC"}
	}
	return nil
}

func (a *App) putAddress(tx *store.Tx, inst store.Installation, c PutAddress) (push.Address, error) {
	settings, err := tx.Settings()
	if err != nil {
		return push.Address{}, err
	}
	adr, replaced, err := a.addressFor(tx, inst, c)
	if err != nil {
		return adr, err
	}
	if err := takeOver(tx, inst, adr.ID, c); err != nil {
		return adr, err
	}
	if replaced != nil {
		// The row keeps its id, so what waits for it goes to the new token.
		if err := tx.DeleteAddress(*replaced); err != nil {
			return adr, err
		}
	}
	adr.Account, adr.Installation, adr.App = tx.Account(), inst.ID, inst.App
	adr.Kind, adr.Env, adr.Token, adr.Topic = c.Kind, c.Env, c.Token, c.Topic
	adr.AccountTag, adr.Locale, adr.Level = a.accountTag(tx.Account()), inst.Locale, levelOf(settings.Level)
	adr.State, adr.RegisteredAt = push.AddressOK, tx.Now()
	return tx.PutAddress(adr)
}

// addressFor finds the row this endpoint belongs in: the one it is in already,
// the one of the same vendor and topic whose token it rotates, or a new one.
// replaced is the row as it was under another token. An app that moves from
// registration tokens to installation ids rotates too: two rows would ring
// twice.
func (a *App) addressFor(tx *store.Tx, inst store.Installation, c PutAddress) (adr push.Address, replaced *push.Address, err error) {
	own, err := addressesOf(tx.Read, inst.ID)
	if err != nil {
		return adr, nil, err
	}
	same := func(old push.Address) bool { return sameEndpoint(old, inst, c) }
	if i := slices.IndexFunc(own, same); i >= 0 {
		return own[i], nil, nil
	}
	rotated := func(old push.Address) bool { return old.Kind.Lane() == c.Kind.Lane() && old.Topic == c.Topic }
	if i := slices.IndexFunc(own, rotated); i >= 0 {
		return own[i], &own[i], nil
	}
	if len(own) >= a.limits.AddressesPerDevice {
		return adr, nil, &QuotaError{What: "addresses", Max: int64(a.limits.AddressesPerDevice)}
	}
	adr.ID, err = a.newID(tx.Read, store.KindAddress)
	return adr, nil, err
}

func sameEndpoint(old push.Address, inst store.Installation, c PutAddress) bool {
	return old.Kind == c.Kind && old.App == inst.App && old.Token == c.Token
}

// takeOver removes the endpoint from every other device of this account. A
// device of another account finds out when it is next sent to.
func takeOver(tx *store.Tx, inst store.Installation, id string, c PutAddress) error {
	all, err := tx.Addresses()
	if err != nil {
		return err
	}
	for _, old := range all {
		if old.ID == id || !sameEndpoint(old, inst, c) {
			continue
		}
		if err := dropAddresses(tx, []push.Address{old}); err != nil {
			return err
		}
		if err := noteUnreachable(tx, old.Installation); err != nil {
			return err
		}
	}
	return nil
}

// noteUnreachable tells a device that lost its last endpoint to register again.
func noteUnreachable(tx *store.Tx, installation string) error {
	left, err := addressesOf(tx.Read, installation)
	if err != nil || len(left) > 0 {
		return err
	}
	other, err := tx.Installation(installation)
	if err != nil {
		return err
	}
	other.Health = store.PushNone
	return tx.PutInstallation(other)
}

// accountTag is the name of the account that pushes carry: the device drops
// what carries another, and nobody on the way can tell whose it is.
func (a *App) accountTag(account string) string {
	tag := keyed(a.keys.AccountTag, labelAccountTag, account)
	return base64.RawURLEncoding.EncodeToString(tag[:])
}
