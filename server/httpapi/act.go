package httpapi

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

const (
	// actBytes bounds a tap: a token of 4 KiB and change.
	actBytes = 8 << 10
	// maxAnswerKey is the bound of the contract.
	maxAnswerKey = 64
)

// tapRequest is the body of POST /act.
type tapRequest struct {
	// Token is the button's.
	Token string `json:"token"`
	// AnswerKey names this answer; a repeat with the same one is the same.
	AnswerKey string `json:"answer_key"`
	// View is the digest of what was shown, hex: that of the decision at its
	// revision with no evidence. Without it the tap can only refuse.
	View string `json:"view"`
	// Proof is the signature by the installation's key, base64.
	Proof []byte `json:"proof"`
}

// tapAnswer is what an answer met.
type tapAnswer struct {
	Outcome string     `json:"outcome"`
	Winner  *tapWinner `json:"winner,omitempty"`
	// NeededStep is set with NEEDS_STEP_UP.
	NeededStep int `json:"needed_step,omitempty"`
}

// tapWinner is whose answer counts.
type tapWinner struct {
	InstallationID    string    `json:"installation_id"`
	InstallationLabel string    `json:"installation_label"`
	AnswerTime        time.Time `json:"answer_time"`
}

// tapError is a refusal in the words of the contract.
type tapError struct {
	Error struct {
		Code   string `json:"code"`
		Reason string `json:"reason"`
		Field  string `json:"field,omitempty"`
	} `json:"error"`
}

// act answers a decision by a button. Only a POST with JSON acts: link
// previews, prefetchers and forms of other sites do not.
type act struct{ Config }

// ServeHTTP carries out one tap.
func (a act) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		a.refuse(w, http.StatusMethodNotAllowed, "unimplemented", "METHOD", "")
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		a.refuse(w, http.StatusUnsupportedMediaType, "invalid_argument", "CONTENT_TYPE", "")
		return
	}
	if a.Slow != nil {
		if err := a.Slow(r.RemoteAddr); err != nil {
			a.fail(w, err)
			return
		}
	}
	request, err := readTap(w, r)
	if err != nil {
		a.fail(w, err)
		return
	}
	result, err := a.answer(r, request)
	if err != nil {
		a.fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, answerOut(result))
}

// readTap reads exactly one JSON object with known members.
func readTap(w http.ResponseWriter, r *http.Request) (tapRequest, error) {
	var request tapRequest
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, actBytes))
	body.DisallowUnknownFields()
	if err := body.Decode(&request); err != nil {
		if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return request, &app.FieldError{Reason: "LIMIT", Max: tooLarge.Limit}
		}
		return request, &app.FieldError{Reason: "MALFORMED"}
	}
	if _, err := body.Token(); !errors.Is(err, io.EOF) {
		return request, &app.FieldError{Reason: "MALFORMED"}
	}
	switch {
	case request.Token == "":
		return request, &app.FieldError{Field: "token", Reason: "MISSING"}
	case request.AnswerKey == "":
		return request, &app.FieldError{Field: "answer_key", Reason: "MISSING"}
	case len(request.AnswerKey) > maxAnswerKey:
		return request, &app.FieldError{Field: "answer_key", Reason: "LIMIT", Max: maxAnswerKey}
	}
	return request, nil
}

func (a act) answer(r *http.Request, request tapRequest) (app.AnswerResult, error) {
	caller, tap, err := a.Taps.Tap(request.Token)
	if err != nil {
		return app.AnswerResult{}, err
	}
	view, err := viewOf(request.View)
	if err != nil {
		return app.AnswerResult{}, err
	}
	return a.Answer.AnswerDecision(r.Context(), caller, app.AnswerDecision{
		Decision: tap.Decision, View: view, Key: request.AnswerKey, Proof: request.Proof,
		Surface: decision.SurfaceNotification, Tap: &tap,
	})
}

func viewOf(text string) (decision.Digest, error) {
	var view decision.Digest
	if text == "" {
		return view, nil
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(view) {
		return view, &app.FieldError{Field: "view", Reason: "MALFORMED"}
	}
	return decision.Digest(raw), nil
}

func answerOut(r app.AnswerResult) tapAnswer {
	return tapAnswer{Outcome: r.Outcome.String(), Winner: winnerOut(r.Winner), NeededStep: int(r.Needed)}
}

func winnerOut(w *store.Winner) *tapWinner {
	if w == nil {
		return nil
	}
	return &tapWinner{InstallationID: w.Installation, InstallationLabel: w.Label, AnswerTime: w.Time}
}

// fail writes a refusal of the verb. Its text stays here.
func (a act) fail(w http.ResponseWriter, err error) {
	code, reason, after := a.Describe(err)
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	field := ""
	if wrong, ok := errors.AsType[*app.FieldError](err); ok {
		field = wrong.Field
	}
	a.refuse(w, statusOf(code), code, reason, field)
}

func (a act) refuse(w http.ResponseWriter, status int, code, reason, field string) {
	var body tapError
	body.Error.Code, body.Error.Reason, body.Error.Field = code, reason, field
	writeJSON(w, status, body)
}

// statusOf gives the HTTP status that Connect uses for a code.
func statusOf(code string) int {
	switch code {
	case "invalid_argument", "failed_precondition":
		return http.StatusBadRequest
	case "unauthenticated":
		return http.StatusUnauthorized
	case "permission_denied":
		return http.StatusForbidden
	case "not_found":
		return http.StatusNotFound
	case "aborted":
		return http.StatusConflict
	case "resource_exhausted":
		return http.StatusTooManyRequests
	case "unavailable":
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
