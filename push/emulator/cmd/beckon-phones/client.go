package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
)

// errNobody answers a command when no program listens.
var errNobody = errors.New("no phones run at the control address; start beckon-phones first, or name it by --listen")

// ask makes one control call of the running program.
func (c call) ask(method, path string, body *request, into any) error {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(raw)
	}
	res, err := c.send(method, path, reader)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= http.StatusBadRequest {
		var refused struct {
			Error string `json:"error"`
		}
		if json.NewDecoder(res.Body).Decode(&refused) != nil || refused.Error == "" {
			refused.Error = res.Status
		}
		return errors.New(refused.Error)
	}
	return json.NewDecoder(res.Body).Decode(into)
}

func (c call) send(method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(c.ctx, method, "http://"+c.listen+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil && c.ctx.Err() == nil {
		return nil, fmt.Errorf("%w (%w)", errNobody, err)
	}
	return res, err
}

// show prints an answer: as JSON, or in words.
func (c call) show(v any, text string) error {
	if c.json {
		text = jsonLine(v)
	}
	_, err := fmt.Fprintln(c.out, text)
	return err
}

type pairCommand struct {
	Phone  string `arg:""                                                                   help:"Name of the phone."`
	Code   string `arg:""                                                                   help:"The eight characters that the other device shows."`
	Server string `help:"URL of the server."                                                required:""`
	CAFile string `help:"PEM file with the roots to trust for it, instead of the system's." name:"ca-file"                                           type:"existingfile"`
}

// Run prints the digits, then waits for the end.
func (p pairCommand) Run(c call) error {
	req := request{Server: p.Server, Code: p.Code}
	if p.CAFile != "" {
		raw, err := os.ReadFile(p.CAFile)
		if err != nil {
			return err
		}
		req.CA = string(raw)
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
	Phone string `arg:""                                                          help:"Name of the phone."`
	Key   string `help:"Alert to open, as state names it; the newest by default."`
	Wait  string `default:"0s"                                                    help:"How long to wait for an alert."`
}

// Run prints the card.
func (o openCommand) Run(c call) error {
	var card phone.Card
	if err := c.ask(http.MethodPost, "/phones/"+o.Phone+"/open", &request{Key: o.Key, Wait: o.Wait}, &card); err != nil {
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

type stateCommand struct{}

// Run prints the screens.
func (stateCommand) Run(c call) error {
	var out struct {
		Phones []phoneState `json:"phones"`
	}
	if err := c.ask(http.MethodGet, "/state", nil, &out); err != nil {
		return err
	}
	var b strings.Builder
	for _, p := range out.Phones {
		about := "not paired"
		if p.Paired {
			about = p.Installation + " at " + p.Server
		}
		fmt.Fprintf(&b, "%s  %s  badge %d\n", called(p.Name, p.Vendor), about, p.Badge)
		for _, a := range p.Screen {
			fmt.Fprintf(&b, "%s\n  key %s\n", draw(a, nil), a.Key)
		}
	}
	return c.show(out, strings.TrimRight(b.String(), "\n"))
}

type logCommand struct {
	From   int  `help:"Number of the first line."`
	Follow bool `help:"Go on as things happen."   short:"f"`
}

// Run copies the lines.
func (l logCommand) Run(c call) error {
	path := fmt.Sprintf("/log?from=%d", l.From)
	if l.Follow {
		path += "&follow=1"
	}
	res, err := c.send(http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(c.out, res.Body)
	if c.ctx.Err() != nil {
		return nil
	}
	return err
}
