package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"time"
)

// ErrRefused: the server did not do what the operator asked; the text says why.
var ErrRefused = errors.New("refused")

// ErrNobody: no server listens on the socket.
var ErrNobody = errors.New("nobody there")

const answerBytes = 64 << 10

// Client is the operator's end of the socket.
type Client struct {
	http *http.Client
	path string
}

// Dial makes a client for the socket of a running server; it connects with the
// first call. Close it.
func Dial(path string) *Client {
	return &Client{path: path, http: &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "unix", path)
			},
		},
	}}
}

// Close ends the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Claim makes a new claim link; empty means the only account. Errors:
// ErrRefused, those of the connection.
func (c *Client) Claim(ctx context.Context, name string) (Link, error) {
	return post(ctx, c, pathClaim, name)
}

// Reset makes a link into an account that has an owner. Errors: ErrRefused,
// those of the connection.
func (c *Client) Reset(ctx context.Context, name string) (Link, error) {
	return post(ctx, c, pathReset, name)
}

// AddAccount makes an account for one more person. Errors: ErrRefused, those of
// the connection.
func (c *Client) AddAccount(ctx context.Context) (Link, error) { return post(ctx, c, pathAccount, "") }

// Status asks how the server is. Errors: ErrRefused, those of the connection.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	err := c.call(ctx, http.MethodGet, pathStatus, nil, &status)
	return status, err
}

// Backup makes a backup in a folder of the server's machine, named by its whole
// path. It takes as long as it takes. Errors: ErrRefused, ErrNobody, those of
// the connection.
func (c *Client) Backup(ctx context.Context, to string) (Backup, error) {
	patient := *c
	patient.http = &http.Client{Transport: c.http.Transport}
	var made Backup
	body, err := json.Marshal(place{To: to})
	if err == nil {
		err = patient.call(ctx, http.MethodPost, pathBackup, body, &made)
	}
	return made, err
}

func post(ctx context.Context, c *Client, path, name string) (Link, error) {
	body, err := json.Marshal(account{Account: name})
	if err != nil {
		return Link{}, err
	}
	var link Link
	err = c.call(ctx, http.MethodPost, path, body, &link)
	return link, err
}

func (c *Client) call(ctx context.Context, method, path string, body []byte, into any) (err error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://admin"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return c.unreachable(err)
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, answerBytes))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		var p problem
		_ = json.Unmarshal(raw, &p) // an answer without a reason still is a refusal
		return fmt.Errorf("%w: %s", ErrRefused, p.Error)
	}
	return json.Unmarshal(raw, into)
}

// unreachable says where the server was looked for and what to do.
func (c *Client) unreachable(err error) error {
	at := c.path
	if abs, e := filepath.Abs(at); e == nil {
		at = abs
	}
	var text string
	cause := err
	switch {
	case errors.Is(err, fs.ErrNotExist):
		cause = errors.Join(ErrNobody, err)
		text = "there is no socket " + at + "; start it with 'beckond serve', or say where it is with --data or --admin-socket"
	case errors.Is(err, syscall.ECONNREFUSED):
		cause = errors.Join(ErrNobody, err)
		text = "nobody answers at the socket " + at + "; start it with 'beckond serve'"
	case errors.Is(err, fs.ErrPermission):
		return &unreachableError{text: "the socket " + at + " is not yours; run this as the user of the server", cause: err}
	default:
		text = "the socket " + at + " does not answer: " + err.Error()
	}
	return &unreachableError{text: "is the server running? " + text, cause: cause}
}

// unreachableError has the words of its own and the cause for errors.Is.
type unreachableError struct {
	text  string
	cause error
}

func (e *unreachableError) Error() string { return e.text }
func (e *unreachableError) Unwrap() error { return e.cause }
