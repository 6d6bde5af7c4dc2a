package plan

import (
	"time"

	"github.com/beckon-dev/beckon/push"
)

// TestTTL is how long a test push is worth delivering: whoever asked for it is
// looking.
const TestTTL = 10 * time.Minute

// Tests has one row for each address of a device whose person tries it out.
// name makes this try another than the one before, so that it rings again.
func Tests(account Account, name string, addresses []push.Address, now time.Time) []push.Delivery {
	intent := push.Intent{
		ID:   push.IntentID(account.Route, push.Test, name, 0),
		Kind: push.Test, CreatedAt: now, ExpiresAt: now.Add(TestTTL),
	}
	out := make([]push.Delivery, len(addresses))
	for i, a := range addresses {
		out[i] = row(account, intent, a)
		out[i].CollapseID = push.CollapseID(intent.ID)
	}
	return out
}
