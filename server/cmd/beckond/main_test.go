package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/beckon-dev/beckon/server/admin"
)

// asCommand makes the test binary be beckond, so that the real thing runs with
// its own arguments, signals and exit code.
const asCommand = "BECKON_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func beckond(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}

// output runs a command to its end.
func output(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	raw, err := beckond(t, args...).CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(raw), failed.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), 0
}

// TestLife starts a server on a fresh folder, lets the operator's commands find
// it, stops it by a signal and starts it again on the same folder.
func TestLife(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	var server string
	for range 2 {
		link, stop := serve(t, data)
		url, _, _ := strings.Cut(link, "/claim#")
		ready(t, url)
		text, code := output(t, "--data", data, "status")
		var status admin.Status
		if err := json.Unmarshal([]byte(text), &status); err != nil || code != 0 || status.URL != url || status.Claimed {
			t.Errorf("status said %q, %d", text, code)
		}
		if server == "" {
			server = status.ServerID
		}
		if status.ServerID != server {
			t.Error("the same folder is another server")
		}
		var fresh admin.Link
		text, _ = output(t, "--data", data, "claim", "--json")
		if err := json.Unmarshal([]byte(text), &fresh); err != nil || fresh.URL == link || !strings.HasPrefix(fresh.URL, url+"/claim#bk_own_") {
			t.Errorf("claim said %q", text)
		}
		if err := stop(); err != nil {
			t.Error("the server ended with", err)
		}
	}
	if text, code := output(t, "--data", data, "status"); code == 0 || !strings.Contains(text, "is the server running?") {
		t.Errorf("without a server: %q, %d", text, code)
	}
}

func ready(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close() != nil || answer.StatusCode != http.StatusOK {
		t.Error("not ready:", answer.Status)
	}
}

// serve runs the server until stop and returns the link it prints.
func serve(t *testing.T, data string) (link string, stop func() error) {
	t.Helper()
	c := beckond(t, "--data", data, "--listen", "127.0.0.1:0", "--log-level", "error")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "/claim#bk_own_") {
			link = strings.TrimSpace(lines.Text())
			break
		}
	}
	if link == "" {
		t.Fatal("no claim link:", c.Wait())
	}
	return link, func() error {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		for lines.Scan() { // Wait may be called once all is read
		}
		return c.Wait()
	}
}

// TestMistakes: what was typed wrongly exits 2, with the error and a pointer to
// the usage, and not with the usage.
func TestMistakes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "beckon.json")
	if err := os.WriteFile(file, []byte(`{"dta": "x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		text string
	}{
		"plain beyond loopback": {[]string{"--data", t.TempDir(), "--listen", "0.0.0.0:0"}, "--listen"},
		"half of TLS":           {[]string{"--data", t.TempDir(), "--tls-cert", "x"}, "--tls-key"},
		"unknown flag":          {[]string{"--explode"}, "--explode"},
		"unknown command":       {[]string{"explode"}, "explode"},
		"unknown key":           {[]string{"--config", file}, file + `: unknown key "dta"`},
		"no file":               {[]string{"--config", file + ".none"}, "--config: cannot read " + file + ".none: no such file"},
		"level":                 {[]string{"--log-level", "loud"}, "debug, info, warn or error"},
		"limits":                {[]string{"--limits", "none"}, "default"},
	} {
		text, code := output(t, c.args...)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if code != 2 || len(lines) != 2 || !strings.HasPrefix(lines[0], "beckond: ") || !strings.Contains(lines[0], c.text) ||
			lines[1] != "see beckond --help" {
			t.Errorf("%s: %d %q", name, code, text)
		}
	}
}

// TestFailures: what did not work exits 1, with one line that says what to do.
func TestFailures(t *testing.T) {
	t.Parallel()
	nobody := filepath.Join(t.TempDir(), "nobody.sock")
	for name, c := range map[string]struct {
		args []string
		text string
	}{
		"a folder that is none": {[]string{"--data", os.DevNull, "--listen", "127.0.0.1:0"}, "--data"},
		"no server":             {[]string{"--admin-socket", nobody, "status"}, nobody},
	} {
		text, code := output(t, c.args...)
		if code != 1 || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "beckond: ") || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %q", name, code, text)
		}
	}
}

func TestAsked(t *testing.T) {
	t.Parallel()
	if text, code := output(t, "version"); code != 0 || text != "beckond dev\n" {
		t.Errorf("version: %d %q", code, text)
	}
	if text, code := output(t, "--help"); code != 0 || !strings.Contains(text, "--listen") {
		t.Errorf("help: %d %q", code, text)
	}
}
