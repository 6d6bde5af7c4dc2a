package fcm

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push"
)

// Answer is what came back over HTTP.
type Answer struct {
	Status     int
	Body       []byte
	RetryAfter string
}

// Codes of FCM (Google: "ErrorCode" of the HTTP v1 API).
const (
	codeInvalidArgument = "INVALID_ARGUMENT"
	codeUnregistered    = "UNREGISTERED"
	codeSenderMismatch  = "SENDER_ID_MISMATCH"
	codeThirdPartyAuth  = "THIRD_PARTY_AUTH_ERROR"
	codeAPNsAuth        = "APNS_AUTH_ERROR" // its older name
)

// Details of an error, by the end of their type.
const (
	typeFCM        = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
	typeBadRequest = "type.googleapis.com/google.rpc.BadRequest"
	typeQuota      = "type.googleapis.com/google.rpc.QuotaFailure"
	typeRetry      = "type.googleapis.com/google.rpc.RetryInfo"
)

// Least waits where FCM names none (Google: "Handle errors and retries": at
// least 10 seconds after a server error, a minute after a quota).
const (
	leastBackoff = 10 * time.Second
	leastQuota   = time.Minute
)

// Classify turns an answer into a verdict, at now for a Retry-After that is a
// date. A success is a success whatever its body says: the message was taken,
// and sending it again would ring twice.
func Classify(a Answer, now time.Time) push.Verdict {
	if a.Status >= 200 && a.Status < 300 {
		return push.Verdict{Class: push.OK, ProviderID: messageName(a.Body)}
	}
	e := parseFailure(a.Body)
	v := push.Verdict{
		Class:      e.class(a.Status),
		Reason:     e.reason(a.Status),
		RetryAfter: max(retryAfter(a.RetryAfter, now), e.retryDelay),
	}
	if v.Class == push.Backoff {
		v.RetryAfter = max(v.RetryAfter, leastBackoff)
	}
	if v.Class == push.SlowAll {
		v.RetryAfter = max(v.RetryAfter, leastQuota)
	}
	return v
}

// failure is what an error body tells.
type failure struct {
	// code is FCM's own, status the one all Google services share.
	code   string
	status string
	// namesToken: the message speaks of the address.
	namesToken bool
	// fields are violations, otherFields those not about the address.
	fields      int
	otherFields int
	// device: the quota that was exceeded is one device's.
	device     bool
	retryDelay time.Duration
}

type wireFailure struct {
	Error struct {
		Status  string `json:"status"`
		Message string `json:"message"`
		Details []struct {
			Type      string `json:"@type"`
			ErrorCode string `json:"errorCode"`
			Fields    []struct {
				Field string `json:"field"`
			} `json:"fieldViolations"`
			Violations []struct {
				Subject     string `json:"subject"`
				Description string `json:"description"`
			} `json:"violations"`
			RetryDelay string `json:"retryDelay"`
		} `json:"details"`
	} `json:"error"`
}

// parseFailure reads an error body; one that is not Google's tells nothing.
func parseFailure(body []byte) failure {
	var w wireFailure
	if json.Unmarshal(body, &w) != nil {
		return failure{}
	}
	e := failure{status: word(w.Error.Status)}
	message := strings.ToLower(w.Error.Message)
	e.namesToken = strings.Contains(message, "registration token") || strings.Contains(message, "installation id")
	for _, d := range w.Error.Details {
		switch d.Type {
		case typeFCM:
			e.code = word(d.ErrorCode)
		case typeBadRequest:
			for _, f := range d.Fields {
				e.fields++
				if f.Field != "message.token" && f.Field != "message.fid" {
					e.otherFields++
				}
			}
		case typeQuota:
			// A project over its quota outweighs a device over its own.
			e.device = len(d.Violations) > 0
			for _, q := range d.Violations {
				e.device = e.device && strings.Contains(strings.ToLower(q.Subject+" "+q.Description), "device")
			}
		case typeRetry:
			if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
				e.retryDelay = min(max(wait, 0), maxRetryAfter*time.Second)
			}
		}
	}
	return e
}

// rule is one row of the table in the package documentation.
type rule struct {
	answer string
	class  push.Class
	holds  func(status int, e failure) bool
}

// rules judge an answer that is no success; the first that holds decides. A 400
// is nearly always our mistake: only where FCM itself speaks of the address, and
// of nothing else, is the address under suspicion. A 404 without FCM's own word
// says that the project is not there or may not send, and nothing about a device.
var rules = []rule{
	{"404 UNREGISTERED", push.Dead, func(s int, e failure) bool { return s == http.StatusNotFound && e.code == codeUnregistered }},
	{"404", push.Cred, func(s int, _ failure) bool { return s == http.StatusNotFound }},
	{"400 UNREGISTERED", push.Suspect, func(s int, e failure) bool { return s == http.StatusBadRequest && e.code == codeUnregistered }},
	{"400 INVALID_ARGUMENT about the address alone", push.Suspect, func(s int, e failure) bool {
		return s == http.StatusBadRequest && e.code == codeInvalidArgument && e.namesToken && e.otherFields == 0
	}},
	{"400", push.Bug, func(s int, _ failure) bool { return s == http.StatusBadRequest }},
	{"401 THIRD_PARTY_AUTH_ERROR", push.Cred, func(s int, e failure) bool { return s == http.StatusUnauthorized && e.foreignKey() }},
	{"401", push.Cred, func(s int, _ failure) bool { return s == http.StatusUnauthorized }},
	{"403 SENDER_ID_MISMATCH", push.Suspect, func(s int, e failure) bool { return s == http.StatusForbidden && e.code == codeSenderMismatch }},
	{"403", push.Cred, func(s int, _ failure) bool { return s == http.StatusForbidden }},
	{"429 of one device", push.SlowDevice, func(s int, e failure) bool { return s == http.StatusTooManyRequests && e.device }},
	{"429", push.SlowAll, func(s int, _ failure) bool { return s == http.StatusTooManyRequests }},
	{"408, 5xx, redirect", push.Backoff, func(s int, _ failure) bool { return s == http.StatusRequestTimeout || s < 400 || s >= 500 }},
	{"other 4xx", push.Bug, func(int, failure) bool { return true }},
}

func (e failure) class(status int) push.Class {
	for _, r := range rules {
		if r.holds(status, e) {
			return r.class
		}
	}
	return push.Bug // the last rule holds for all
}

// foreignKey: a key of Apple's that Firebase holds was refused.
func (e failure) foreignKey() bool { return e.code == codeThirdPartyAuth || e.code == codeAPNsAuth }

func (e failure) reason(status int) string {
	switch {
	case e.code != "":
		return e.code
	case e.status != "":
		return e.status
	default:
		return "http_" + strconv.Itoa(status)
	}
}

var (
	wordForm = regexp.MustCompile(`^[A-Z][A-Z_]{0,63}$`)
	nameForm = regexp.MustCompile(`^projects/[!-~]{1,200}$`)
)

// word keeps a stranger's text out of our rows.
func word(s string) string {
	if wordForm.MatchString(s) {
		return s
	}
	return ""
}

// messageName is the id FCM filed the message under, empty when unreadable.
func messageName(body []byte) string {
	var w struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(body, &w) != nil || !nameForm.MatchString(w.Name) {
		return ""
	}
	return w.Name
}

// retryAfter reads seconds or an HTTP date (RFC 9110 §10.2.3).
func retryAfter(header string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(n, 0), maxRetryAfter)) * time.Second
	}
	if t, err := http.ParseTime(header); err == nil {
		return min(max(t.Sub(now), 0), maxRetryAfter*time.Second)
	}
	return 0
}

// maxRetryAfter, in seconds, is beyond any deadline and far from overflow.
const maxRetryAfter = 90 * 24 * 3600
