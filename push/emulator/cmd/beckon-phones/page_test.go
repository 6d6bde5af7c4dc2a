package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// visit makes a request as a browser does.
func (p *program) visit(method, path, origin, body string) (*http.Response, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+p.control+path, strings.NewReader(body))
	check(p.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	check(p.t, err)
	text, err := io.ReadAll(res.Body)
	check(p.t, err)
	check(p.t, res.Body.Close())
	return res, string(text)
}

// The page is whole by itself, may not be framed, and puts text in as text.
func TestPage_NeedsNobodyElse(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--phones", "phone")
	for path, kind := range map[string]string{
		"/": "text/html", "/page/page.css": "text/css", "/page/screen.css": "text/css", "/page/api.js": "text/javascript",
		"/page/page.js": "text/javascript", "/page/phone.js": "text/javascript", "/page/card.js": "text/javascript",
		"/page/controls.js": "text/javascript", "/page/faults.js": "text/javascript", "/page/log.js": "text/javascript",
	} {
		res, text := p.visit(http.MethodGet, path, "", "")
		if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), kind) {
			t.Errorf("%s: %s, %s", path, res.Status, res.Header.Get("Content-Type"))
		}
		policy := res.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: policy %q lacks %q", path, policy, want)
			}
		}
		if bad := regexp.MustCompile(`https?://|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|\son\w+=`).FindString(text); bad != "" {
			t.Errorf("%s has %q", path, bad)
		}
	}
	if res, _ := p.visit(http.MethodGet, "/page/", "", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("a list of the files: %s", res.Status)
	}
}

func TestPage_OnlyItsOwnOriginMayTap(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--phones", "phone")
	for origin, want := range map[string]int{
		"http://" + p.control:           http.StatusOK,
		"":                              http.StatusOK,
		"https://" + p.control:          http.StatusForbidden,
		"http://127.0.0.1:1":            http.StatusForbidden,
		"http://localhost":              http.StatusForbidden,
		"https://example.com":           http.StatusForbidden,
		"http://" + p.control + ".evil": http.StatusForbidden,
		"null":                          http.StatusForbidden,
	} {
		if res, text := p.visit(http.MethodPost, "/phones/phone/auto", origin, `{"action":"none"}`); res.StatusCode != want {
			t.Errorf("from %q: %s %s, want %d", origin, res.Status, text, want)
		}
	}
}
