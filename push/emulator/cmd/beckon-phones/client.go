package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// errNobody answers a command when no program listens.
var errNobody = errors.New("no phones run at the control address; start beckon-phones first, or name it by --listen")

// ask makes one control call of the running program.
func (c call) ask(method, path string, body, into any) error {
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
		fmt.Fprintf(&b, "%s  %s  badge %d%s\n", called(p.Name, p.Vendor), about, p.Badge, p.unusual())
		for _, a := range p.Screen {
			fmt.Fprintf(&b, "%s\n  key %s\n", draw(a, nil), a.Key)
		}
	}
	return c.show(out, strings.TrimRight(b.String(), "\n"))
}

// unusual says how a phone differs from one that lies on a table.
func (p phoneState) unusual() string {
	var words []string
	for _, w := range []struct {
		is   bool
		word string
	}{
		{!p.Installed, "uninstalled"}, {!p.Online, "offline"}, {p.Doze, "in Doze"}, {p.Quit, "app ended"},
		{p.Installed && !p.Notifications, "notifications off"}, {p.Waiting > 0, fmt.Sprintf("%d kept by the vendor", p.Waiting)},
		{p.Looking != "", "shows " + p.Looking},
	} {
		if w.is {
			words = append(words, w.word)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "  (" + strings.Join(words, ", ") + ")"
}

type logCommand struct {
	From   int  `help:"Number of the first line; below 0 how many of the last."`
	Follow bool `help:"Go on as things happen."                                 short:"f"`
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
