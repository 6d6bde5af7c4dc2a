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

func (e failure) class(status int) push.Class {
	switch {
	case status == http.StatusBadRequest:
		return e.badRequest()
	case status == http.StatusUnauthorized:
		return push.Cred
	case status == http.StatusForbidden:
		if e.code == codeSenderMismatch {
			return push.Suspect
		}
		return push.Cred
	case status == http.StatusNotFound:
		if e.code == codeUnregistered {
			return push.Dead
		}
		// The project is not there or may not send: that says nothing about a
		// device.
		return push.Cred
	case status == http.StatusTooManyRequests:
		if e.device {
			return push.SlowDevice
		}
		return push.SlowAll
	case status == http.StatusRequestTimeout || status < 400 || status >= 500:
		return push.Backoff
	default:
		return push.Bug
	}
}

// badRequest is nearly always our mistake. Only where FCM itself speaks of the
// address, and of nothing else, is the address under suspicion.
func (e failure) badRequest() push.Class {
	switch {
	case e.code == codeUnregistered:
		return push.Suspect
	case e.code == codeInvalidArgument && e.namesToken && e.otherFields == 0:
		return push.Suspect
	default:
		return push.Bug
	}
}

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
