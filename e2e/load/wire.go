package load

import (
	"context"
	"net/http"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
)

// perConnection is how many callers share one connection. The server admits 64
// streams on each.
const perConnection = 50

// wire is connections to a server, one HTTP/2 without TLS for each few callers.
type wire struct {
	url    string
	shared []*http.Transport
}

// openWire prepares enough connections for so many callers.
func openWire(url string, callers int) *wire {
	w := &wire{url: url}
	for range (callers + perConnection - 1) / perConnection {
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		w.shared = append(w.shared, &http.Transport{Protocols: protocols})
	}
	return w
}

func (w *wire) close() {
	for _, t := range w.shared {
		t.CloseIdleConnections()
	}
}

// client is the i-th caller with a credential.
func (w *wire) client(i int, token string) *connect.Client {
	tr := connecthttp.NewTransport(&http.Client{Transport: w.shared[i/perConnection%len(w.shared)]}, w.url)
	return connect.NewClient(tr, func(next connect.ClientFunc) connect.ClientFunc {
		return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
			if info, ok := connect.CallInfoForClientContext(ctx); ok {
				info.RequestHeader().Set("Authorization", "Bearer "+token)
			}
			return next(ctx, spec)
		}
	})
}

// services a load needs.
type services struct {
	beckonv1connect.TaskServiceClient
	beckonv1connect.DecisionServiceClient
	beckonv1connect.SyncServiceClient
}

func (w *wire) services(i int, token string) services {
	c := w.client(i, token)
	return services{
		beckonv1connect.NewTaskServiceClient(c), beckonv1connect.NewDecisionServiceClient(c), beckonv1connect.NewSyncServiceClient(c),
	}
}
