package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beckon-dev/beckon/server/config"
)

// TestFileRefused: a typing error in the file must not become a default.
func TestFileRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, says string }{
		"unknown key":       {`{"lisen": "127.0.0.1:1"}`, `unknown key "lisen"`},
		"almost a key":      {`{"data": "d", "dta": "e"}`, `unknown key "dta"`},
		"dashes":            {`{"tls-cert": "c"}`, `unknown key "tls-cert"`},
		"flag of a command": {`{"json": true}`, `unknown key "json"`},
		"help":              {`{"help": true}`, `unknown key "help"`},
		"the file itself":   {`{"config": "other"}`, `unknown key "config"`},
		"number for text":   {`{"listen": 8420}`, `key "listen" must be a string`},
		"null":              {`{"data": null}`, `key "data" must be a string`},
		"text for number":   {`{"apns_senders": "many"}`, `key "apns_senders" must be a whole number`},
		"half a number":     {`{"fcm_senders": 1.5}`, `key "fcm_senders" must be a whole number`},
		"text for list":     {`{"apns_topics": "a.b"}`, `key "apns_topics" must be a list of strings`},
		"list of numbers":   {`{"fcm_packages": [1]}`, `key "fcm_packages" must be a list of strings`},
		"level":             {`{"log_level": "loud"}`, `key "log_level" must be debug, info, warn or error`},
		"not JSON":          {"{\n\"data\": }", "not JSON, line 2"},
		"empty":             {"", "not JSON"},
		"two objects":       {`{} {}`, "not JSON"},
		"a list":            {`[]`, "must be a JSON object"},
		"nothing":           {`null`, "must be a JSON object"},
		"too large":         {`{"data": "` + strings.Repeat("x", 1<<20) + `"}`, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "beckon.json")
			write(t, file, c.text)
			_, err := parse(t, "--config", file)
			if !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), file+": "+c.says) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestFileWithoutAName: kong may be handed any reader.
func TestFileWithoutAName(t *testing.T) {
	t.Parallel()
	if _, err := config.File(strings.NewReader(`{"x": 1}`)); !errors.Is(err, config.ErrInvalid) {
		t.Error("the error is", err)
	}
}

func TestLogLevel(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"loud", "info+2", "4", ""} {
		if _, err := parse(t, "--log-level="+bad); err == nil || !strings.Contains(err.Error(), "must be debug, info, warn or error") {
			t.Errorf("%q met %v", bad, err)
		}
	}
	for _, good := range []string{"debug", "info", "warn", "error", "WARN"} {
		if got, err := parse(t, "--log-level", good); err != nil || !strings.EqualFold(got.LogLevel.String(), good) {
			t.Errorf("%q is %v, %v", good, got.LogLevel, err)
		}
	}
}

func FuzzFile(f *testing.F) {
	for _, seed := range []string{`{}`, `{"data":"d"}`, `{"apns_senders":1e99}`, `{"fcm_packages":["a",1]}`, `[`, "\xff", `{"":{}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := config.File(strings.NewReader(text)); err != nil && !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%q met %v", text, err)
		}
	})
}
