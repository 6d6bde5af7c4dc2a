package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program is one run of the command.
type program struct {
	t       *testing.T
	control string
	config  settings
	lines   *bufio.Reader
	stop    func() int
}

func start(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan int, 1)
	go func() {
		code := run(ctx, append([]string{"--json", "--listen", "127.0.0.1:0", "run", "--dir", dir}, args...), w, w)
		_ = w.Close()
		done <- code
	}()
	p := &program{t: t, lines: bufio.NewReader(r)}
	p.stop = sync.OnceValue(func() int {
		cancel()
		go func() { _, _ = io.Copy(io.Discard, r) }()
		return <-done
	})
	t.Cleanup(func() { p.stop() })
	var ready struct {
		Event   string `json:"event"`
		Control string `json:"control"`
		Config  string `json:"config"`
	}
	line := p.line()
	if json.Unmarshal([]byte(line), &ready) != nil || ready.Event != "ready" {
		t.Fatalf("first line %q", line)
	}
	p.control = ready.Control
	raw, err := os.ReadFile(ready.Config)
	check(t, err)
	check(t, json.Unmarshal(raw, &p.config))
	return p
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *program) line() string {
	p.t.Helper()
	line, err := p.lines.ReadString('\n')
	check(p.t, err)
	return line
}

// ask runs another command against the program.
func (p *program) ask(args ...string) (code int, out string) {
	p.t.Helper()
	var text, problem bytes.Buffer
	code = run(p.t.Context(), append([]string{"--listen", p.control}, args...), &text, &problem)
	return code, text.String() + problem.String()
}

// push sends an alert to a phone as a server configured by server.json would.
func (p *program) push(token, payload string) *http.Response {
	p.t.Helper()
	raw, err := os.ReadFile(p.config.KeyFile)
	check(p.t, err)
	block, _ := pem.Decode(raw)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	check(p.t, err)
	claims := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": p.config.TeamID, "iat": time.Now().Unix()})
	claims.Header["kid"] = p.config.KeyID
	bearer, err := claims.SignedString(key)
	check(p.t, err)
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.config.SandboxHost+"/3/device/"+token, strings.NewReader(payload))
	check(p.t, err)
	for name, value := range map[string]string{
		"authorization": "bearer " + bearer, "apns-topic": p.config.Topics[0], "apns-push-type": "alert", "apns-priority": "10", "apns-collapse-id": "one",
	} {
		req.Header.Set(name, value)
	}
	res, err := p.trusting(p.config.CAFile).Do(req)
	check(p.t, err)
	_, err = io.Copy(io.Discard, res.Body)
	check(p.t, err)
	check(p.t, res.Body.Close())
	return res
}

// message sends a data message to a phone as a server with a service account would.
func (p *program) message(account []byte, token string, data map[string]string) *http.Response {
	p.t.Helper()
	client := p.trusting(p.config.FCMCAFile)
	body, err := json.Marshal(map[string]any{"message": map[string]any{"token": token, "data": data}})
	check(p.t, err)
	target := p.config.FCMEndpoint + "/projects/" + p.config.FCMProject + "/messages:send"
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, target, bytes.NewReader(body))
	check(p.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+p.access(client, account))
	res, err := client.Do(req)
	check(p.t, err)
	check(p.t, res.Body.Close())
	return res
}

// access asks for an access token with a service account's file.
func (p *program) access(client *http.Client, account []byte) string {
	p.t.Helper()
	var file struct {
		Email string `json:"client_email"`
		Key   string `json:"private_key"`
	}
	check(p.t, json.Unmarshal(account, &file))
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(file.Key))
	check(p.t, err)
	now := time.Now().Unix()
	assertion, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": file.Email, "aud": p.config.FCMTokenURI, "scope": "https://www.googleapis.com/auth/firebase.messaging", "iat": now, "exp": now + 3600,
	}).SignedString(key)
	check(p.t, err)
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.config.FCMTokenURI, strings.NewReader(form.Encode()))
	check(p.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := client.Do(req)
	check(p.t, err)
	var granted struct {
		Token string `json:"access_token"`
	}
	check(p.t, json.NewDecoder(res.Body).Decode(&granted))
	check(p.t, res.Body.Close())
	return granted.Token
}

// trusting is a client with a CA file's roots.
func (p *program) trusting(caFile string) *http.Client {
	p.t.Helper()
	ca, err := os.ReadFile(caFile)
	check(p.t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	tr := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	p.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestRun_WritesTheConfigurationAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "--phones", "anna,ben:android")
	if p.config.App != "beckon" || p.config.SandboxHost == p.config.ProductionHost || !filepath.IsAbs(p.config.CAFile) {
		t.Errorf("wrote %+v", p.config)
	}
	token, err := os.ReadFile(filepath.Join(dir, "phones", "anna.token"))
	check(t, err)
	if code := p.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	account, err := os.ReadFile(p.config.FCMAccountFile)
	check(t, err)
	ben, err := os.ReadFile(filepath.Join(dir, "phones", "ben.fcm-token"))
	check(t, err)
	again := start(t, dir, "--phones", "anna,ben:android")
	if diff := cmp.Diff(p.config, again.config); diff != "" {
		t.Error(diff)
	}
	if res := again.push(string(token), `{"aps":{"alert":{"title":"t"}}}`); res.StatusCode != http.StatusOK {
		t.Errorf("a push to the address of before: %s", res.Status)
	}
	// A server that runs on has the account of before.
	if res := again.message(account, string(ben), map[string]string{"beckon": "{}"}); res.StatusCode != http.StatusOK {
		t.Errorf("a message to the address of before: %s", res.Status)
	}
}

func TestRun_LogsRequestsScreensAndApps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "log")
	p := start(t, dir, "--phones", "anna", "--log", file)
	token, err := os.ReadFile(filepath.Join(dir, "phones", "anna.token"))
	check(t, err)
	res := p.push(string(token), `{"aps":{"alert":{"title":"For somebody else"},"mutable-content":1},"beckon":{"v":1,"account":"other"}}`)
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	follow, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(follow, []string{"--listen", p.control, "log", "--follow"}, w, w)
		_ = w.Close()
	}()
	var sources []string
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var e struct {
			Source string `json:"source"`
			Record struct {
				Kind   string `json:"kind"`
				Status int    `json:"status"`
			} `json:"record"`
		}
		check(t, json.Unmarshal(lines.Bytes(), &e))
		sources = append(sources, e.Source+" "+e.Record.Kind)
		if len(sources) == 5 {
			break
		}
	}
	cancel()
	_ = r.Close()
	if code := <-ended; code != 0 {
		t.Errorf("log ended with %d", code)
	}
	slices.Sort(sources) // a phone is handed its push before the request is on record
	want := []string{"apns ", "app dropped", "phone rang", "phone received", "phone removed"}
	if diff := cmp.Diff(want, sources); diff != "" {
		t.Error(diff)
	}
	p.stop()
	raw, err := os.ReadFile(file)
	check(t, err)
	if got := strings.Count(string(raw), "\n"); got != len(sources) {
		t.Errorf("the file has %d lines, want %d", got, len(sources))
	}
}

func TestRun_LogsTheOtherVendor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, "--phones", "ben:android")
	token, err := os.ReadFile(filepath.Join(dir, "phones", "ben.fcm-token"))
	check(t, err)
	account, err := os.ReadFile(p.config.FCMAccountFile)
	check(t, err)
	if res := p.message(account, string(token), map[string]string{"title": "For somebody else", "tag": "x", "beckon": `{"v":1,"account":"other"}`}); res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	follow, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(follow, []string{"--listen", p.control, "log", "--follow"}, w, w)
		_ = w.Close()
	}()
	var got []string
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var e struct {
			Time                             time.Time
			Source, Phone, Vendor, What, Why string
			Record                           struct{ Kind, Endpoint string }
		}
		check(t, json.Unmarshal(lines.Bytes(), &e))
		if time.Since(e.Time) > time.Minute {
			t.Errorf("of %v: %s", e.Time, lines.Text())
		}
		got = append(got, strings.Join([]string{e.Source, e.Phone, e.Vendor, e.Record.Endpoint + e.Record.Kind, e.What, e.Why}, "|"))
		if len(got) == 4 {
			break
		}
	}
	cancel()
	_ = r.Close()
	<-ended
	slices.Sort(got) // a phone is handed its message before the request is on record
	want := []string{
		"app|ben|fcm|dropped|dropped|account tag of another account", "fcm|ben|fcm|send|accepted|",
		"fcm|||token|access token accepted|", "phone|ben|fcm|received|received|",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCommands_AgainstARunningProgram(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--phones", "anna,ben:android", "--auto", "approve", "--fault", "wrong-key")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"state"}, 0, "anna (APNs)  not paired  badge 0"},
		{[]string{"state"}, 0, "ben (FCM)  not paired  badge 0"},
		{[]string{"--json", "state"}, 0, `"auto":"approve","fault":"wrong-key"`},
		{[]string{"auto", "anna", "none"}, 0, "none"},
		{[]string{"fault", "anna", "none"}, 0, "none"},
		{[]string{"--json", "state"}, 0, `"name":"anna","vendor":"apns","paired":false,"badge":0`},
		{[]string{"--json", "state"}, 0, `"name":"ben","vendor":"fcm","paired":false,"auto":"approve"`},
		{[]string{"fault", "anna", "lazy"}, 1, "no fault"},
		{[]string{"tap", "anna", "approve"}, 1, "no such alert"},
		{[]string{"tap", "anna", "approve", "--wait", "soon"}, 1, "wait"},
		{[]string{"tap", "anna", "maybe"}, 2, "action"},
		{[]string{"tap", "carl", "deny"}, 1, "no such phone"},
		{[]string{"open", "anna"}, 1, "no such alert"},
		{[]string{"answer", "anna", "approve"}, 1, "open the decision first"},
		{[]string{"sync", "anna"}, 1, "not paired"},
		{[]string{"pair", "anna", "7K4M-Q2ZD", "--server", "http://example.com"}, 1, "not the address of a server"},
		{[]string{"pair", "anna"}, 2, "--server"},
	} {
		code, out := p.ask(c.args...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%q: exit %d, %q; want %d and %q", c.args, code, out, c.code, c.want)
		}
	}
}

func TestRun_RefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--phones", "0"}, {"--phones", "Anna"}, {"--phones", "a,a"}, {"--phones", "a,a:android"}, {"--phones", "a:windows"}, {"--auto", "maybe"}, {"--fault", "lazy"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), append([]string{"--dir", t.TempDir()}, args...), &out, &out); code != 2 {
			t.Errorf("%q: exit %d, %s", args, code, &out)
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"--listen", "0.0.0.0:0", "--dir", t.TempDir()}, &out, &out); code != 2 {
		t.Errorf("a control address for everybody: exit %d, %s", code, &out)
	}
}

func TestControl_KeepsWebPagesOut(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--phones", "phone")
	want := map[string]int{
		"another origin": http.StatusForbidden, "a form": http.StatusUnsupportedMediaType, "no type": http.StatusUnsupportedMediaType,
		"a rebound name": http.StatusForbidden, "an unknown field": http.StatusBadRequest,
	}
	for name, change := range map[string]func(*http.Request){
		"no type":          func(r *http.Request) { r.Header.Del("Content-Type") },
		"another origin":   func(r *http.Request) { r.Header.Set("Origin", "https://example.com") },
		"a form":           func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		"a rebound name":   func(r *http.Request) { r.Host = "example.com:8421" },
		"an unknown field": func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"actoin":"deny"}`)) },
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.control+"/phones/phone/auto", nil)
		check(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Body = io.NopCloser(strings.NewReader(`{"action":"deny"}`))
		change(req)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Do(req)
		check(t, err)
		check(t, res.Body.Close())
		if want[name] != res.StatusCode {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	if _, out := p.ask("--json", "state"); strings.Contains(out, `"auto"`) {
		t.Errorf("a phone was changed: %s", out)
	}
}

// What libraries write after the type is no reason to refuse a call.
func TestControl_TakesEachSpellingOfJSON(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--phones", "phone")
	for _, kind := range []string{"application/json; charset=utf-8", "Application/JSON"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.control+"/phones/phone/auto", strings.NewReader(`{"action":"deny"}`))
		check(t, err)
		req.Header.Set("Content-Type", kind)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Do(req)
		check(t, err)
		check(t, res.Body.Close())
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", kind, res.Status)
		}
	}
}

// A second program says what stands in its way, and not only what bind said.
func TestRun_SaysWhatHoldsItsAddress(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--phones", "phone")
	var out bytes.Buffer
	if code := run(t.Context(), []string{"--listen", p.control, "--dir", t.TempDir()}, &out, &out); code != 1 || !strings.Contains(out.String(), "another address by --listen") {
		t.Errorf("exit %d, %s", code, &out)
	}
}

func TestDraw_LooksLikeALockScreen(t *testing.T) {
	t.Parallel()
	got := draw(phone.Alert{
		Phone: "anna", Vendor: phone.FCM, Title: "Builder needs a decision", Badge: 2, Buttons: []string{"approve", "deny"},
		Body: "Write the report?\nname: a-very-long-name-without-any-space-in-it-that-goes-on-and-on.txt\nevil\x1b[2Jtext",
	}, []string{"beckon-phones tap anna approve"})
	want := `
╭─ anna (FCM) · badge 2 ─────────────────────────────────╮
│ Beckon                                                 │
│ Builder needs a decision                               │
│   Write the report?                                    │
│   name:                                                │
│   a-very-long-name-without-any-space-in-it-that-goes-o │
│   n-and-on.txt                                         │
│   evil�[2Jtext                                         │
│ [ Approve ] [ Deny ]                                   │
╰────────────────────────────────────────────────────────╯
  beckon-phones tap anna approve`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Error(diff)
	}
}
