package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
)

// folder is what outlives the process: the vendors' keys and addresses, so that a
// server that runs on need not be told anything new, and the phones.
type folder string

func (f folder) file(name string) string { return filepath.Join(string(f), name) }

// The names the team's key is registered under.
const (
	keyID  = "EMULATED01"
	teamID = "EMULATOR01"
)

// Names of files that the server reads.
const (
	configName   = "server.json"
	providerName = "provider.p8"
	accountName  = "service-account.json"
)

// settings is server.json: a configuration file of beckond.
type settings struct {
	KeyFile        string   `json:"apns_key_file"`
	KeyID          string   `json:"apns_key_id"`
	TeamID         string   `json:"apns_team_id"`
	App            string   `json:"apns_app"`
	Topics         []string `json:"apns_topics"`
	SandboxHost    string   `json:"apns_sandbox_host"`
	ProductionHost string   `json:"apns_production_host"`
	CAFile         string   `json:"apns_ca_file"`

	FCMAccountFile string   `json:"fcm_account_file"`
	FCMProject     string   `json:"fcm_project"`
	FCMApp         string   `json:"fcm_app"`
	FCMPackages    []string `json:"fcm_packages"`
	FCMEndpoint    string   `json:"fcm_endpoint"`
	FCMTokenURI    string   `json:"fcm_token_uri"`
	FCMCAFile      string   `json:"fcm_ca_file"`
}

func openFolder(dir string) (folder, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(filepath.Join(abs, "phones"), 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("state folder: %w", err)
	}
	return folder(abs), nil
}

// settings reads what an earlier run wrote; an empty one if there was none.
func (f folder) settings() (settings, error) {
	var s settings
	raw, err := os.ReadFile(f.file(configName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	return s, err
}

// address is the listen address of an earlier run; "" for none.
func address(host string) string {
	u, err := url.Parse(host)
	if err != nil {
		return ""
	}
	return u.Host
}

func (f folder) write(s settings) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return f.put(configName, append(raw, '\n'))
}

// put writes a file that is either there whole or not at all.
func (f folder) put(name string, data []byte) error {
	next := f.file("." + name + ".new")
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, f.file(name))
}

func (f folder) has(name string) bool {
	_, err := os.Stat(f.file(name))
	return err == nil
}

// authority makes sure that there is a CA for the emulators to sign with.
func (f folder) authority() (certFile, keyFile string, err error) {
	certFile, keyFile = f.file("ca.pem"), f.file("ca-key.pem")
	if f.has("ca.pem") && f.has("ca-key.pem") {
		return certFile, keyFile, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "push emulator CA"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err == nil {
		err = f.put("ca-key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	if err == nil {
		err = f.put("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	}
	return certFile, keyFile, err
}

// providerKey makes sure that there is a key file for the server and gives its
// public side to register.
func (f folder) providerKey() (apns.Key, error) {
	const name = providerName
	if !f.has(name) {
		key, p8, err := apns.NewProviderKey(keyID, teamID)
		if err != nil {
			return apns.Key{}, err
		}
		return key, f.put(name, p8)
	}
	raw, err := os.ReadFile(f.file(name))
	if err != nil {
		return apns.Key{}, err
	}
	private, err := parsePEM[*ecdsa.PrivateKey](name, raw)
	if err != nil {
		return apns.Key{}, err
	}
	return apns.Key{ID: keyID, TeamID: teamID, Public: &private.PublicKey}, nil
}

func parsePEM[K any](name string, raw []byte) (key K, err error) {
	block, _ := pem.Decode(raw)
	if block == nil {
		return key, fmt.Errorf("%s: no PEM block", name)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return key, fmt.Errorf("%s: %w", name, err)
	}
	key, ok := parsed.(K)
	if !ok {
		return key, fmt.Errorf("%s: not a key of the kind this vendor has", name)
	}
	return key, nil
}

// serviceAccount makes sure that there is an account for the server and that the
// emulator knows it. The file is written anew each time, as it names the token
// endpoint.
func (f folder) serviceAccount(s *fcm.Server) error {
	account, key, err := f.knownAccount()
	if err != nil {
		return err
	}
	if key == nil {
		if account, key, err = fcm.NewServiceAccount(fcm.DefaultProject); err != nil {
			return err
		}
	}
	if err := s.RegisterAccount(account); err != nil {
		return err
	}
	raw, err := s.Credentials(account, key)
	if err != nil {
		return err
	}
	return f.put(accountName, raw)
}

// knownAccount reads the account of an earlier run; no key if there was none.
func (f folder) knownAccount() (fcm.ServiceAccount, *rsa.PrivateKey, error) {
	var file struct {
		Email   string `json:"client_email"`
		KeyID   string `json:"private_key_id"`
		Project string `json:"project_id"`
		Key     string `json:"private_key"`
	}
	raw, err := os.ReadFile(f.file(accountName))
	if errors.Is(err, fs.ErrNotExist) {
		return fcm.ServiceAccount{}, nil, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		return fcm.ServiceAccount{}, nil, err
	}
	key, err := parsePEM[*rsa.PrivateKey](accountName, []byte(file.Key))
	if err != nil {
		return fcm.ServiceAccount{}, nil, err
	}
	return fcm.ServiceAccount{Email: file.Email, KeyID: file.KeyID, Project: file.Project, Public: &key.PublicKey}, key, nil
}

// deviceToken is the address that the vendor gave to a phone; it stays the same.
func (f folder) deviceToken(m model) (string, error) {
	if raw, err := os.ReadFile(f.addressFile(m)); err == nil {
		return string(raw), nil
	}
	token, err := newAddress(m.vendor)
	if err != nil {
		return "", err
	}
	return token, f.keepAddress(m, token)
}

func (f folder) addressFile(m model) string {
	name := m.name + ".token"
	if m.vendor == phone.FCM {
		name = m.name + ".fcm-token"
	}
	return f.file(filepath.Join("phones", name))
}

func (f folder) keepAddress(m model, address string) error {
	return os.WriteFile(f.addressFile(m), []byte(address), 0o600)
}

func (f folder) forgetAddress(m model) error { return os.Remove(f.addressFile(m)) }

// newAddress is a token as the vendor makes them.
func newAddress(v phone.Vendor) (string, error) {
	if v == phone.FCM {
		return fcm.NewToken(), nil
	}
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return "", err
	}
	return hex.EncodeToString(raw), nil
}
