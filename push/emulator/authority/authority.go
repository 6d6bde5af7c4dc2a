// Package authority makes the certificates of the vendor emulators: a certificate
// authority for a test or a demo, and a server certificate signed by it.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// Authority signs server certificates.
type Authority struct {
	cert *x509.Certificate
	key  any
}

// ErrNotCA answers a certificate that may not sign others.
var ErrNotCA = errors.New("authority: the certificate is not of a CA")

// New makes an authority that lives in memory only.
func New(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(name)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{cert, key}, nil
}

// Load reads one from PEM files, so that a sender in another process can be
// configured with it before the emulator starts. The error is ErrNotCA, or says
// what could not be read.
func Load(certFile, keyFile string) (*Authority, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("authority: load: %w", err)
	}
	if !pair.Leaf.IsCA {
		return nil, ErrNotCA
	}
	return &Authority{pair.Leaf, pair.PrivateKey}, nil
}

// PEM returns the certificate that a client has to trust.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// ServerTLS issues a server certificate for loopback and the names, which are for
// clients whose host cannot be configured and that run in a network of their own
// with the vendor's names mapped to loopback. protocols are offered by ALPN.
func (a *Authority) ServerTLS(protocols []string, names ...string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate("emulator")
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	template.DNSNames = append([]string{"localhost"}, names...)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("authority: issue the server certificate: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		NextProtos:   slices.Clone(protocols),
		MinVersion:   tls.VersionTLS12,
	}, nil
}

// certificate is valid by the machine's clock, not the emulator's: the sender's
// TLS library does not know about a clock that tests set.
func certificate(name string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		panic("crypto/rand never fails: " + err.Error())
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-24 * time.Hour),
		NotAfter:     now.Add(10 * 365 * 24 * time.Hour),
	}
}
