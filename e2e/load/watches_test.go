package load_test

import (
	"context"
	"fmt"

	"github.com/beckon-dev/beckon/e2e/load"
)

// watchCases are the rows about streams.
func watchCases(s load.Sizes) []benchmark {
	const accounts = 1000
	many := max(s.Watchers/accounts, 1) // for each account
	shared := load.Line{PerConnection: 50}
	var all []benchmark
	for _, c := range []load.Watches{
		{Accounts: 1, Clients: 1, Rate: 50, Changes: 200, Call: true, Line: shared},
		{Accounts: 1, Clients: 1000, Rate: 2, Changes: 10, Call: true, Line: shared},
		{Accounts: 1000, Clients: 1, Rate: 200, Changes: 1000, Line: shared},
		{Accounts: 1, Clients: 1000, Rate: 2, Changes: 10, Line: shared},
	} {
		all = append(all, benchmark{fmt.Sprintf("watch/%d/%d/%t", c.Accounts, c.Clients, c.Call), func(ctx context.Context, folder string) (load.Result, error) {
			return load.ChangeToFrame(ctx, folder, c)
		}})
	}
	all = append(all, benchmark{"watch/bare", func(ctx context.Context, folder string) (load.Result, error) {
		return load.BareFanOut(ctx, folder, load.Watches{Clients: 1000, Rate: 2, Changes: 10, Line: shared})
	}})
	for _, l := range []load.Line{{TLS: true, PerConnection: 1}, {TLS: true, HTTP1: true}} {
		all = append(all, benchmark{fmt.Sprintf("restart/%t", l.HTTP1), func(ctx context.Context, folder string) (load.Result, error) {
			return load.Restart(ctx, folder, accounts, many, l)
		}})
	}
	for _, l := range []load.Line{
		{TLS: true, HTTP1: true}, {TLS: true, PerConnection: 1}, {TLS: true, PerConnection: 10},
	} {
		all = append(all, benchmark{fmt.Sprintf("idle/%t/%d", l.HTTP1, l.PerConnection), func(ctx context.Context, folder string) (load.Result, error) {
			return load.Idle(ctx, folder, accounts, many, l)
		}})
	}
	return all
}
