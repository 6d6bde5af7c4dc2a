package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// Verbs is what the operator may do.
type Verbs interface {
	CreateClaimLink(ctx context.Context, p policy.Principal, c app.CreateClaimLink) (app.ClaimLink, error)
	AddAccount(ctx context.Context, p policy.Principal) (app.ClaimLink, error)
	Claimed(ctx context.Context) bool
	ServerID() string
}

// Link is a one-use way into an account. It is for the operator's terminal and
// for no log.
type Link struct {
	Account    string    `json:"account"`
	URL        string    `json:"url"`
	StartTime  time.Time `json:"start_time"`
	ExpireTime time.Time `json:"expire_time"`
}

// Status is what the operator sees of a running server.
type Status struct {
	ServerID string `json:"server_id"`
	URL      string `json:"url"`
	Claimed  bool   `json:"claimed"`
}

// Backup is one that was made.
type Backup struct {
	// Path is its folder on the server's machine.
	Path  string    `json:"path"`
	Time  time.Time `json:"time"`
	Files int       `json:"files"`
	Bytes int64     `json:"bytes"`
	// Damaged are artifacts that were damaged before.
	Damaged []string `json:"damaged,omitempty"`
}

// place names where a backup is wanted.
type place struct {
	To string `json:"to"`
}

// account names the account a link is wanted for; empty is the only one.
type account struct {
	Account string `json:"account"`
}

// problem is the answer to what was refused.
type problem struct {
	Error string `json:"error"`
}

const (
	pathClaim   = "/claim"
	pathReset   = "/owner/reset"
	pathAccount = "/account/add"
	pathStatus  = "/status"
	pathBackup  = "/backup"

	requestBytes = 4 << 10
)

// Handler serves the operator. publicURL stands in links; backup makes one in a
// folder of this machine, and its errors are told as they are.
func Handler(verbs Verbs, publicURL string, backup func(ctx context.Context, to string) (Backup, error)) http.Handler {
	h := handler{verbs: verbs, url: publicURL}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathClaim, h.link(func(ctx context.Context, name string) (app.ClaimLink, error) {
		return verbs.CreateClaimLink(ctx, operator(), app.CreateClaimLink{Account: name})
	}))
	mux.HandleFunc("POST "+pathReset, h.link(func(ctx context.Context, name string) (app.ClaimLink, error) {
		return verbs.CreateClaimLink(ctx, operator(), app.CreateClaimLink{Account: name, Reset: true})
	}))
	mux.HandleFunc("POST "+pathAccount, h.link(func(ctx context.Context, _ string) (app.ClaimLink, error) {
		return verbs.AddAccount(ctx, operator())
	}))
	mux.HandleFunc("GET "+pathStatus, func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusOK, Status{ServerID: verbs.ServerID(), URL: publicURL, Claimed: verbs.Claimed(r.Context())})
	})
	mux.HandleFunc("POST "+pathBackup, func(w http.ResponseWriter, r *http.Request) {
		// It takes as long as it takes; a connection without deadlines has none to lift.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		var named place
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, requestBytes)).Decode(&named); err != nil || !filepath.IsAbs(named.To) {
			write(w, http.StatusBadRequest, problem{Error: "the folder is not named by its whole path"})
			return
		}
		made, err := backup(r.Context(), named.To)
		if err != nil {
			write(w, http.StatusInternalServerError, problem{Error: err.Error()})
			return
		}
		write(w, http.StatusOK, made)
	})
	return mux
}

func operator() policy.Principal { return policy.Principal{Kind: policy.Operator} }

type handler struct {
	verbs Verbs
	url   string
}

// link serves one verb that gives a link.
func (h handler) link(verb func(context.Context, string) (app.ClaimLink, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var named account
		body := json.NewDecoder(http.MaxBytesReader(w, r.Body, requestBytes))
		if err := body.Decode(&named); err != nil && !errors.Is(err, io.EOF) {
			write(w, http.StatusBadRequest, problem{Error: "the request is not JSON"})
			return
		}
		made, err := verb(r.Context(), named.Account)
		if err != nil {
			status, text := refusal(err)
			write(w, status, problem{Error: text})
			return
		}
		write(w, http.StatusOK, LinkOf(made, h.url))
	}
}

// LinkOf writes a claim link as a URL. The secret stands after the #, which no
// browser sends to a server.
func LinkOf(made app.ClaimLink, publicURL string) Link {
	return Link{
		Account: made.Account, URL: publicURL + "/claim#" + made.Secret.Reveal(),
		StartTime: made.StartTime, ExpireTime: made.ExpireTime,
	}
}

// refusal is what the operator is told; what is not the operator's to repair
// keeps its text.
func refusal(err error) (status int, text string) {
	switch {
	case errors.Is(err, app.ErrClaimed):
		return http.StatusConflict, "the account has an owner; a reset gives a new way in"
	case errors.Is(err, app.ErrNoAccount):
		return http.StatusBadRequest, "there are several accounts; name one"
	case errors.Is(err, store.ErrNotFound):
		return http.StatusNotFound, "there is no such account"
	case errors.Is(err, store.ErrDiskFull):
		return http.StatusInsufficientStorage, "the disk is full"
	default:
		return http.StatusInternalServerError, "it did not work; the server's log may say why"
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // our own types encode, and nobody is left to tell
}
