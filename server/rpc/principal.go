package rpc

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
)

type principalKey struct{}

// withPrincipal overwrites whatever principal the context holds: over the
// in-process transport a caller's own context reaches the handler.
func withPrincipal(ctx context.Context, p policy.Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// principalOf is who calls; nobody, where no interceptor has said.
func principalOf(ctx context.Context) policy.Principal {
	p, _ := ctx.Value(principalKey{}).(policy.Principal)
	return p
}
