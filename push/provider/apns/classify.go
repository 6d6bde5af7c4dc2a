package apns

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/sideshow/apns2"

	"github.com/beckon-dev/beckon/push"
)

// Answer is what came back over HTTP.
type Answer struct {
	Status     int
	Body       []byte
	RetryAfter string
	// ID is the apns-id header.
	ID string
}

// Reasons that apns2 does not name (Apple: "Handling notification responses
// from APNs"). The last two are one reason in two spellings seen in the wild.
const (
	reasonUnrelatedKey        = "UnrelatedKeyIdInToken"
	reasonBadEnvironmentKey   = "BadEnvironmentKeyInToken"
	reasonBadEnvironmentKeyID = "BadEnvironmentKeyIdInToken"
)

// Classify turns an answer into a verdict, at now for a Retry-After that is a
// date. ExpiredProviderToken is Cred here; Send signs anew once before it
// believes that.
func Classify(a Answer, now time.Time) push.Verdict {
	var body struct {
		Reason    string `json:"reason"`
		Timestamp int64  `json:"timestamp"` // milliseconds
	}
	v := push.Verdict{RetryAfter: retryAfter(a.RetryAfter, now), ProviderID: a.ID}
	if a.Status == http.StatusOK {
		v.Class = push.OK
		return v
	}
	if json.Unmarshal(a.Body, &body) != nil || body.Reason == "" || len(body.Reason) > maxReason {
		v.Reason = "http_" + strconv.Itoa(a.Status)
		v.Class = classifyStatus(a.Status)
		return v
	}
	v.Reason = body.Reason
	v.Class = classifyReason(a.Status, body.Reason)
	if v.Class == push.Dead {
		if body.Timestamp <= 0 {
			// Without its time a 410 cannot be held against a registration.
			v.Class = push.Suspect
			return v
		}
		v.DeadAt = time.UnixMilli(body.Timestamp).UTC()
	}
	return v
}

// maxReason keeps a stranger's text out of our rows.
const maxReason = 64

// reasons is what each of Apple's words means; the package documentation has the
// same table.
var reasons = map[string]push.Class{
	apns2.ReasonBadCollapseID:      push.Bug,
	apns2.ReasonBadExpirationDate:  push.Bug,
	apns2.ReasonBadMessageID:       push.Bug,
	apns2.ReasonBadPriority:        push.Bug,
	apns2.ReasonBadTopic:           push.Bug,
	apns2.ReasonMissingTopic:       push.Bug,
	apns2.ReasonMissingDeviceToken: push.Bug,
	apns2.ReasonPayloadEmpty:       push.Bug,
	apns2.ReasonInvalidPushType:    push.Bug,
	apns2.ReasonDuplicateHeaders:   push.Bug,
	apns2.ReasonBadPath:            push.Bug,
	apns2.ReasonMethodNotAllowed:   push.Bug,
	apns2.ReasonPayloadTooLarge:    push.Bug,

	apns2.ReasonIdleTimeout:         push.Backoff,
	apns2.ReasonInternalServerError: push.Backoff,
	apns2.ReasonServiceUnavailable:  push.Backoff,
	apns2.ReasonShutdown:            push.Backoff,

	apns2.ReasonBadDeviceToken:         push.Suspect,
	apns2.ReasonDeviceTokenNotForTopic: push.Suspect,

	apns2.ReasonTopicDisallowed:           push.Cred,
	apns2.ReasonInvalidProviderToken:      push.Cred,
	apns2.ReasonMissingProviderToken:      push.Cred,
	apns2.ReasonBadCertificate:            push.Cred,
	apns2.ReasonBadCertificateEnvironment: push.Cred,
	apns2.ReasonForbidden:                 push.Cred,
	apns2.ReasonExpiredProviderToken:      push.Cred,
	reasonUnrelatedKey:                    push.Cred,
	reasonBadEnvironmentKey:               push.Cred,
	reasonBadEnvironmentKeyID:             push.Cred,

	apns2.ReasonUnregistered: push.Dead,
	apns2.ReasonExpiredToken: push.Dead,

	apns2.ReasonTooManyProviderTokenUpdates: push.SlowAll,
	apns2.ReasonTooManyRequests:             push.SlowDevice,
}

func classifyReason(status int, reason string) push.Class {
	if class, known := reasons[reason]; known {
		return class
	}
	return classifyStatus(status)
}

// classifyStatus judges an answer whose reason is missing or new. A 410 without
// a reason we know condemns nobody.
func classifyStatus(status int) push.Class {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return push.Cred
	case status == http.StatusGone:
		return push.Suspect
	case status == http.StatusTooManyRequests:
		return push.SlowDevice
	case status >= 400 && status < 500:
		return push.Bug
	default:
		return push.Backoff
	}
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
