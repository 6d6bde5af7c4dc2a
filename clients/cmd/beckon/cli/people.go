package cli

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type claimCommand struct {
	URL   string `arg:""                                                                     help:"The whole link, https://server/claim#bk_own_…; quote it."   name:"url"`
	Label string `help:"How you will know this terminal; the name of the machine otherwise."`
}

// Help is shown under the line about the command.
func (claimCommand) Help() string {
	return "The server prints the link when it has no owner; `beckond claim` prints a new one. It is good once. " +
		"For the next 30 minutes this terminal may pair devices, add agents and change settings, and counts as unlocked."
}

// Run claims a server.
func (c claimCommand) Run(s *session) error {
	path, err := beckon.ProfilePath(s.line.Profile)
	if err != nil {
		return usage("%v", err)
	}
	p, err := beckon.Claim(s.ctx, path, c.URL, beckon.Device{Label: c.Label}, s.options())
	if err != nil {
		return err
	}
	defer p.Close()
	return s.joined(p, path)
}

type joinedView struct {
	Event          string `json:"event"`
	AccountID      string `json:"account_id"`
	InstallationID string `json:"installation_id"`
	ServerID       string `json:"server_id"`
	Profile        string `json:"profile"`
}

func (s *session) joined(p *beckon.Person, path string) error {
	if s.line.JSON {
		return s.print(joinedView{"joined", p.AccountID(), p.InstallationID(), p.ServerID(), path})
	}
	s.sayf("This terminal is %s of account %s.", p.InstallationID(), p.AccountID())
	s.notef("its key is in %s; whoever can read that file can act as this terminal", path)
	return nil
}

type pairCommand struct {
	Code  string `arg:""                                               help:"The eight characters that a device of the account shows; left out, this terminal shows them." optional:""`
	Label string `help:"With a code: how you will know this terminal."`
}

// Run offers a pairing, or redeems one.
func (c pairCommand) Run(s *session) error {
	if c.Code != "" {
		return c.redeem(s)
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	return c.offer(s, p)
}

type offerView struct {
	Event      string    `json:"event"`
	OfferID    string    `json:"offer_id"`
	Code       string    `json:"code"`
	Secret     string    `json:"secret,omitempty"`
	ServerID   string    `json:"server_id"`
	ExpireTime time.Time `json:"expire_time"`
}

type deviceEvent struct {
	Event  string     `json:"event"`
	Device deviceView `json:"device"`
}

func (c pairCommand) offer(s *session, p *beckon.Person) error {
	offer, err := p.OfferPairing(s.ctx)
	if err != nil {
		return err
	}
	server, _ := p.Address()
	if s.line.JSON {
		err = s.print(offerView{"offered", offer.ID, offer.Code, offer.Secret, offer.ServerID, offer.ExpireTime})
	} else {
		s.sayf("On the new device, type this code within two minutes:\n\n    %s\n\n(another terminal: beckon pair %s --server %s)", offer.Code, offer.Code, server)
	}
	if err != nil {
		return err
	}
	device, err := offer.Redeemed(s.ctx)
	if err != nil {
		return err
	}
	if s.line.JSON {
		if err := s.print(deviceEvent{"redeemed", deviceViewOf(device, "")}); err != nil {
			return err
		}
	}
	s.notef("a device asks to join: %q (%s)", device.GetLabel(), word(device.GetPlatform()))
	installation, err := c.confirm(s, offer)
	if err != nil {
		return err
	}
	if s.line.JSON {
		return s.print(deviceEvent{"confirmed", deviceViewOf(installation, p.InstallationID())})
	}
	s.sayf("%q is in, as %s.", installation.GetLabel(), installation.GetId())
	return nil
}

// confirm asks for the digits. Who mistypes may try once more, as the server
// allows.
func (pairCommand) confirm(s *session, offer *beckon.Offer) (*v1.Installation, error) {
	for tries := 1; ; tries++ {
		digits, err := s.readDigits("Type the four digits it shows: ")
		if err != nil {
			return nil, err
		}
		installation, err := offer.Confirm(s.ctx, digits)
		switch {
		case beckon.ReasonOf(err) != beckon.ReasonBadSecret:
			return installation, err
		case tries == 2:
			return nil, usage("these are not the digits, or the two minutes are over (BAD_SECRET): nobody was let in; begin again with 'beckon pair'")
		}
		s.notef("these are not the digits; there is one more try")
	}
}

// readDigits asks until four digits are typed: a slip of the hand is no try.
func (s *session) readDigits(prompt string) (string, error) {
	for {
		typed, err := s.readLine(prompt)
		if err != nil {
			return "", err
		}
		digits := strings.Map(func(r rune) rune {
			if r == ' ' || r == '-' {
				return -1
			}
			return r
		}, typed)
		if len(digits) == 4 && strings.Trim(digits, "0123456789") == "" {
			return digits, nil
		}
		s.notef("that is not four digits, so it does not count as a try")
	}
}

type digitsView struct {
	Event          string    `json:"event"`
	Digits         string    `json:"digits"`
	InstallationID string    `json:"installation_id,omitempty"`
	ExpireTime     time.Time `json:"expire_time"`
}

func (c pairCommand) redeem(s *session) error {
	path, err := beckon.ProfilePath(s.line.Profile)
	if err != nil {
		return usage("%v", err)
	}
	if s.line.Server == "" {
		return usage("which server? add --server URL")
	}
	joining, err := beckon.Redeem(s.ctx, path, beckon.Invitation{Code: c.Code}, beckon.Device{Label: c.Label}, s.options())
	if err != nil {
		return err
	}
	if s.line.JSON {
		err = s.print(digitsView{Event: "digits", Digits: joining.Digits(), ExpireTime: joining.ExpireTime()})
	} else {
		s.sayf("On the device that showed the code, type these digits:\n\n    %s\n", joining.Digits())
	}
	if err != nil {
		return err
	}
	p, err := joining.Wait(s.ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	return s.joined(p, path)
}

type unlockCommand struct {
	Terminal string `arg:"" help:"Another terminal to unlock; left out, this one asks." optional:""`
	Digits   string `arg:"" help:"The digits that the other terminal shows."            optional:""`
}

type unlockedView struct {
	Event         string    `json:"event"`
	UnlockEndTime time.Time `json:"unlock_end_time"`
}

// Run asks for an unlock, or gives one.
func (c unlockCommand) Run(s *session) error {
	if c.Terminal != "" {
		if err := s.id(c.Terminal, "ins"); err != nil {
			return err
		}
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	if c.Terminal == "" {
		return c.ask(s, p)
	}
	if c.Digits == "" {
		return usage("which digits does the other terminal show?")
	}
	res, err := p.Pairing.UnlockTerminal(s.ctx, &v1.UnlockTerminalRequest{InstallationId: c.Terminal, Digits: c.Digits})
	if err != nil {
		return err
	}
	if s.line.JSON {
		return s.print(unlockedView{"unlocked", at(res.GetUnlockEndTime())})
	}
	s.sayf("Unlocked until %s.", clock(at(res.GetUnlockEndTime())))
	return nil
}

func (unlockCommand) ask(s *session, p *beckon.Person) error {
	res, err := p.Pairing.RequestUnlock(s.ctx, &v1.RequestUnlockRequest{})
	if err != nil {
		return err
	}
	devices, err := p.Installations.ListInstallations(s.ctx, &v1.ListInstallationsRequest{})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(devices.GetInstallations(), unlocks) {
		s.notef("you have no phone or web app that could unlock it; %s", lastTerminal)
	}
	if s.line.JSON {
		return s.print(digitsView{"digits", res.GetDigits(), p.InstallationID(), at(res.GetExpireTime())})
	}
	s.sayf("On another of your devices, unlock this terminal with these digits, within two minutes:\n\n    %s\n", res.GetDigits())
	s.notef("this terminal is %s", p.InstallationID())
	return nil
}

// unlocks reports whether a device may unlock a terminal; terminals may not.
func unlocks(i *v1.Installation) bool {
	return i.GetPlatform() != v1.Platform_PLATFORM_TERMINAL && i.GetState() == v1.InstallationState_INSTALLATION_STATE_ACTIVE
}

type settingsCommand struct {
	ContentLevel string `default:"" enum:",ids,title,full" help:"How much a push may show to whoever sees the screen: ids, title or full." placeholder:"LEVEL"`
}

type settingsView struct {
	ContentLevel string `json:"content_level"`
}

// Run shows the settings, after a change where one is asked for.
func (c settingsCommand) Run(s *session) error {
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	settings, err := c.apply(s, p)
	if err != nil {
		return err
	}
	if s.line.JSON {
		return s.print(settingsView{word(settings.GetContentLevel())})
	}
	s.sayf("content level: %s", word(settings.GetContentLevel()))
	return nil
}

func (c settingsCommand) apply(s *session, p *beckon.Person) (*v1.Settings, error) {
	if c.ContentLevel == "" {
		res, err := p.Account.GetAccount(s.ctx, &v1.GetAccountRequest{})
		return res.GetSettings(), err
	}
	level := map[string]v1.ContentLevel{
		"ids": v1.ContentLevel_CONTENT_LEVEL_IDS, "title": v1.ContentLevel_CONTENT_LEVEL_TITLE, "full": v1.ContentLevel_CONTENT_LEVEL_FULL,
	}[c.ContentLevel]
	res, err := p.Account.UpdateSettings(s.ctx, &v1.UpdateSettingsRequest{ContentLevel: &level})
	return res.GetSettings(), err
}

type devicesCommand struct {
	Revoke string `help:"End this device: its tokens and pushes die at once."                         placeholder:"ID"`
	Ring   string `help:"Ring this device to see whether it can be reached; at most 5 times an hour." placeholder:"ID"`
}

// Run lists the devices.
func (c devicesCommand) Run(s *session) error {
	for _, named := range []string{c.Revoke, c.Ring} {
		if named == "" {
			continue
		}
		if err := s.id(named, "ins"); err != nil {
			return err
		}
	}
	if c.Revoke != "" && c.Ring != "" {
		return usage("--ring and --revoke are two commands")
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	if c.Ring != "" {
		return c.ring(s, p)
	}
	if c.Revoke != "" {
		if _, err := p.Installations.RevokeInstallation(s.ctx, &v1.RevokeInstallationRequest{InstallationId: c.Revoke}); err != nil {
			return err
		}
		s.notef("%s is out", c.Revoke)
		if c.Revoke == p.InstallationID() {
			return nil
		}
	}
	res, err := p.Installations.ListInstallations(s.ctx, &v1.ListInstallationsRequest{})
	if err != nil {
		return err
	}
	for _, i := range res.GetInstallations() {
		v := deviceViewOf(i, p.InstallationID())
		if s.line.JSON {
			if err := s.print(v); err != nil {
				return err
			}
			continue
		}
		mark := ""
		if v.This {
			mark = "  (this one)"
		}
		s.sayf("%s  %-9s %-9s %s%s%s", v.ID, v.Platform, v.State, v.Label, mark, reachWord(i))
	}
	return nil
}

// reachWord warns of a device that pushes do not reach, or may not.
func reachWord(i *v1.Installation) string {
	if i.GetState() == v1.InstallationState_INSTALLATION_STATE_REVOKED || i.GetPlatform() == v1.Platform_PLATFORM_TERMINAL {
		return ""
	}
	switch i.GetPushHealth() {
	case v1.PushHealth_PUSH_HEALTH_NONE:
		return "  (cannot be rung: its app has not registered for pushes)"
	case v1.PushHealth_PUSH_HEALTH_SUSPECT:
		return "  (may not ring: pushes to it were refused)"
	case v1.PushHealth_PUSH_HEALTH_DEAD:
		return "  (CANNOT BE RUNG: its address is dead; open the app on it)"
	default:
		return ""
	}
}

// Times of a ring: how long it is followed, and how often it is looked at.
const (
	ringWait = 5 * time.Second
	ringLook = 200 * time.Millisecond
)

// settled reads deliveries again until each has come to an end, for a while.
func (s *session) settled(p *beckon.Person, all []*v1.Delivery) []*v1.Delivery {
	ctx, cancel := context.WithTimeout(s.ctx, ringWait)
	defer cancel()
	for sleep(ctx, ringLook) {
		res, err := p.Deliveries.ListDeliveries(ctx, &v1.ListDeliveriesRequest{PageSize: 200})
		if err != nil {
			break
		}
		open := false
		for n, d := range all {
			for _, now := range res.GetDeliveries() {
				if now.GetId() == d.GetId() {
					all[n] = now
				}
			}
			open = open || underWay(all[n])
		}
		if !open {
			break
		}
	}
	return all
}

func underWay(d *v1.Delivery) bool { return d.GetEndTime() == nil && d.GetAcceptTime() == nil }

// ring tries a device out. What becomes of each try is a delivery.
func (c devicesCommand) ring(s *session, p *beckon.Person) error {
	res, err := p.Addresses.TestPush(s.ctx, &v1.TestPushRequest{InstallationId: c.Ring})
	if err != nil {
		return err
	}
	if len(res.GetDeliveries()) == 0 {
		return exit{exitFailed, c.Ring + " cannot be rung: its app has not registered for pushes, as a terminal never does"}
	}
	rows := s.settled(p, res.GetDeliveries())
	if err := s.deliveries(rows); err != nil {
		return err
	}
	if slices.ContainsFunc(rows, underWay) {
		s.notef("'beckon deliveries' tells what becomes of it")
	}
	return nil
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") } //nolint:gosmopolitan // for the person at this machine

// exists is for a friendlier word than the one of the system.
func exists(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return usage("%s is there already; choose another file with --out", path)
	}
	return nil
}
