package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
)

// Config is how a server is to run. The tags are read by kong: a flag, an
// environment variable and a key of the file for each field.
type Config struct {
	// Listen is the address of the one port; default 127.0.0.1:8420. Beyond
	// loopback it needs TLS.
	Listen string `default:"127.0.0.1:8420" env:"BECKON_LISTEN" help:"Address to listen on; beyond loopback it needs TLS."`
	// TLSCert and TLSKey are PEM files; default none, which is plain HTTP.
	TLSCert string `env:"BECKON_TLS_CERT" help:"PEM file with the certificate chain." name:"tls-cert"`
	TLSKey  string `env:"BECKON_TLS_KEY"  help:"PEM file with the certificate's key." name:"tls-key"`
	// Data is the folder of everything that lasts; default ./data. Its master
	// key file must be backed up apart from it.
	Data string `default:"data" env:"BECKON_DATA" help:"Folder for everything that lasts."`
	// Journal is the folder of what a restore must not undo; default Data with
	// ".journal" behind it. It must not be part of any backup of Data.
	Journal string `env:"BECKON_JOURNAL" help:"Folder for what a restore must not undo; never part of a backup; default the data folder's name with .journal behind it."`
	// PublicURL is how clients reach the server; default the address it listens
	// on. It stands in links and decides which Host is answered.
	PublicURL string `env:"BECKON_PUBLIC_URL" help:"URL by which clients reach the server." name:"public-url"`
	// Limits names the set of working limits; default "default". "bench" puts
	// rates out of the way, for load tests.
	Limits string `default:"default" enum:"default,bench" env:"BECKON_LIMITS" help:"Set of limits: default, or bench for load tests."`
	// LogLevel is the least level that is logged; default info.
	LogLevel slog.Level `default:"info" env:"BECKON_LOG_LEVEL" help:"debug, info, warn or error."`
	// AdminSocket is the operator's Unix socket; default admin.sock in Data.
	AdminSocket string `env:"BECKON_ADMIN_SOCKET" help:"Unix socket of the operator; default admin.sock in the data folder."`

	APNs APNs `embed:"" prefix:"apns-"`
	FCM  FCM  `embed:"" prefix:"fcm-"`
}

// APNs is the way to Apple's push service. Without a key file there is none.
type APNs struct {
	// KeyFile is the .p8 file as Apple handed it out; default none.
	KeyFile string `env:"BECKON_APNS_KEY_FILE" help:"Provider key (.p8) for Apple's push service; without it iPhones are not called."`
	// KeyID and TeamID name the key at Apple; both go with KeyFile.
	KeyID  string `env:"BECKON_APNS_KEY_ID"  help:"Id of the provider key."      name:"key-id"`
	TeamID string `env:"BECKON_APNS_TEAM_ID" help:"Team the provider key is of." name:"team-id"`
	// App is the id that installations register under; default "beckon".
	App string `default:"beckon" env:"BECKON_APNS_APP" help:"Id of the client program."`
	// Topics are the program's bundle ids; at least one goes with KeyFile.
	Topics []string `env:"BECKON_APNS_TOPICS" help:"Bundle ids of the client program."`
	// SandboxHost and ProductionHost replace Apple's hosts, for emulators;
	// default Apple's own.
	SandboxHost    string `env:"BECKON_APNS_SANDBOX_HOST"    help:"Base URL in place of Apple's development host."`
	ProductionHost string `env:"BECKON_APNS_PRODUCTION_HOST" help:"Base URL in place of Apple's production host."`
	// Senders bounds the pushes on their way at once; default 0, which is
	// 256. A distant vendor takes Senders divided by its delay a second.
	Senders int `env:"BECKON_APNS_SENDERS" help:"Pushes on their way at once; 0 is the built-in number."`
	// CAFile replaces the system's roots for these hosts; default none.
	CAFile string `env:"BECKON_APNS_CA_FILE" help:"PEM file with the only roots to trust for these hosts." name:"ca-file"`
}

// Enabled reports whether iPhones can be called.
func (a APNs) Enabled() bool { return a.KeyFile != "" }

// FCM is the way to Firebase Cloud Messaging. Without an account file there is
// none.
type FCM struct {
	// AccountFile is the service account's key file as Google handed it out;
	// default none.
	AccountFile string `env:"BECKON_FCM_ACCOUNT_FILE" help:"Service account key (JSON) for Firebase; without it Android phones are not called."`
	// Project is the Firebase project; default the one in AccountFile.
	Project string `env:"BECKON_FCM_PROJECT" help:"Firebase project; default the one of the key file."`
	// App is the id that installations register under; default "beckon". It may
	// be the same as that of the iPhones.
	App string `default:"beckon" env:"BECKON_FCM_APP" help:"Id of the client program."`
	// Packages are the program's package names; at least one goes with
	// AccountFile.
	Packages []string `env:"BECKON_FCM_PACKAGES" help:"Android package names of the client program."`
	// Endpoint and TokenURI replace Google's, for emulators; default Google's
	// own. They go together: a real token must not reach an emulator.
	Endpoint string `env:"BECKON_FCM_ENDPOINT"  help:"Base URL in place of Google's, with the version."`
	TokenURI string `env:"BECKON_FCM_TOKEN_URI" help:"Token endpoint in place of the key file's."       name:"token-uri"`
	// Senders bounds the pushes on their way at once; default 0, which is 256.
	Senders int `env:"BECKON_FCM_SENDERS" help:"Pushes on their way at once; 0 is the built-in number."`
	// CAFile replaces the system's roots for these hosts; default none.
	CAFile string `env:"BECKON_FCM_CA_FILE" help:"PEM file with the only roots to trust for these hosts." name:"ca-file"`
}

// Enabled reports whether Android phones can be called.
func (f FCM) Enabled() bool { return f.AccountFile != "" }

// ErrInvalid answers a configuration that could not work or would be unsafe.
var ErrInvalid = errors.New("configuration")

// Default is a configuration for a fresh folder on this machine, as the flags
// would give it.
func Default(data string) Config {
	return Config{
		Listen: "127.0.0.1:8420", Data: data, Limits: "default", LogLevel: slog.LevelInfo,
		APNs: APNs{App: "beckon"}, FCM: FCM{App: "beckon"},
	}
}

// Socket is the path of the admin socket.
func (c Config) Socket() string {
	if c.AdminSocket != "" {
		return c.AdminSocket
	}
	return filepath.Join(c.Data, "admin.sock")
}

// JournalFolder is the folder of the journal.
func (c Config) JournalFolder() string {
	if c.Journal != "" {
		return c.Journal
	}
	return filepath.Clean(c.Data) + ".journal"
}

// TLS reports whether the port speaks TLS.
func (c Config) TLS() bool { return c.TLSCert != "" }

// Validate is called by kong and by whoever builds a Config by hand. The error
// is an ErrInvalid that names the flag.
func (c Config) Validate() error {
	for _, check := range []func() error{c.checkListen, c.checkURL, c.checkData, c.APNs.check, c.FCM.check} {
		if err := check(); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return nil
}

func (c Config) checkListen() error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return errors.New("--listen must be host:port")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("--tls-cert and --tls-key go together")
	}
	if !c.TLS() && !loopback(host) {
		return errors.New("--listen beyond loopback needs --tls-cert and --tls-key")
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

func (c Config) checkURL() error {
	if c.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || (u.Path != "" && u.Path != "/") ||
		u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return errors.New("--public-url must be a scheme and a host")
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return errors.New("--public-url beyond loopback must be https")
	}
	return nil
}

func (c Config) checkData() error {
	if c.Data == "" {
		return errors.New("--data must name a folder")
	}
	if c.Limits != "default" && c.Limits != "bench" {
		return errors.New("--limits must be default or bench")
	}
	return nil
}

// maxSenders is how many streams Apple admits on the one connection
// ("Sending notification requests to APNs").
const maxSenders = 1000

func (a APNs) check() error {
	if !a.Enabled() {
		return nil
	}
	switch {
	case a.KeyID == "" || a.TeamID == "":
		return errors.New("--apns-key-id and --apns-team-id go with --apns-key-file")
	case a.App == "":
		return errors.New("--apns-app must name the client program")
	case len(a.Topics) == 0 || slices.Contains(a.Topics, ""):
		return errors.New("--apns-topics must name a bundle id")
	case a.Senders < 0 || a.Senders > maxSenders:
		return fmt.Errorf("--apns-senders must be 0 to %d", maxSenders)
	}
	return nil
}

func (f FCM) check() error {
	if !f.Enabled() {
		return nil
	}
	switch {
	case f.App == "":
		return errors.New("--fcm-app must name the client program")
	case len(f.Packages) == 0 || slices.Contains(f.Packages, ""):
		return errors.New("--fcm-packages must name a package")
	case (f.Endpoint == "") != (f.TokenURI == ""):
		return errors.New("--fcm-endpoint and --fcm-token-uri go together")
	case f.Senders < 0 || f.Senders > maxSenders:
		return fmt.Errorf("--fcm-senders must be 0 to %d", maxSenders)
	}
	return nil
}
