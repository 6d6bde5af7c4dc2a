package fcm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// ErrorCode is the errorCode of an FcmError (Firebase: "ErrorCode" of the FCM v1
// REST reference).
type ErrorCode string

// The codes that say what became of a message.
const (
	InvalidArgument     ErrorCode = "INVALID_ARGUMENT"
	Unregistered        ErrorCode = "UNREGISTERED"
	SenderIDMismatch    ErrorCode = "SENDER_ID_MISMATCH"
	QuotaExceeded       ErrorCode = "QUOTA_EXCEEDED"
	Unavailable         ErrorCode = "UNAVAILABLE"
	Internal            ErrorCode = "INTERNAL"
	ThirdPartyAuthError ErrorCode = "THIRD_PARTY_AUTH_ERROR"
	UnspecifiedError    ErrorCode = "UNSPECIFIED_ERROR"
)

// Known reports whether the code is one of those above.
func (c ErrorCode) Known() bool {
	return c == Internal || c == UnspecifiedError || c.Status() != http.StatusInternalServerError
}

// Status returns the HTTP status that goes with a code, 500 for one it does not
// know.
func (c ErrorCode) Status() int {
	switch c {
	case InvalidArgument:
		return http.StatusBadRequest
	case Unregistered:
		return http.StatusNotFound
	case SenderIDMismatch:
		return http.StatusForbidden
	case QuotaExceeded:
		return http.StatusTooManyRequests
	case Unavailable:
		return http.StatusServiceUnavailable
	case ThirdPartyAuthError:
		return http.StatusUnauthorized
	default:
		return http.StatusInternalServerError
	}
}

// Quota names the limit of a QUOTA_EXCEEDED, which Firebase tells apart by a
// google.rpc.QuotaFailure.
type Quota string

// The three limits.
const (
	ProjectQuota Quota = "project"
	DeviceQuota  Quota = "device"
	TopicQuota   Quota = "topic"
)

// The texts and canonical codes as senders have seen them: matrix-org/sygnal and
// firebase/firebase-admin-java#1064 (token), dcai/airnotifier#219 (sender),
// firebase/firebase-admin-go#719 (quota), firebase/firebase-admin-node#3215 (APNs
// credentials), firebase/firebase-admin-go#179 (unregistered).
const (
	badToken        = "The registration token is not a valid FCM registration token"
	credentialsText = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
)

func (c ErrorCode) text() string {
	switch c {
	case InvalidArgument:
		return badToken
	case Unregistered:
		return "Requested entity was not found."
	case SenderIDMismatch:
		return "SenderId mismatch"
	case QuotaExceeded:
		return "Quota exceeded."
	case Unavailable:
		return "The service is currently unavailable."
	case ThirdPartyAuthError:
		return "Auth error from APNS or Web Push Service"
	default:
		return "Internal error encountered."
	}
}

// canonical is the google.rpc.Code that goes with an HTTP status.
func canonical(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	default:
		return "INTERNAL"
	}
}

// failure is a refusal in Google's shape (Google: AIP-193; Firebase: "FcmError").
type failure struct {
	status  int
	message string
	code    ErrorCode // "" without an FcmError
	fields  []violation
	quota   Quota
	reason  string // of a google.rpc.ErrorInfo
	strict  []string
}

// violation is an entry of a google.rpc.BadRequest.
type violation struct {
	Field       string `json:"field,omitempty"`
	Description string `json:"description"`
}

func (f *failure) body() []byte {
	type detail map[string]any
	var details []detail
	if f.code != "" {
		details = append(details, detail{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": f.code})
	}
	if len(f.fields) > 0 {
		details = append(details, detail{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": f.fields})
	}
	if f.quota != "" {
		text := map[Quota]string{
			ProjectQuota: "Message rate exceeded", DeviceQuota: "Device message rate exceeded", TopicQuota: "Topic message rate exceeded",
		}[f.quota]
		details = append(details, detail{
			"@type":      "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []map[string]string{{"subject": string(f.quota), "description": text}},
		})
	}
	if f.reason != "" {
		details = append(details, detail{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": f.reason, "domain": "googleapis.com",
			"metadata": map[string]string{"service": "fcm.googleapis.com", "method": "google.firebase.fcm.v1.FcmService.SendMessage"},
		})
	}
	if len(f.strict) > 0 {
		details = append(details, detail{"@type": "EmulatorStrict", "faults": f.strict})
	}
	type body struct {
		Code    int      `json:"code"`
		Message string   `json:"message"`
		Status  string   `json:"status"`
		Details []detail `json:"details,omitempty"`
	}
	return encode(map[string]body{"error": {f.status, f.message, canonical(f.status), details}})
}

// badRequest is the shape of INVALID_ARGUMENT for a request that is not a message:
// no FcmError (eladnava/fcm-v1-http2#5).
func badRequest(violations []violation) *failure {
	texts := make([]string, 0, len(violations))
	for _, v := range violations {
		texts = append(texts, v.Description)
	}
	return &failure{status: http.StatusBadRequest, message: strings.Join(texts, "\n"), fields: violations}
}

// badMessage is the shape for a message that breaks a rule of FCM: FcmError and
// the field.
func badMessage(field, text string) *failure {
	return &failure{status: http.StatusBadRequest, message: text, code: InvalidArgument, fields: []violation{{field, text}}}
}

// badAddress is the shape for what is no token: FcmError alone.
func badAddress(text string) *failure {
	return &failure{status: http.StatusBadRequest, message: text, code: InvalidArgument}
}

func coded(code ErrorCode) *failure {
	return &failure{status: code.Status(), message: code.text(), code: code}
}

func notFound() *failure {
	return &failure{status: http.StatusNotFound, message: "Requested entity was not found."}
}

func unauthenticated(reason string) *failure {
	return &failure{status: http.StatusUnauthorized, message: credentialsText, reason: reason}
}

func denied(text, reason string) *failure {
	return &failure{status: http.StatusForbidden, message: text, reason: reason}
}

// encode writes JSON as Google does: indented, markup left alone.
func encode(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic("strings and numbers always encode: " + err.Error())
	}
	return out.Bytes()
}
