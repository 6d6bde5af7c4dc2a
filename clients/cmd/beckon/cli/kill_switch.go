package cli

import (
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type killSwitchCommand struct {
	Turn string `arg:"" default:"" enum:",on,off" help:"on or off; left out, how it stands." optional:""`
}

// Help is shown under the line about the command.
func (killSwitchCommand) Help() string {
	return "On: agents of the account can start, claim, ask and write nothing, and those at work hear a stop. Their tasks wait, except that a command under `beckon run` and the task of a `beckon ask` end, since nobody could go on with them; you can still read, refuse and stop. " +
		"Any of your devices may turn it on. Off needs you in person: a phone, the web, or a terminal in the first 30 minutes after its claim."
}

type killSwitchView struct {
	On             bool      `json:"on"`
	InstallationID string    `json:"installation_id,omitempty"`
	Since          time.Time `json:"since,omitzero"`
}

// Run turns the switch, or shows it.
func (c killSwitchCommand) Run(s *session) error {
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	var settings *v1.Settings
	if c.Turn == "" {
		res, err := p.Account.GetAccount(s.ctx, &v1.GetAccountRequest{})
		if err != nil {
			return err
		}
		settings = res.GetSettings()
	} else {
		res, err := p.Account.SetKillSwitch(s.ctx, &v1.SetKillSwitchRequest{IdempotencyKey: newKey(), On: c.Turn == "on"})
		if err != nil {
			return err
		}
		settings = res.GetSettings()
	}
	v := killSwitchView{
		On: settings.GetKillSwitch() != nil, InstallationID: settings.GetKillSwitch().GetInstallationId(),
		Since: at(settings.GetKillSwitch().GetSince()),
	}
	switch {
	case s.line.JSON:
		return s.print(v)
	case v.On:
		s.sayf("kill switch: on since %s, by %s. Every agent of the account is stopped.", clock(v.Since), v.InstallationID)
	default:
		s.sayf("kill switch: off")
	}
	return nil
}
