package phone

import (
	"context"
	"time"

	"connectrpc.com/connect/v2"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/proof"
)

// early is how long before its end an access token is not used any more.
const early = 30 * time.Second

// do makes a call as this installation, with one renewal when the server says
// that the token is too old.
func (a *App) do(ctx context.Context, fn func(context.Context, *server) error) error {
	srv, token, err := a.access(ctx, "")
	if err != nil {
		return err
	}
	err = fn(bearer(ctx, token), srv)
	if connect.CodeOf(err) != connect.CodeUnauthenticated || unanswered(err) {
		return err
	}
	if srv, token, err = a.access(ctx, token); err != nil {
		return err
	}
	return fn(bearer(ctx, token), srv)
}

func bearer(ctx context.Context, token string) context.Context {
	ctx, info := connect.NewClientContext(ctx)
	info.RequestHeader().Set("Authorization", "Bearer "+token)
	return ctx
}

// access gives an access token other than the refused one. One exchange runs at a
// time, so that callers share an attempt.
func (a *App) access(ctx context.Context, refused string) (*server, string, error) {
	a.renewing.Lock()
	defer a.renewing.Unlock()
	a.mu.Lock()
	srv, state, token, ends := a.server, a.state, a.token, a.tokenEnds
	a.mu.Unlock()
	if srv == nil || !state.Paired() {
		return nil, "", ErrNotPaired
	}
	if token != "" && token != refused && a.now().Add(early).Before(ends) {
		return srv, token, nil
	}
	token, err := a.refresh(ctx, srv, state)
	return srv, token, err
}

// refresh exchanges the refresh token. The attempt is stored before it is sent
// and kept until the answer is stored: a lost answer is asked for again and is
// the same one.
func (a *App) refresh(ctx context.Context, srv *server, state State) (string, error) {
	if state.Attempt == "" {
		state.Attempt = randomText()
		if err := a.change(func(s *State) { s.Attempt = state.Attempt }); err != nil {
			return "", err
		}
	}
	key, err := a.signingKey(state.InstallKey)
	if err != nil {
		return "", err
	}
	signature, err := proof.SignRefresh(key, proof.RefreshTuple{
		ServerID: state.ServerID, Account: state.Account, Installation: state.Installation,
		TokenHash: proof.Sum([]byte(state.Refresh)), Attempt: state.Attempt,
	})
	if err != nil {
		return "", err
	}
	res, err := srv.tokens.RefreshToken(ctx, &v1.RefreshTokenRequest{
		RefreshToken: state.Refresh, Attempt: state.Attempt, Proof: signature,
	})
	if err != nil {
		a.ended(err)
		return "", err
	}
	return res.GetTokens().GetAccessToken(), a.keep(res.GetTokens())
}

// keep stores a pair of tokens and forgets the attempt that gave it.
func (a *App) keep(t *v1.Tokens) error {
	err := a.change(func(s *State) { s.Refresh, s.Attempt = t.GetRefreshToken(), "" })
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.token, a.tokenEnds = t.GetAccessToken(), t.GetAccessExpireTime().AsTime()
	return nil
}

// ended notes that the server has put an end to this installation: it has to be
// paired again.
func (a *App) ended(err error) {
	switch reasonOf(err) {
	case "REVOKED", "REUSED":
		a.tell(Event{Kind: Unpaired, Error: reasonOf(err)})
	}
}
