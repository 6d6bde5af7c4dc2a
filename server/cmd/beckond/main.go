// Command beckond is the Beckon server with its operator's commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/beckon-dev/beckon/server/config"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var line commandLine
	parsed := kong.Parse(&line,
		kong.Name("beckond"),
		kong.Description("The backend between long-running agents and the people they work for."),
		kong.Configuration(config.File),
		kong.UsageOnError(),
	)
	context.AfterFunc(ctx, stop) // a second signal kills
	parsed.FatalIfErrorf(parsed.Run(call{ctx: ctx, config: line.Config, out: os.Stdout, err: os.Stderr}))
}
