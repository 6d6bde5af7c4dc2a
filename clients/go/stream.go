package beckon

import (
	"context"
	"errors"
	"io"

	"connectrpc.com/connect/v2"
)

// errRenewed ends a stream whose token was refused while there is another one
// now: open it again.
var errRenewed = errors.New("beckon: the credential was renewed")

// stream is one server stream with the caller's credential. It is not repeated:
// who reads it knows where to go on.
type stream struct {
	connect.ClientStream

	ctx   context.Context
	creds credentials
	token string
}

func (c caller) open(ctx context.Context, spec connect.Spec, next connect.ClientFunc) (connect.ClientStream, error) {
	token, err := c.creds.token(ctx)
	if err != nil {
		return nil, errorOf(err)
	}
	ctx, info := connect.NewClientContext(ctx)
	if token != "" {
		info.RequestHeader().Set("Authorization", "Bearer "+token)
	}
	s, err := next(ctx, spec)
	if err != nil {
		return nil, explain(err)
	}
	return &stream{ClientStream: s, ctx: ctx, creds: c.creds, token: token}, nil
}

// Send gives no error where the stream was refused before its request was read:
// the reason is what Receive gives.
func (s *stream) Send(msg any) error {
	if err := s.ClientStream.Send(msg); err != nil && !errors.Is(err, io.EOF) {
		return explain(err)
	}
	return nil
}

// Receive gives io.EOF at a clean end; every other error is an [*Error].
func (s *stream) Receive(msg any) error {
	err := s.ClientStream.Receive(msg)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return io.EOF
	case connect.CodeOf(err) == connect.CodeUnauthenticated && s.token != "":
		again, renewErr := s.creds.refused(s.ctx, s.token)
		if renewErr != nil {
			return errorOf(renewErr)
		}
		if again {
			return &Error{Code: connect.CodeUnavailable, Text: errRenewed.Error(), cause: errRenewed}
		}
	}
	return explain(err)
}
