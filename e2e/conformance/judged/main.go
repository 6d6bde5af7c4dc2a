// Command judged serves the public ConformanceService through Beckon's own
// HTTP server, mux and interceptors, for the runner connectconformance. It reads
// one request from its input, answers where it listens, and serves until it is
// told to end.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/protobuf/proto"

	conformancev1 "github.com/beckon-dev/beckon/e2e/conformance/gen/connectrpc/conformance/v1"
	"github.com/beckon-dev/beckon/e2e/conformance/gen/connectrpc/conformance/v1/conformancev1connect"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/rpc"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "judged:", err)
		os.Exit(1) //nolint:gocritic // the process ends with it
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	wanted, err := read(in)
	if err != nil {
		return err
	}
	srv := rpc.NewBare(slog.New(slog.DiscardHandler))
	conformancev1connect.RegisterConformanceServiceHandler(srv, service{})
	mux := http.NewServeMux()
	rpc.Mount(mux, srv)
	web := server.NewHTTP(ctx, wanted.GetUseTls(), http.MaxBytesHandler(mux, rpc.BodyBytes))
	port, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	at := &conformancev1.ServerCompatResponse{Host: "127.0.0.1", Port: uint32(port.Addr().(*net.TCPAddr).Port)}
	if wanted.GetUseTls() {
		if err := secure(web.TLSConfig, wanted); err != nil {
			return err
		}
		at.PemCert = wanted.GetServerCreds().GetCert()
	}
	served := make(chan error, 1)
	go func() {
		if wanted.GetUseTls() {
			served <- web.ServeTLS(port, "", "")
		} else {
			served <- web.Serve(port)
		}
	}()
	if err := write(out, at); err != nil {
		return err
	}
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	if err := web.Close(); err != nil {
		return err
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// secure uses the certificate that the runner gives, and wants one of clients
// where it says so.
func secure(cfg *tls.Config, wanted *conformancev1.ServerCompatRequest) error {
	cert, err := tls.X509KeyPair(wanted.GetServerCreds().GetCert(), wanted.GetServerCreds().GetKey())
	if err != nil {
		return err
	}
	cfg.Certificates = []tls.Certificate{cert}
	if pem := wanted.GetClientTlsCert(); len(pem) > 0 {
		cfg.ClientCAs, cfg.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
			return errors.New("the certificate for clients cannot be read")
		}
	}
	return nil
}

// maxRequest is more than a request with two certificates needs.
const maxRequest = 1 << 20

// read takes one message, four bytes of length before it.
func read(from io.Reader) (*conformancev1.ServerCompatRequest, error) {
	var size uint32
	if err := binary.Read(from, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	if size > maxRequest {
		return nil, fmt.Errorf("a request of %d bytes", size)
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(from, raw); err != nil {
		return nil, err
	}
	m := new(conformancev1.ServerCompatRequest)
	return m, proto.Unmarshal(raw, m)
}

func write(to io.Writer, m proto.Message) error {
	raw, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	_, err = to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...))
	return err
}
