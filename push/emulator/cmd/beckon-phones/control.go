package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

// pairing is a pairing under way or over.
type pairing struct {
	digits chan string   // gets the digits once they are known
	done   chan struct{} // closed at the end
	err    error         // set before done is closed
}

// phoneState is a phone in /state.
type phoneState struct {
	Name         string        `json:"name"`
	Vendor       phone.Vendor  `json:"vendor"`
	Paired       bool          `json:"paired"`
	Server       string        `json:"server,omitempty"`
	Account      string        `json:"account,omitempty"`
	Installation string        `json:"installation,omitempty"`
	Auto         string        `json:"auto,omitempty"`
	Fault        phone.Fault   `json:"fault,omitempty"`
	Badge        int           `json:"badge"`
	Rings        int           `json:"rings"`
	Screen       []phone.Alert `json:"screen"`
	conditionState

	// Address is what the vendor calls the phone now, Waiting how many pushes the
	// vendor keeps for it.
	Address string `json:"address,omitempty"`
	Waiting int    `json:"waiting"`
	// Looking is the thread in front of the person, Card what the app shows of it,
	// Threads the app's list.
	Looking string             `json:"looking,omitempty"`
	Card    *phone.Card        `json:"card,omitempty"`
	Threads []phone.ThreadLine `json:"threads,omitempty"`
}

// answered is what the server said to an answer.
type answered struct {
	Result  phone.Result `json:"result"`
	Counted bool         `json:"counted"`
	Error   string       `json:"error,omitempty"`
}

// request has every member that a control call to a phone may carry.
type request struct {
	Link    string   `json:"link,omitempty"`
	Server  string   `json:"server,omitempty"`
	Code    string   `json:"code,omitempty"`
	CA      string   `json:"ca,omitempty"`
	Action  string   `json:"action,omitempty"`
	Key     string   `json:"key,omitempty"`
	Wait    string   `json:"wait,omitempty"`
	Options []string `json:"options,omitempty"`
	Text    string   `json:"text,omitempty"`
	Fault   string   `json:"fault,omitempty"`
	Thread  string   `json:"thread,omitempty"`

	Condition string `json:"condition,omitempty"`
}

var (
	// errConflict answers a call that another one is in the way of.
	errConflict = errors.New("the phone is being paired already")
	// errNoPhone answers a name that no phone has.
	errNoPhone = errors.New("no such phone")
	// errNoFault answers a number that no scripted fault has.
	errNoFault = errors.New("no such fault")
	// errNotInstalled answers what needs the app on a phone without it.
	errNotInstalled = errors.New("the app is not installed on the phone")
)

// maxBody bounds what is read of a call.
const maxBody = 64 << 10

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("%w: the body: %w", errUsage, err)
	}
	return body, nil
}

func decode(body []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%w: the body: %w", errUsage, err)
	}
	return nil
}

func (h *host) handler() http.Handler {
	mux := http.NewServeMux()
	servePage(mux)
	h.serveFaults(mux)
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { reply(w, h.state(), nil) })
	mux.HandleFunc("GET /log", h.serveLog)
	mux.HandleFunc("GET /phones/{phone}/pair", h.waitPair)
	for name, verb := range h.verbs() {
		mux.HandleFunc("POST /phones/{phone}/"+name, func(w http.ResponseWriter, r *http.Request) {
			result, err := h.command(w, r, verb)
			reply(w, result, err)
		})
	}
	return guard(mux)
}

// verb is what a call does with a phone. bare ones need no app on it.
type verb struct {
	bare bool
	run  func(context.Context, *unit, request) (any, error)
}

func (h *host) verbs() map[string]verb {
	return map[string]verb{
		"pair": {run: h.pair}, "claim": {run: claim}, "tap": {run: tap}, "open": {run: open}, "leave": {run: leave},
		"dismiss": {run: dismiss}, "answer": {run: answer}, "sync": {run: syncNow},
		"auto": {true, setAuto}, "fault": {true, setFault}, "set": {true, h.setCondition},
	}
}

// command reads a call and carries it out.
func (h *host) command(w http.ResponseWriter, r *http.Request, v verb) (any, error) {
	var req request
	body, err := readBody(w, r)
	if err == nil {
		err = decode(body, &req)
	}
	if err != nil {
		return nil, err
	}
	u, ok := h.phones[r.PathValue("phone")]
	switch {
	case !ok:
		return nil, errNoPhone
	case !v.bare && !u.has():
		return nil, errNotInstalled
	}
	return v.run(r.Context(), u, req)
}

// guard keeps web pages out, but for the program's own: one that a person visits on
// this machine must not be able to tap their phone. What a browser lets a script
// send names the page's origin, and the name in Host cannot be one that somebody
// else made to point here.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		addr, parseErr := netip.ParseAddr(host)
		local := err == nil && (host == "localhost" || parseErr == nil && addr.IsLoopback())
		origin := r.Header.Get("Origin")
		switch {
		case !local || origin != "" && origin != "http://"+r.Host:
			refuse(w, http.StatusForbidden, "for programs on this machine only")
		case r.Method != http.MethodGet && !isJSON(r):
			refuse(w, http.StatusUnsupportedMediaType, "the body has to be JSON: add the header 'Content-Type: application/json'")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isJSON reports whether a call says that its body is JSON. No page of another
// origin can say so without being asked first, which this program never allows.
func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, jsonLine(map[string]string{"error": why})+"\n") // nobody is left to tell
}

func reply(w http.ResponseWriter, result any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		status := http.StatusBadGateway
		switch {
		case errors.Is(err, errUsage), errors.Is(err, phone.ErrServer), errors.Is(err, phone.ErrLink), errors.Is(err, phone.ErrOption):
			status = http.StatusBadRequest
		case errors.Is(err, errNoPhone), errors.Is(err, errNoFault), errors.Is(err, phone.ErrGone):
			status = http.StatusNotFound
		case errors.Is(err, device.ErrNotShown), errors.Is(err, phone.ErrNoButton), errors.Is(err, phone.ErrNotOpen),
			errors.Is(err, phone.ErrNotPaired), errors.Is(err, errConflict), errors.Is(err, errNotInstalled), errors.Is(err, phone.ErrOffline):
			status = http.StatusConflict
		}
		w.WriteHeader(status)
		result = map[string]string{"error": err.Error()}
	}
	_, _ = io.WriteString(w, jsonLine(result)+"\n") // nobody is left to tell
}

func (h *host) state() map[string][]phoneState {
	out := []phoneState{}
	for _, name := range h.order {
		out = append(out, h.phones[name].state())
	}
	return map[string][]phoneState{"phones": out}
}

func (u *unit) state() phoneState {
	s := u.app.State()
	out := phoneState{
		Name: u.app.Name(), Vendor: u.vendor, Paired: s.Paired(), Server: s.Server, Account: s.Account, Installation: s.Installation,
		Auto: u.app.Auto(), Fault: u.app.Fault(),
		Badge: u.device.Badge(u.topic), Rings: u.device.Rings(u.topic), Screen: u.app.Screen(),
		conditionState: u.condition(), Address: u.app.Address(), Waiting: len(u.device.Stored(u.topic)),
		Looking: u.app.Looking(), Threads: u.app.Threads(),
	}
	if card, ok := u.app.Opened(); ok {
		out.Card = &card
	}
	return out
}

// serveLog streams the log; with follow it stays open.
func (h *host) serveLog(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.Atoi(cmp.Or(r.FormValue("from"), "0"))
	if err != nil {
		reply(w, nil, fmt.Errorf("%w: from is the number of a line, or below 0 how many of the last", errUsage))
		return
	}
	if from < 0 {
		from = max(0, h.log.Len()+from)
	}
	follow := r.FormValue("follow") != ""
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	for follow || from < h.log.Len() {
		if from >= h.log.Len() {
			_ = out.Flush() // the write after it fails then
		}
		line, next, err := h.log.Next(r.Context(), from)
		if err != nil {
			return
		}
		if _, err := io.WriteString(w, jsonLine(line)+"\n"); err != nil {
			return
		}
		from = next
	}
}

// pair begins to pair and answers with the digits to type; the rest goes on.
func (h *host) pair(ctx context.Context, u *unit, req request) (any, error) {
	p := &pairing{digits: make(chan string, 1), done: make(chan struct{})}
	u.mu.Lock()
	if u.pairing != nil {
		select {
		case <-u.pairing.done:
		default:
			u.mu.Unlock()
			return nil, errConflict
		}
	}
	u.pairing = p
	u.mu.Unlock()
	h.running.Go(func() {
		defer close(p.done)
		p.err = u.app.Pair(h.ctx, req.Server, req.CA, req.Code, func(digits string) { p.digits <- digits })
	})
	select {
	case digits := <-p.digits:
		return map[string]string{"digits": digits}, nil
	case <-p.done:
		return nil, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// waitPair answers once a pairing is over.
func (h *host) waitPair(w http.ResponseWriter, r *http.Request) {
	u, ok := h.phones[r.PathValue("phone")]
	if !ok {
		reply(w, nil, errNoPhone)
		return
	}
	u.mu.Lock()
	p := u.pairing
	u.mu.Unlock()
	if p != nil {
		select {
		case <-p.done:
		case <-r.Context().Done():
			return
		}
		if p.err != nil {
			reply(w, nil, p.err)
			return
		}
	}
	s := u.app.State()
	if !s.Paired() {
		reply(w, nil, phone.ErrNotPaired)
		return
	}
	reply(w, map[string]any{"paired": true, "account": s.Account, "installation": s.Installation}, nil)
}

// find gives the key of the alert that is meant, by default the newest that fits,
// and waits for one as long as asked.
func find(ctx context.Context, u *unit, req request, fits func(phone.Alert) bool) (string, error) {
	if req.Key != "" {
		return req.Key, nil
	}
	var wait time.Duration
	if req.Wait != "" {
		var err error
		if wait, err = time.ParseDuration(req.Wait); err != nil {
			return "", fmt.Errorf("%w: wait: %w", errUsage, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for at := u.app.History().Len(); ; {
		screen := u.app.Screen()
		slices.Reverse(screen)
		if i := slices.IndexFunc(screen, fits); i >= 0 {
			return screen[i].Key, nil
		}
		var err error
		if _, at, err = u.app.History().Next(ctx, at); err != nil {
			return "", device.ErrNotShown
		}
	}
}

func tap(ctx context.Context, u *unit, req request) (any, error) {
	verb, err := parseAuto(req.Action)
	if err != nil || verb == "" {
		return nil, fmt.Errorf("%w: action is approve or deny", errUsage)
	}
	key, err := find(ctx, u, req, func(a phone.Alert) bool { return slices.Contains(a.Buttons, verb) })
	if err != nil {
		return nil, err
	}
	result, err := u.app.Press(ctx, key, verb)
	return judged(result, err)
}

func answer(ctx context.Context, u *unit, req request) (any, error) {
	result, err := u.app.Answer(ctx, req.Options, req.Text)
	return judged(result, err)
}

// judged makes an answer of the call out of every answer of the server.
func judged(r phone.Result, err error) (any, error) {
	if err != nil && r.Outcome == "" && r.Reason == "" {
		return nil, err
	}
	out := answered{Result: r, Counted: err == nil && r.Counted()}
	if err != nil {
		out.Error = err.Error()
	}
	return out, nil
}

// open shows a thread, or the one that an alert is about.
func open(ctx context.Context, u *unit, req request) (any, error) {
	if req.Thread != "" {
		return u.app.OpenThread(ctx, req.Thread)
	}
	key, err := find(ctx, u, req, func(phone.Alert) bool { return true })
	if err != nil {
		return nil, err
	}
	return u.app.Tap(ctx, key)
}

// leave is the person closing what is open, or locking the screen.
func leave(ctx context.Context, u *unit, _ request) (any, error) {
	return map[string]bool{"left": u.app.Leave(ctx)}, nil
}

// dismiss is the person's swipe.
func dismiss(ctx context.Context, u *unit, req request) (any, error) {
	key, err := find(ctx, u, req, func(phone.Alert) bool { return true })
	if err != nil {
		return nil, err
	}
	return map[string]string{"dismissed": key}, u.device.Dismiss(u.topic, key)
}

func claim(ctx context.Context, u *unit, req request) (any, error) {
	if err := u.app.Claim(ctx, req.Link, req.CA); err != nil {
		return nil, err
	}
	s := u.app.State()
	return map[string]any{"paired": true, "account": s.Account, "installation": s.Installation}, nil
}

func syncNow(ctx context.Context, u *unit, _ request) (any, error) {
	return map[string]bool{"synced": true}, u.app.Sync(ctx)
}

func setAuto(_ context.Context, u *unit, req request) (any, error) {
	verb, err := parseAuto(req.Action)
	if err != nil {
		return nil, err
	}
	u.app.SetAuto(verb)
	return map[string]string{"auto": verb}, nil
}

func setFault(_ context.Context, u *unit, req request) (any, error) {
	f, err := parseFault(req.Fault)
	if err != nil {
		return nil, err
	}
	u.app.SetFault(f)
	return map[string]phone.Fault{"fault": f}, nil
}
