package faultproxy_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/e2e/faultproxy"
)

// origin is a server that notes what it gets.
type origin struct {
	mu   sync.Mutex
	got  []string
	more chan struct{} // lets /stream go on
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	o.got = append(o.got, r.Proto+" "+r.URL.Path+" "+string(body))
	n := len(o.got)
	o.mu.Unlock()
	if r.URL.Path == "/private" {
		w.Header().Set("Cache-Control", "no-store, no-transform")
	}
	if r.URL.Path == "/stream" {
		_, _ = io.WriteString(w, "first ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-o.more:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set(http.TrailerPrefix+"Sum", fmt.Sprint(n))
	_, _ = fmt.Fprint(w, "answer ", n)
}

func (o *origin) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.got)
}

// before is a proxy before an origin, both with TLS, and a client of it.
func before(t *testing.T, seed uint64) (*faultproxy.HTTP, *origin, *http.Client) {
	t.Helper()
	o := &origin{more: make(chan struct{})}
	s := httptest.NewUnstartedServer(o)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	pair, pem, err := faultproxy.NewCertificate()
	check(t, err)
	h, err := faultproxy.ListenHTTP(t.Context(), "127.0.0.1:0", faultproxy.HTTPConfig{Server: s.URL, Roots: roots, Certificate: pair, Seed: seed})
	check(t, err)
	t.Cleanup(func() { check(t, h.Close()) })
	return h, o, client(t, pem)
}

func client(t *testing.T, pem []byte) *http.Client {
	t.Helper()
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(pem)
	tr := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func post(c *http.Client, url, body string) (string, *http.Response, error) {
	res, err := c.Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	return string(got), res, err
}

func TestHTTP_PassesEverything(t *testing.T) {
	t.Parallel()
	h, o, c := before(t, 1)
	got, res, err := post(c, h.URL()+"/a", "body")
	check(t, err)
	if got != "answer 1" || res.ProtoMajor != 2 || res.Trailer.Get("Sum") != "1" {
		t.Error(got, res.Proto, res.Trailer)
	}
	if all := o.all(); !slices.Equal(all, []string{"HTTP/2.0 /a body"}) {
		t.Error(all)
	}
	// A stream is not held back.
	res, err = c.Get(h.URL() + "/stream")
	check(t, err)
	first := make([]byte, 6)
	_, err = io.ReadFull(res.Body, first)
	check(t, err)
	close(o.more)
	rest, err := io.ReadAll(res.Body)
	check(t, err)
	check(t, res.Body.Close())
	if string(first)+string(rest) != "first answer 2" {
		t.Error(string(first), string(rest))
	}
}

func TestHTTP_Buffer(t *testing.T) {
	t.Parallel()
	h, o, c := before(t, 1)
	h.Rules(faultproxy.Rule{Path: "/stream", Buffer: true})
	type got struct {
		text string
		err  error
	}
	came := make(chan got, 1)
	go func() {
		text, _, err := post(c, h.URL()+"/stream", "")
		came <- got{text, err}
	}()
	for tick := time.NewTicker(time.Millisecond); len(o.all()) == 0; <-tick.C {
	}
	select {
	case g := <-came:
		t.Error("came before the end:", g)
	case <-time.After(quiet):
	}
	close(o.more)
	if g := <-came; g.err != nil || g.text != "first answer 1" {
		t.Error(g)
	}
}

func TestHTTP_Copies(t *testing.T) {
	t.Parallel()
	run := func(seed uint64, rule faultproxy.Rule) (answers []string, sent int) {
		h, o, c := before(t, seed)
		h.Rules(rule)
		for range 10 {
			got, _, err := post(c, h.URL()+"/a", "body")
			check(t, err)
			answers = append(answers, got)
		}
		if n := h.Counts().Sent; n != len(o.all()) {
			t.Errorf("%d sent, %d came", n, len(o.all()))
		}
		return answers, len(o.all())
	}
	if _, sent := run(1, faultproxy.Rule{Copies: 3, Together: true}); sent != 30 {
		t.Error("ten requests of three copies came as", sent)
	}
	first, n := run(7, faultproxy.Rule{Copies: -1})
	if n <= 10 || n >= 30 {
		t.Error("one to three copies of ten came as", n)
	}
	if again, m := run(7, faultproxy.Rule{Copies: -1}); m != n || !slices.Equal(first, again) {
		t.Errorf("the same seed gave %v, then %v", first, again)
	}
	if other, m := run(8, faultproxy.Rule{Copies: -1}); m == n && slices.Equal(first, other) {
		t.Error("another seed gave the same")
	}
}

func TestHTTP_DropAnswer(t *testing.T) {
	t.Parallel()
	for _, http1 := range []bool{false, true} {
		h, o, c := before(t, 1)
		h.Downgrade(http1)
		h.Rules(faultproxy.Rule{DropAnswer: true, Times: 1})
		if got, _, err := post(c, h.URL()+"/a", "body"); err == nil {
			t.Error("answered with", got)
		}
		if len(o.all()) != 1 {
			t.Error("the server got", o.all())
		}
		_, _, err := post(c, h.URL()+"/a", "body")
		check(t, err)
	}
}

func TestHTTP_Downgrade(t *testing.T) {
	t.Parallel()
	h, o, c := before(t, 1)
	h.Downgrade(true)
	_, res, err := post(c, h.URL()+"/a", "")
	check(t, err)
	if res.ProtoMajor != 1 || !strings.HasPrefix(o.all()[0], "HTTP/1.1") {
		t.Error(res.Proto, o.all())
	}
	h.Downgrade(false)
	c.CloseIdleConnections()
	_, res, err = post(c, h.URL()+"/a", "")
	check(t, err)
	if got := h.Counts(); res.ProtoMajor != 2 || got.HTTP1 != 1 || got.HTTP2 != 1 {
		t.Errorf("%s %+v", res.Proto, got)
	}
}

func TestHTTP_Inserted(t *testing.T) {
	t.Parallel()
	h, o, c := before(t, 1)
	for _, status := range []int{502, 503, 429} {
		h.Rules(faultproxy.Rule{Path: "/a", Status: status, RetryAfter: 3, Times: 1})
		got, res, err := post(c, h.URL()+"/a", "body")
		check(t, err)
		if res.StatusCode != status || res.Header.Get("Retry-After") != "3" || !strings.Contains(got, "<html>") {
			t.Error(res.Status, res.Header, got)
		}
	}
	if all := o.all(); len(all) != 0 {
		t.Error("the server got", all)
	}
	h.Rules(faultproxy.Rule{Path: "/b", Status: 502})
	_, res, err := post(c, h.URL()+"/a", "")
	check(t, err)
	if res.StatusCode != http.StatusOK {
		t.Error("a rule for another path gave", res.Status)
	}
}

func TestHTTP_Cache(t *testing.T) {
	t.Parallel()
	h, _, c := before(t, 1)
	h.Rules(faultproxy.Rule{Cache: true})
	for i, want := range []string{"/a answer 1", "/a answer 1", "/private answer 2", "/private answer 3"} {
		path, answer, _ := strings.Cut(want, " ")
		got, _, err := post(c, h.URL()+path, "same")
		check(t, err)
		if got != answer {
			t.Errorf("request %d to %s: %q, want %q", i, path, got, answer)
		}
	}
	if got := h.Counts(); got.Replayed != 1 || got.Paths["/a"] != 2 {
		t.Errorf("%+v", got)
	}
}

// A body is cut where it is said, in both protocols, also of a stream.
func TestHTTP_TruncateBody(t *testing.T) {
	t.Parallel()
	h, o, c := before(t, 1)
	close(o.more)
	for _, http1 := range []bool{false, true} {
		h.Downgrade(http1)
		c.CloseIdleConnections()
		for path, want := range map[string]string{"/a": "answer", "/stream": "first "} {
			h.Rules(faultproxy.Rule{Path: path, TruncateBody: true, After: 6, Times: 1})
			res, err := c.Get(h.URL() + path)
			check(t, err)
			got, err := io.ReadAll(res.Body)
			check(t, res.Body.Close())
			if string(got) != want || err == nil || (res.ProtoMajor == 1) != http1 {
				t.Errorf("%s %s: %q, %v", res.Proto, path, got, err)
			}
			if _, _, err := post(c, h.URL()+path, ""); err != nil {
				t.Error("the one after it:", err)
			}
		}
	}
	if n := h.Counts().Truncated; n != 4 {
		t.Error(n, "are counted")
	}
}

func TestHTTP_Percent(t *testing.T) {
	t.Parallel()
	h, _, c := before(t, 5)
	h.Rules(faultproxy.Rule{Status: 503, Percent: 50})
	for range 40 {
		_, _, err := post(c, h.URL()+"/a", "")
		check(t, err)
	}
	if n := h.Counts().Inserted; n < 8 || n > 32 {
		t.Error("half of forty were", n)
	}
}

// Everything can be said in JSON, and what makes no sense is refused.
func TestControls(t *testing.T) {
	t.Parallel()
	h, _, c := before(t, 1)
	p, err := faultproxy.Listen(t.Context(), "127.0.0.1:0", h.Addr(), 1)
	check(t, err)
	t.Cleanup(func() { check(t, p.Close()) })
	control := httptest.NewServer(faultproxy.Controls{Proxy: p, HTTP: h}.Handler())
	t.Cleanup(control.Close)
	say := func(path, body string, want int) {
		t.Helper()
		got, res, err := post(control.Client(), control.URL+path, body)
		check(t, err)
		if res.StatusCode != want {
			t.Errorf("%s %s: %s %s", path, body, res.Status, got)
		}
	}
	url := "https://" + p.Addr() + "/a"
	say("/next", `[{"kind":"reset"}]`, 200)
	if _, _, err := post(c, url, ""); err == nil {
		t.Error("a connection that is to be reset answered")
	}
	say("/rules", `[{"status":503,"times":1}]`, 200)
	say("/http1", `true`, 200)
	_, res, err := post(c, url, "")
	check(t, err)
	if res.StatusCode != http.StatusServiceUnavailable || res.ProtoMajor != 1 {
		t.Error(res.Status, res.Proto)
	}
	say("/now", `{"kind":"truncate"}`, 200)
	say("/all", `{"kind":"black_hole"}`, 200)
	say("/refuse", `true`, 200)
	say("/clear", ``, 200)
	_, res, err = post(c, url, "")
	check(t, err)
	if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
		t.Error("after /clear:", res.Status, res.Proto)
	}
	res, err = control.Client().Get(control.URL + "/counts")
	check(t, err)
	var counts struct {
		Connections faultproxy.Counts     `json:"connections"`
		Requests    faultproxy.HTTPCounts `json:"requests"`
	}
	check(t, json.NewDecoder(res.Body).Decode(&counts))
	check(t, res.Body.Close())
	if counts.Connections.Happened[faultproxy.Reset] < 1 || counts.Requests.Inserted != 1 {
		t.Errorf("%+v", counts)
	}
	for path, bodies := range map[string][]string{
		"/next":  {`[{"kind":"flood"}]`, `[{"after":-1}]`, `{}`, `[{"colour":1}]`},
		"/all":   {`{"kind":"idle_cut","after":3}`, `{"latency_ms":-1}`},
		"/now":   {`[]`},
		"/rules": {`[{"status":200}]`, `[{"copies":4}]`, `[{"percent":101}]`, `[{"after":1}]`, `[{"truncate_body":true,"drop_answer":true}]`},
		"/http1": {`"yes"`},
	} {
		for _, body := range bodies {
			say(path, body, 400)
		}
	}
	bytesOnly := httptest.NewServer(faultproxy.Controls{Proxy: p}.Handler())
	t.Cleanup(bytesOnly.Close)
	_, res, err = post(bytesOnly.Client(), bytesOnly.URL+"/rules", `[]`)
	check(t, err)
	if res.StatusCode != http.StatusBadRequest {
		t.Error("rules where only bytes are carried:", res.Status)
	}
}
