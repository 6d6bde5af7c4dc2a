package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
)

// Config is what the doors open to.
type Config struct {
	// Answer is the verb behind a tap.
	Answer Answerer
	// Taps reads tap tokens.
	Taps TapReader
	// Describe gives code, reason and pause of a refusal in the words of the
	// contract.
	Describe func(error) (code, reason string, after time.Duration)
	// Slow spends from the bucket of a caller's address; its error is a
	// refusal. Nil is no limit.
	Slow func(peer string) error
	// PermitKeys is the JSON Web Key Set that effect permits are checked by.
	PermitKeys []byte
	// Metrics is what /metrics shows. The registry belongs to the caller and
	// holds no ids.
	Metrics prometheus.Gatherer
	// Ready reports why the server should get no traffic; nil when it may.
	Ready func(context.Context) error
}

// Answerer is app.AnswerDecision.
type Answerer interface {
	AnswerDecision(ctx context.Context, p policy.Principal, c app.AnswerDecision) (app.AnswerResult, error)
}

// TapReader is auth.Authenticator.
type TapReader interface {
	Tap(token string) (policy.Principal, app.Tap, error)
}

// Mount makes the doors reachable.
func Mount(mux *http.ServeMux, cfg Config) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if cfg.Ready(r.Context()) != nil {
			writeText(w, http.StatusServiceUnavailable, "not ready")
			return
		}
		writeText(w, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(cfg.Metrics, promhttp.HandlerOpts{DisableCompression: true}))
	mux.Handle("/act", act{cfg})
	mux.HandleFunc("GET /.well-known/beckon-permit-keys.json", func(w http.ResponseWriter, _ *http.Request) {
		// Short, so that a key that was taken away is not believed for long.
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Header().Set("Content-Type", "application/jwk-set+json")
		_, _ = w.Write(cfg.PermitKeys)
	})
	// A claim link that is opened in a browser comes here without its secret,
	// which stands after the # and never leaves the browser.
	mux.HandleFunc("GET /claim", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, claimText) })
}

// claimText cannot repeat the link: the server does not see all of it.
const claimText = `This is a claim link of a Beckon server. It is not used in a browser.

To make a terminal the first device, run there, with the whole link (also what
stands after the #):

  beckon claim '<this address>'

The link works once. Do not pass it on: whoever uses it owns the account.`

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // nobody is left to tell
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // our own types encode, and nobody is left to tell
}
