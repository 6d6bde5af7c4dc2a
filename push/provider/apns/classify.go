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

func classifyReason(status int, reason string) push.Class {
	switch reason {
	case apns2.ReasonBadCollapseID, apns2.ReasonBadExpirationDate, apns2.ReasonBadMessageID,
		apns2.ReasonBadPriority, apns2.ReasonBadTopic, apns2.ReasonMissingTopic,
		apns2.ReasonMissingDeviceToken, apns2.ReasonPayloadEmpty, apns2.ReasonInvalidPushType,
		apns2.ReasonDuplicateHeaders, apns2.ReasonBadPath, apns2.ReasonMethodNotAllowed,
		apns2.ReasonPayloadTooLarge:
		return push.Bug
	case apns2.ReasonIdleTimeout, apns2.ReasonInternalServerError, apns2.ReasonServiceUnavailable,
		apns2.ReasonShutdown:
		return push.Backoff
	case apns2.ReasonBadDeviceToken, apns2.ReasonDeviceTokenNotForTopic:
		return push.Suspect
	case apns2.ReasonTopicDisallowed, apns2.ReasonInvalidProviderToken, apns2.ReasonMissingProviderToken,
		apns2.ReasonBadCertificate, apns2.ReasonBadCertificateEnvironment, apns2.ReasonForbidden,
		apns2.ReasonExpiredProviderToken,
		reasonUnrelatedKey, reasonBadEnvironmentKey, reasonBadEnvironmentKeyID:
		return push.Cred
	case apns2.ReasonUnregistered, apns2.ReasonExpiredToken:
		return push.Dead
	case apns2.ReasonTooManyProviderTokenUpdates:
		return push.SlowAll
	case apns2.ReasonTooManyRequests:
		return push.SlowDevice
	default:
		return classifyStatus(status)
	}
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
