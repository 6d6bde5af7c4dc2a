// Command beckon-phones runs strict stand-ins for Apple's and Google's push
// services and emulated phones with a Beckon app, in a process of its own: a server
// is pointed at it as it would be at the vendors, and what a phone would show
// appears in the terminal. The same program is the finger that taps.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// commandLine is what can be typed.
type commandLine struct {
	Listen string `default:"127.0.0.1:8421"                    env:"BECKON_PHONES" help:"Control address on this machine: where the program listens and the other commands find it."`
	JSON   bool   `help:"Print JSON, one line for each thing." name:"json"`

	Run   runCommand   `cmd:"" default:"withargs"                                                                                         help:"Run the push services and the phones (the default)."`
	Pair  pairCommand  `cmd:"" help:"Pair a phone: type the code that another device shows; type the digits printed here on that device."`
	Claim claimCommand `cmd:"" help:"Make a phone the first device of a new server, by the link that it prints."`

	Tap     tapCommand     `cmd:"" help:"Tap a button on a phone's lock screen."`
	Dismiss dismissCommand `cmd:"" help:"Swipe an alert away."`
	Open    openCommand    `cmd:"" help:"Open an alert, or a thread, in the app and print what it shows. The server is told that it is in front of a person until leave, or until the screen locks after 2 minutes."`
	Answer  answerCommand  `cmd:"" help:"Answer the decision that is open in the app."`
	Leave   leaveCommand   `cmd:"" help:"Close what is open in the app, as locking the screen does."`
	Sync    syncCommand    `cmd:"" help:"Let the app read what has changed, as when it comes to the foreground."`

	Set    setCommand    `cmd:"" help:"Change how a phone is: offline, doze, quit, notifications-off, new-token, uninstall and more."`
	Vendor vendorCommand `cmd:"" help:"Script faults of Apple's and Google's push services."`
	Auto   autoCommand   `cmd:"" help:"Choose the button that a phone taps by itself."`
	Fault  faultCommand  `cmd:"" help:"Make a phone misbehave, to see a server refuse it."`
	State  stateCommand  `cmd:"" help:"Print the phones and what is on their screens."`
	Log    logCommand    `cmd:"" help:"Print every request to the push services and everything the phones did."`
}

const description = `Strict stand-ins for Apple's and Google's push services with emulated phones.

The folder given by --dir gets server.json, a configuration for the server
(beckond --config DIR/server.json), before the control address answers. It also
keeps the phones: a restart leaves them paired, under the same addresses.

The control address speaks JSON over HTTP, to this machine only:

  GET  /                                     a page with the lock screens, to ring and be tapped
  GET  /state                                phones, screens, badges
  GET  /log?from=N[&follow=1]                JSON lines {time, source, phone, vendor, what, why,
                                             record}; source is apns or fcm (a request), phone
                                             (the screen) or app; N below 0 is the last ones
  POST /phones/NAME/pair   {server, code, ca}  answers {digits}; then
  GET  /phones/NAME/pair                     waits: {paired, account, installation}
  POST /phones/NAME/claim  {link, ca}        answers {paired, account, installation}
  POST /phones/NAME/tap    {action, key, wait} answers {result, counted}
  POST /phones/NAME/dismiss {key, wait}      swipes an alert away
  POST /phones/NAME/open   {key, wait}       answers the card; {thread} opens one without an alert
  POST /phones/NAME/answer {options, text}   answers {result, counted}
  POST /phones/NAME/leave  {}                closes what open has opened
  POST /phones/NAME/sync   {}
  POST /phones/NAME/auto   {action}          approve, deny or none
  POST /phones/NAME/set    {condition}       see beckon-phones set --help; answers the phone
  POST /phones/NAME/fault  {fault}           how the phone itself misbehaves, or none
  POST /faults  {phone or vendor, nth, times, fault, …}
                                             what a vendor does about requests to come; see
                                             beckon-phones vendor fault --help
  GET  /faults                               {faults, kinds}, each fault with how often it was given
  DELETE /faults[?vendor=apns], /faults/ID   takes them back

key names an alert in /state, by default the newest that fits; wait is how long
to wait for one, such as "30s". A refusal is {error} with a status of 400 up.`

// call is what every command works with.
type call struct {
	ctx      context.Context
	listen   string
	json     bool
	out, err io.Writer
}

// errNotCounted ends a command whose answer did not count; it was printed.
var errNotCounted = errors.New("not counted")

// run is the program without a process: 0 done, 1 refused or failed, 2 usage.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	var line commandLine
	parser, err := kong.New(&line, kong.Name("beckon-phones"), kong.Description(description), kong.Writers(out, errOut))
	if err != nil {
		return complain(errOut, err, 2)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return complain(errOut, err, 2)
	}
	err = parsed.Run(call{ctx: ctx, listen: line.Listen, json: line.JSON, out: out, err: errOut})
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		return complain(errOut, err, 2)
	case errors.Is(err, errNotCounted):
		return 1
	}
	return complain(errOut, err, 1)
}

// complain says why the program ends and gives its exit status.
func complain(w io.Writer, err error, code int) int {
	_, _ = fmt.Fprintln(w, "beckon-phones:", err) // the status says it too
	return code
}
