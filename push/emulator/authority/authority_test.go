package authority_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/authority"
)

// write puts a self-signed certificate, of a CA or not, and its key into files.
func write(t *testing.T, isCA bool) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca.key")
	for name, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: der},
		keyFile:  {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// greet does a TLS handshake of a client that trusts trusted with a server of a.
func greet(t *testing.T, a *authority.Authority, trusted []byte, name string) (string, error) {
	t.Helper()
	config, err := a.ServerTLS([]string{"h2"}, "vendor.example")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if nc, err := l.Accept(); err == nil {
			_ = tls.Server(nc, config).HandshakeContext(t.Context())
			_ = nc.Close()
		}
	}()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := tls.Client(nc, &tls.Config{
		RootCAs: pool, ServerName: name, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
	})
	err = client.HandshakeContext(t.Context())
	_ = nc.Close()
	_ = l.Close()
	<-done
	return client.ConnectionState().NegotiatedProtocol, err
}

func TestAuthority_IsTrusted(t *testing.T) {
	t.Parallel()
	made, err := authority.New("test")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := authority.Load(write(t, true))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []*authority.Authority{made, loaded} {
		for _, name := range []string{"localhost", "127.0.0.1", "vendor.example"} {
			if protocol, err := greet(t, a, a.PEM(), name); err != nil || protocol != "h2" {
				t.Errorf("%s: %q, %v", name, protocol, err)
			}
		}
		if _, err := greet(t, a, a.PEM(), "other.example"); err == nil {
			t.Error("a name that was not asked for is trusted")
		}
	}
	if _, err := greet(t, made, loaded.PEM(), "localhost"); err == nil {
		t.Error("another authority's certificate is trusted")
	}
}

func TestLoad_Refuses(t *testing.T) {
	t.Parallel()
	if _, err := authority.Load(write(t, false)); !errors.Is(err, authority.ErrNotCA) {
		t.Errorf("not a CA: %v", err)
	}
	if _, err := authority.Load("nowhere.pem", "nowhere.key"); err == nil {
		t.Error("files that are not there were loaded")
	}
}
