package config_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/config"
)

// commandLine is how a command embeds the configuration.
type commandLine struct {
	File kong.ConfigFlag `name:"config"`
	config.Config
}

func parse(t *testing.T, args ...string) (config.Config, error) {
	t.Helper()
	var line commandLine
	parser, err := kong.New(&line, config.Options()...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(args)
	return line.Config, err
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default("data"), got); diff != "" {
		t.Error("Default and the flags differ (-Default +flags):\n", diff)
	}
	if got.Socket() != filepath.Join("data", "admin.sock") {
		t.Error("socket", got.Socket())
	}
}

func TestStrength(t *testing.T) {
	file := filepath.Join(t.TempDir(), "beckon.json")
	write(t, file, `{"data": "from-file", "log_level": "debug", "limits": "bench", "apns_topics": ["a.b"], "apns_senders": 7}`)
	t.Setenv("BECKON_DATA", "from-env")
	t.Setenv("BECKON_LIMITS", "default")
	got, err := parse(t, "--config", file, "--data", "from-flag")
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default("from-flag")
	want.LogLevel, want.APNs.Topics, want.APNs.Senders = slog.LevelDebug, []string{"a.b"}, 7
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){
		"no port":            func(c *config.Config) { c.Listen = "127.0.0.1" },
		"plain beyond":       func(c *config.Config) { c.Listen = "0.0.0.0:80" },
		"plain everywhere":   func(c *config.Config) { c.Listen = ":80" },
		"half of TLS":        func(c *config.Config) { c.TLSCert = "x" },
		"url without a host": func(c *config.Config) { c.PublicURL = "beckon" },
		"url with a path":    func(c *config.Config) { c.PublicURL = "https://h/p" },
		"url with a user":    func(c *config.Config) { c.PublicURL = "https://u@h" },
		"url plain beyond":   func(c *config.Config) { c.PublicURL = "http://example.com" },
		"no data":            func(c *config.Config) { c.Data = "" },
		"unknown limits":     func(c *config.Config) { c.Limits = "none" },
		"key without id": func(c *config.Config) {
			c.APNs = config.APNs{KeyFile: "k", TeamID: "t", App: "a", Topics: []string{"x"}}
		},
		"key without topic": func(c *config.Config) { c.APNs = config.APNs{KeyFile: "k", KeyID: "i", TeamID: "t", App: "a"} },
		"key without program": func(c *config.Config) {
			c.APNs = config.APNs{KeyFile: "k", KeyID: "i", TeamID: "t", Topics: []string{"x"}}
		},
		"account without package": func(c *config.Config) { c.FCM = config.FCM{AccountFile: "f", App: "a"} },
		"account without program": func(c *config.Config) { c.FCM = config.FCM{AccountFile: "f", Packages: []string{"x"}} },
		"half an emulator": func(c *config.Config) {
			c.FCM = config.FCM{AccountFile: "f", App: "a", Packages: []string{"x"}, Endpoint: "https://h/v1"}
		},
		"too many senders": func(c *config.Config) {
			c.FCM = config.FCM{AccountFile: "f", App: "a", Packages: []string{"x"}, Senders: 1001}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config.Default("d")
			change(&c)
			if err := c.Validate(); !errors.Is(err, config.ErrInvalid) {
				t.Errorf("Validate = %v", err)
			}
		})
	}
	for name, change := range map[string]func(*config.Config){
		"default":    func(*config.Config) {},
		"any port":   func(c *config.Config) { c.Listen = "localhost:0" },
		"v6":         func(c *config.Config) { c.Listen = "[::1]:0" },
		"TLS beyond": func(c *config.Config) { c.Listen, c.TLSCert, c.TLSKey = ":443", "c", "k" },
		"both vendors": func(c *config.Config) {
			c.APNs = config.APNs{KeyFile: "k", KeyID: "i", TeamID: "t", App: "a", Topics: []string{"x"}}
			c.FCM = config.FCM{AccountFile: "f", App: "a", Packages: []string{"x"}}
		},
		"https": func(c *config.Config) { c.PublicURL = "https://example.com" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config.Default("d")
			change(&c)
			if err := c.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestParserValidates(t *testing.T) {
	t.Parallel()
	if _, err := parse(t, "--listen", "0.0.0.0:80"); err == nil {
		t.Error("an unsafe address was taken")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
