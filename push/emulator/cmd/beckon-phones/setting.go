package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
)

type setCommand struct {
	Phone     string `arg:"" help:"Name of the phone."`
	Condition string `arg:"" help:"What happens to it, see above."`
}

// Help lists the conditions.
func (setCommand) Help() string {
	b := preformatted("What can happen to a phone:")
	for _, c := range conditions() {
		only := ""
		if c.only == phone.FCM {
			only = " (Android)"
		}
		fmt.Fprintf(b, "  %-18s %s%s\n", c.name, c.help, only)
	}
	return b.String()
}

// preformatted begins a list that keeps its lines.
func preformatted(title string) *strings.Builder {
	b := &strings.Builder{}
	b.WriteString(title + "\n\n")
	return b
}

// Run lets it happen.
func (s setCommand) Run(c call) error {
	var out phoneState
	if err := c.ask(http.MethodPost, "/phones/"+s.Phone+"/set", &request{Condition: s.Condition}, &out); err != nil {
		return err
	}
	return c.show(out, s.Phone+": "+s.Condition+out.unusual())
}

// vendorCommand is the group about what Apple and Google answer.
type vendorCommand struct {
	Fault  vendorFault  `cmd:"" help:"Script a fault: what a vendor does about some of the requests to come."`
	Faults vendorFaults `cmd:"" help:"List the faults that are scripted, and those that have a name."`
	Clear  vendorClear  `cmd:"" help:"Take faults back."`
}

type vendorFault struct {
	Of   string `arg:"" help:"A phone, for requests to its present address; or apns or fcm, for all."`
	Kind string `arg:"" help:"Fault by its name, see above; the flags change it or stand alone."      optional:""`

	Nth        int               `default:"1"                                                                                 help:"First request it is for, from 1, counted from now."`
	Times      int               `help:"How many in a row; 1 by default."`
	Always     bool              `help:"All from then on."`
	Token      string            `help:"An address, with apns or fcm."`
	Env        string            `help:"Apple's host: sandbox or production."`
	Endpoint   string            `help:"Google's endpoint: send or token."`
	Status     int               `help:"HTTP status."`
	Reason     string            `help:"Apple's reason or Google's errorCode."`
	Timestamp  string            `help:"Since when, for Apple's 410: RFC 3339, or --timestamp=-1h."`
	Message    string            `help:"Google's text."`
	Field      string            `help:"Field of a BadRequest of Google's."`
	Quota      string            `help:"Limit of Google's: project, device or topic."`
	RetryAfter string            `help:"Header of that name: seconds or an HTTP date."`
	Header     map[string]string `help:"Further headers, name=value."`
	Body       string            `help:"Body instead of the JSON one."`
	Delay      string            `help:"Time before the answer, such as 5s."`
	Answer     string            `help:"How it ends: replied, none, reset, closed or, at Apple, refused, unseen, black-hole."`
	Store      bool              `help:"The phone gets the push whatever is answered."`
	Goaway     string            `help:"Reason of a GOAWAY ahead of Apple's answer."`
	Streams    uint32            `help:"Streams that Apple's connection admits from then on."`
	Then       string            `help:"What becomes of Apple's connection afterwards: closes or silence."`
}

// Help lists the faults with names.
func (vendorFault) Help() string {
	b := preformatted("Faults with a name:")
	for _, k := range kinds() {
		only := ""
		if k.fcm == nil {
			only = " (apns)"
		} else if k.apns == nil {
			only = " (fcm)"
		}
		fmt.Fprintf(b, "  %-18s %s%s\n", k.name, k.help, only)
	}
	return b.String()
}

// Run scripts the fault.
func (f vendorFault) Run(c call) error {
	if f.Nth < 1 {
		return fmt.Errorf("%w: --nth counts from 1", errUsage)
	}
	o := order{
		Phone: f.Of, Fault: f.Kind, Nth: f.Nth, Times: f.Times, Token: f.Token, Env: f.Env, Endpoint: f.Endpoint,
		Status: f.Status, Reason: f.Reason, Timestamp: f.Timestamp, Message: f.Message, Field: f.Field, Quota: f.Quota,
		RetryAfter: f.RetryAfter, Header: f.Header, Body: f.Body, Delay: f.Delay, Answer: f.Answer, Store: f.Store,
		GoAway: f.Goaway, Streams: f.Streams, Then: f.Then,
	}
	if v := phone.Vendor(f.Of); v == phone.APNs || v == phone.FCM {
		o.Phone, o.Vendor = "", v
	}
	if f.Always {
		o.Times = -1
	}
	var out order
	if err := c.ask(http.MethodPost, "/faults", &o, &out); err != nil {
		return err
	}
	return c.show(out, out.text())
}

// text is a fault in one line.
func (o order) text() string {
	at := string(o.Vendor)
	if o.Phone != "" {
		at = o.Phone
	}
	first, what := max(o.Nth, 1), o.Fault
	for _, w := range []string{numberText(o.Status), o.Reason, o.Answer, o.Delay, o.GoAway, o.Then} {
		if w != "" {
			what = strings.TrimSpace(what + " " + w)
		}
	}
	if o.Store {
		what += ", the phone gets it"
	}
	span := fmt.Sprintf("request %d", first)
	switch {
	case o.Times < 0:
		span = fmt.Sprintf("all requests from %d", first)
	case o.Times > 1:
		span = fmt.Sprintf("requests %d to %d", first, first+o.Times-1)
	}
	return plain(fmt.Sprintf("%d  %s  %s: %s; given %d times", o.ID, at, span, what, o.Given))
}

// numberText is a number that is not 0.
func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

type vendorFaults struct{}

// Run prints the list.
func (vendorFaults) Run(c call) error {
	var out struct {
		Faults []order     `json:"faults"`
		Kinds  []kindState `json:"kinds"`
	}
	if err := c.ask(http.MethodGet, "/faults", nil, &out); err != nil {
		return err
	}
	var rows []string
	for _, o := range out.Faults {
		rows = append(rows, o.text())
	}
	if len(rows) == 0 {
		rows = []string{"no fault is scripted"}
	}
	return c.show(out, strings.Join(rows, "\n"))
}

type vendorClear struct {
	Which string `arg:"" default:"" help:"Number of a fault as faults lists it, or apns or fcm; all by default."`
}

// Run clears.
func (v vendorClear) Run(c call) error {
	path := "/faults?vendor=" + url.QueryEscape(v.Which)
	if _, err := strconv.Atoi(v.Which); err == nil {
		path = "/faults/" + v.Which
	}
	var out struct {
		Cleared int `json:"cleared"`
	}
	if err := c.ask(http.MethodDelete, path, nil, &out); err != nil {
		return err
	}
	return c.show(out, fmt.Sprintf("faults taken back: %d", out.Cleared))
}

var (
	_ kong.HelpProvider = setCommand{}
	_ kong.HelpProvider = vendorFault{}
)
