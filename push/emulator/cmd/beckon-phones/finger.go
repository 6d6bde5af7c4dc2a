package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
)

type pairCommand struct {
	Phone  string `arg:""                                                                   help:"Name of the phone."`
	Code   string `arg:""                                                                   help:"The eight characters that the other device shows."`
	Server string `help:"URL of the server."                                                required:""`
	CAFile string `help:"PEM file with the roots to trust for it, instead of the system's." name:"ca-file"                                           type:"existingfile"`
}

// Run prints the digits, then waits for the end.
func (p pairCommand) Run(c call) error {
	req := request{Server: p.Server, Code: p.Code}
	var err error
	if req.CA, err = roots(p.CAFile); err != nil {
		return err
	}
	var offered struct {
		Digits string `json:"digits"`
	}
	if err := c.ask(http.MethodPost, "/phones/"+p.Phone+"/pair", &req, &offered); err != nil {
		return err
	}
	if err := c.show(offered, "Type these digits on the other device: "+offered.Digits); err != nil {
		return err
	}
	var paired struct {
		Paired       bool   `json:"paired"`
		Account      string `json:"account"`
		Installation string `json:"installation"`
	}
	if err := c.ask(http.MethodGet, "/phones/"+p.Phone+"/pair", nil, &paired); err != nil {
		return err
	}
	return c.show(paired, p.Phone+" is paired as "+paired.Installation)
}

// roots reads a CA file; "" for none.
func roots(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	raw, err := os.ReadFile(file)
	return string(raw), err
}

type claimCommand struct {
	Phone  string `arg:""                                                                   help:"Name of the phone."`
	Link   string `arg:""                                                                   help:"The claim link that a new server prints."`
	CAFile string `help:"PEM file with the roots to trust for it, instead of the system's." name:"ca-file"                                  type:"existingfile"`
}

// Run makes the phone the first device.
func (l claimCommand) Run(c call) error {
	req := request{Link: l.Link}
	var err error
	if req.CA, err = roots(l.CAFile); err != nil {
		return err
	}
	var claimed struct {
		Paired       bool   `json:"paired"`
		Account      string `json:"account"`
		Installation string `json:"installation"`
	}
	if err := c.ask(http.MethodPost, "/phones/"+l.Phone+"/claim", &req, &claimed); err != nil {
		return err
	}
	return c.show(claimed, l.Phone+" is the first device, as "+claimed.Installation)
}

type tapCommand struct {
	Phone  string `arg:""                                                            help:"Name of the phone."`
	Action string `arg:""                                                            enum:"approve,deny"                                    help:"The button: approve or deny."`
	Key    string `help:"Alert to tap on, as state names it; the newest by default."`
	Wait   string `default:"0s"                                                      help:"How long to wait for an alert with that button."`
}

// Run taps; the exit status tells whether the answer counts.
func (t tapCommand) Run(c call) error {
	var out answered
	if err := c.ask(http.MethodPost, "/phones/"+t.Phone+"/tap", &request{Action: t.Action, Key: t.Key, Wait: t.Wait}, &out); err != nil {
		return err
	}
	return c.judged(out)
}

func (c call) judged(out answered) error {
	text := out.Result.Outcome
	if text == "" {
		text = "refused: " + out.Result.Reason
	}
	if w := out.Result.Winner; w != nil && w.Label != "" {
		text += " (answered on " + plain(w.Label) + ")"
	}
	if err := c.show(out, text); err != nil {
		return err
	}
	if !out.Counted {
		return errNotCounted
	}
	return nil
}

type openCommand struct {
	Phone  string `arg:""                                                          help:"Name of the phone."`
	Key    string `help:"Alert to open, as state names it; the newest by default."`
	Thread string `help:"Thread to open from the app's own list instead."`
	Wait   string `default:"0s"                                                    help:"How long to wait for an alert."`
}

// Run prints the card.
func (o openCommand) Run(c call) error {
	var card phone.Card
	if err := c.ask(http.MethodPost, "/phones/"+o.Phone+"/open", &request{Key: o.Key, Thread: o.Thread, Wait: o.Wait}, &card); err != nil {
		return err
	}
	return c.show(card, cardText(o.Phone, card))
}

// cardText is a card in words: the server's facts first, the agent's prose apart.
func cardText(name string, card phone.Card) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  [%s]\n", plain(card.Title), strings.TrimSpace(card.State+" "+card.Class))
	for _, it := range card.Items {
		fmt.Fprintf(&b, "  %s\n", plain(it.Question))
		for _, fact := range it.Facts {
			fmt.Fprintf(&b, "    %s\n", plain(fact))
		}
		for _, o := range it.Options {
			fmt.Fprintf(&b, "    ( ) %s    beckon-phones answer %s %s\n", plain(o.Label), name, o.ID)
		}
	}
	if card.Reason != "" {
		fmt.Fprintf(&b, "  the agent says: %s\n", plain(card.Reason))
	}
	for text := range strings.SplitSeq(card.Text, "\n") {
		fmt.Fprintf(&b, "  %s\n", plain(text))
	}
	return strings.TrimRight(b.String(), "\n ")
}

type answerCommand struct {
	Phone   string   `arg:""                                help:"Name of the phone."`
	Options []string `arg:""                                help:"Option to choose, one for each item of the card."`
	Text    string   `help:"Text that goes with the first."`
}

// Run answers in the app; the exit status tells whether the answer counts.
func (a answerCommand) Run(c call) error {
	var out answered
	if err := c.ask(http.MethodPost, "/phones/"+a.Phone+"/answer", &request{Options: a.Options, Text: a.Text}, &out); err != nil {
		return err
	}
	return c.judged(out)
}

type dismissCommand struct {
	Phone string `arg:""                                                                help:"Name of the phone."`
	Key   string `help:"Alert to swipe away, as state names it; the newest by default."`
	Wait  string `default:"0s"                                                          help:"How long to wait for an alert."`
}

// Run swipes.
func (d dismissCommand) Run(c call) error {
	var out json.RawMessage
	if err := c.ask(http.MethodPost, "/phones/"+d.Phone+"/dismiss", &request{Key: d.Key, Wait: d.Wait}, &out); err != nil {
		return err
	}
	return c.show(out, "swiped away; the app is not told")
}

type leaveCommand struct {
	Phone string `arg:"" help:"Name of the phone."`
}

// Run closes what is open.
func (l leaveCommand) Run(c call) error {
	var out struct {
		Left bool `json:"left"`
	}
	if err := c.ask(http.MethodPost, "/phones/"+l.Phone+"/leave", &request{}, &out); err != nil {
		return err
	}
	text := "no thread was open"
	if out.Left {
		text = "left the thread; the server was told"
	}
	return c.show(out, text)
}

type syncCommand struct {
	Phone string `arg:"" help:"Name of the phone."`
}

// Run lets the app read.
func (s syncCommand) Run(c call) error {
	var out json.RawMessage
	if err := c.ask(http.MethodPost, "/phones/"+s.Phone+"/sync", &request{}, &out); err != nil {
		return err
	}
	return c.show(out, "read")
}

type autoCommand struct {
	Phone  string `arg:"" help:"Name of the phone."`
	Action string `arg:"" enum:"approve,deny,none"  help:"approve, deny or none."`
}

// Run chooses.
func (a autoCommand) Run(c call) error {
	var out json.RawMessage
	if err := c.ask(http.MethodPost, "/phones/"+a.Phone+"/auto", &request{Action: a.Action}, &out); err != nil {
		return err
	}
	return c.show(out, a.Phone+" taps by itself: "+a.Action)
}

type faultCommand struct {
	Phone string `arg:"" help:"Name of the phone."`
	Fault string `arg:"" help:"wrong-key, replay, wrong-verb, forged-token, no-proof or none."`
}

// Run breaks or mends the phone.
func (f faultCommand) Run(c call) error {
	var out json.RawMessage
	if err := c.ask(http.MethodPost, "/phones/"+f.Phone+"/fault", &request{Fault: f.Fault}, &out); err != nil {
		return err
	}
	return c.show(out, f.Phone+": "+f.Fault)
}
