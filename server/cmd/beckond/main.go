// Command beckond is the Beckon server with its operator's commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/beckon-dev/beckon/server/config"
)

// version is set by the linker.
var version = "dev"

// Exit codes: a mistake in what was typed can be told from work that failed.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the whole program but for its exit. Usage is 45 lines, among which an
// error would be lost, so it is only shown to those who ask for it.
func run(args []string, out, err io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills
	var line commandLine
	options := append(config.Options(), kong.Name("beckond"), kong.Writers(out, err),
		kong.Description("The backend between long-running agents and the people they work for."))
	parsed, wrong := kong.Must(&line, options...).Parse(args)
	if wrong != nil {
		_, _ = fmt.Fprintf(err, "beckond: %s\nsee beckond --help\n", mistake(wrong)) // nobody is left to tell
		return exitUsage
	}
	if failed := parsed.Run(call{ctx: ctx, config: line.Config, out: out, err: err}); failed != nil {
		_, _ = fmt.Fprintf(err, "beckond: %s\n", failed) // nobody is left to tell
		return exitFailed
	}
	return 0
}

// mistake says what was wrong with the command line. The only file that parsing
// opens is that of --config, which the system's error does not say.
func mistake(err error) string {
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Sprintf("--config: cannot read %s: %s", file.Path, file.Err)
	}
	return err.Error()
}
