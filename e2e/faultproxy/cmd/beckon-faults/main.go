// Command beckon-faults is a bad network between a client and a server, for a
// test runner in any language. It prints one line of JSON with the URL that
// clients use, the URL of its control port and the file of certificates they
// have to trust, and runs until its input ends or it is told to stop.
//
//	beckon-faults --server http://127.0.0.1:8420 --tls --ca faults.pem --seed 7
//	curl -d '{"kind":"half_open"}' http://127.0.0.1:PORT/now
//
// What can be said at the control port stands at faultproxy.Controls.
package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/beckon-dev/beckon/e2e/faultproxy"
)

func main() {
	var o options
	flag.StringVar(&o.server, "server", "", "URL of the server behind")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "where clients connect")
	flag.StringVar(&o.control, "control", "127.0.0.1:0", "where faults are said")
	flag.BoolVar(&o.raw, "raw", false, "carry bytes only: requests are not looked into, TLS stays the server's")
	flag.BoolVar(&o.tls, "tls", false, "end TLS here")
	flag.StringVar(&o.ca, "ca", "", "with --tls, the file to write the certificate to that clients trust")
	flag.StringVar(&o.serverCA, "server-ca", "", "certificates to trust the server by")
	flag.Uint64Var(&o.seed, "seed", 1, "what is random comes from it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "beckon-faults:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

type options struct {
	server, listen, control, ca, serverCA string
	raw, tls                              bool
	seed                                  uint64
}

// ready is the line that says how it is reached.
type ready struct {
	Server  string `json:"server"`
	Control string `json:"control"`
	CA      string `json:"ca,omitempty"`
}

// run serves until ctx or the input ends.
func (o options) run(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	server, err := url.Parse(o.server)
	if err != nil || server.Host == "" {
		return errors.New("--server is no URL")
	}
	scheme, behind := server.Scheme, server.Host
	var requests *faultproxy.HTTP
	if !o.raw {
		if requests, err = o.requests(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, requests.Close()) }()
		behind = requests.Addr()
		scheme = "http"
		if o.tls {
			scheme = "https"
		}
	}
	proxy, err := faultproxy.Listen(ctx, o.listen, behind, o.seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	port, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.control)
	if err != nil {
		return err
	}
	control := &http.Server{Handler: faultproxy.Controls{Proxy: proxy, HTTP: requests}.Handler(), ReadHeaderTimeout: 5 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = control.Serve(port) })
	defer serving.Wait()
	defer func() { err = errors.Join(err, control.Close()) }()
	said := ready{Server: scheme + "://" + proxy.Addr(), Control: "http://" + port.Addr().String(), CA: o.ca}
	if err := json.NewEncoder(out).Encode(said); err != nil {
		return err
	}
	wait(ctx, in)
	return nil
}

// wait returns when ctx or the input ends. The goroutine that reads the input
// ends with it, or with the process.
func wait(ctx context.Context, in io.Reader) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, in)
	}()
	select {
	case <-ctx.Done():
	case <-ended:
	}
}

// requests is the part that looks into requests.
func (o options) requests(ctx context.Context) (*faultproxy.HTTP, error) {
	cfg := faultproxy.HTTPConfig{Server: o.server, Seed: o.seed}
	if o.serverCA != "" {
		data, err := os.ReadFile(o.serverCA)
		if err != nil {
			return nil, err
		}
		cfg.Roots = x509.NewCertPool()
		if !cfg.Roots.AppendCertsFromPEM(data) {
			return nil, errors.New("no certificate in " + o.serverCA)
		}
	}
	if o.tls {
		var chain []byte
		var err error
		if cfg.Certificate, chain, err = faultproxy.NewCertificate(); err != nil {
			return nil, err
		}
		if o.ca == "" {
			return nil, errors.New("--tls needs --ca, where clients find what to trust")
		}
		if err := os.WriteFile(o.ca, chain, 0o600); err != nil {
			return nil, err
		}
	}
	return faultproxy.ListenHTTP(ctx, "127.0.0.1:0", cfg)
}
