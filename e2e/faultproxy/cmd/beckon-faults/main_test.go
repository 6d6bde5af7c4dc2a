package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The command says where it is, does what it is told and ends with its input.
func TestRun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") }))
	defer server.Close()
	in, input := io.Pipe()
	output, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		o := options{server: server.URL, listen: "127.0.0.1:0", control: "127.0.0.1:0", seed: 1}
		done <- errors.Join(o.run(t.Context(), in, out), out.Close())
	}()
	line, err := bufio.NewReader(output).ReadBytes('\n')
	check(t, err)
	var at ready
	check(t, json.Unmarshal(line, &at))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, body := range map[string]string{"/http1": "true", "/rules": `[{"status":429,"times":1}]`} {
		res, err := client.Post(at.Control+path, "application/json", strings.NewReader(body))
		check(t, err)
		check(t, res.Body.Close())
	}
	for _, want := range []int{429, 200} {
		res, err := client.Get(at.Server)
		check(t, err)
		check(t, res.Body.Close())
		if res.StatusCode != want {
			t.Errorf("answered with %d, want %d", res.StatusCode, want)
		}
	}
	check(t, input.Close())
	check(t, <-done)
}

func TestRun_Refused(t *testing.T) {
	dir := t.TempDir()
	for name, o := range map[string]options{
		"no server":         {},
		"TLS without a CA":  {server: "http://127.0.0.1:1", tls: true},
		"a CA file of none": {server: "https://127.0.0.1:1", serverCA: filepath.Join(dir, "none")},
	} {
		if err := o.run(t.Context(), strings.NewReader(""), io.Discard); err == nil {
			t.Error(name, "is taken")
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
