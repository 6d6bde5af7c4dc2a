// Command beckon is the command line of Beckon: it runs commands as durable
// tasks, asks the person on their behalf, and is a place to answer from.
package main

import (
	"os"

	"github.com/beckon-dev/beckon/clients/cmd/beckon/cli"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(cli.Main(version, os.Args[1:])) }
