package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/alecthomas/kong"

	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/admin"
	"github.com/beckon-dev/beckon/server/config"
)

// commandLine is what can be typed. The configuration is the same for every
// command, since the operator's ones have to find the socket.
type commandLine struct {
	File kong.ConfigFlag `env:"BECKOND_CONFIG" help:"JSON file with the same settings, '_' for '-'." name:"config"`
	config.Config

	Serve serveCommand `cmd:"" default:"1" help:"Run the server."`

	Claim   claimCommand   `cmd:"" help:"Make a new link by which the owner claims a server or account."`
	Owner   ownerCommand   `cmd:"" help:"What an operator does for an owner."`
	Account accountCommand `cmd:"" help:"Accounts of a server with several people."`
	Backup  backupCommand  `cmd:"" help:"Copy the data folder, whether the server runs or not. The master key is not in it."`
	Restore restoreCommand `cmd:"" help:"Put a backup into a data folder that has the master key and no database."`
	Epoch   epochCommand   `cmd:"" help:"Histories of the database."`
	Status  statusCommand  `cmd:"" help:"Ask a running server how it is."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// call is what every command works with.
type call struct {
	ctx      context.Context
	config   config.Config
	out, err io.Writer
}

type serveCommand struct{}

// Run serves until a signal.
func (serveCommand) Run(c call) error {
	log := slog.New(slog.NewJSONHandler(c.err, &slog.HandlerOptions{Level: c.config.LogLevel}))
	return server.Run(c.ctx, server.Config{Config: c.config, Log: log, Terminal: c.out})
}

type claimCommand struct {
	Account string `arg:"" help:"Account, where there are several." optional:""`

	JSON bool `help:"Print JSON." name:"json"`
}

// Run prints a new claim link.
func (k claimCommand) Run(c call) error {
	return c.link(k.JSON, func(a *admin.Client) (admin.Link, error) { return a.Claim(c.ctx, k.Account) })
}

type ownerCommand struct {
	Reset resetCommand `cmd:"" help:"Make a link into an account whose person lost every device."`
}

type resetCommand struct {
	Account string `arg:"" help:"Account, where there are several." optional:""`

	JSON bool `help:"Print JSON." name:"json"`
}

// Run prints a link into an account that has an owner.
func (k resetCommand) Run(c call) error {
	return c.link(k.JSON, func(a *admin.Client) (admin.Link, error) { return a.Reset(c.ctx, k.Account) })
}

type accountCommand struct {
	Add addCommand `cmd:"" help:"Make an account for one more person."`
}

type addCommand struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Run prints the link into a new account.
func (k addCommand) Run(c call) error {
	return c.link(k.JSON, func(a *admin.Client) (admin.Link, error) { return a.AddAccount(c.ctx) })
}

type statusCommand struct{}

// Run prints how the server is, as JSON.
func (statusCommand) Run(c call) error {
	a := admin.Dial(c.config.Socket())
	defer a.Close()
	status, err := a.Status(c.ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(c.out).Encode(status)
}

type versionCommand struct{}

// Run prints the version, in the form of beckon version.
func (versionCommand) Run(c call) error {
	_, err := fmt.Fprintln(c.out, "beckond", version)
	return err
}

// link asks the running server for a link and prints it.
func (c call) link(asJSON bool, ask func(*admin.Client) (admin.Link, error)) error {
	a := admin.Dial(c.config.Socket())
	defer a.Close()
	link, err := ask(a)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(c.out).Encode(link)
	}
	_, err = fmt.Fprintf(c.out, "%s\n\n  %s\n\nGood once, from %s until %s.\n", link.Account, link.URL,
		link.StartTime.Format(time.RFC3339), link.ExpireTime.Format(time.RFC3339))
	return err
}
