package load_test

import (
	"context"
	"fmt"

	"github.com/beckon-dev/beckon/e2e/load"
)

// watchCases are the rows about streams.
func watchCases() []benchmark {
	var all []benchmark
	for _, c := range []load.Watches{
		{Accounts: 1, Clients: 1, Rate: 50, Changes: 200},
		{Accounts: 1000, Clients: 1, Rate: 200, Changes: 1000},
		{Accounts: 1, Clients: 1000, Rate: 2, Changes: 10},
		{Accounts: 5000, Clients: 1, Rate: 200, Changes: 1000},
	} {
		all = append(all, benchmark{fmt.Sprintf("watch/%d/%d", c.Accounts, c.Clients), func(ctx context.Context, folder string) (load.Result, error) {
			return load.CommitToFrame(ctx, folder, c)
		}})
	}
	return all
}
