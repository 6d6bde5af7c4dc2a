package fcm

import (
	"errors"
	"regexp"
	"time"

	"firebase.google.com/go/v4/messaging"

	"github.com/beckon-dev/beckon/push"
)

// MaxData is the limit of a data message, counted over the bytes of its keys
// and values (Google: "FCM message types").
const MaxData = 4096

// MaxTTL is the longest FCM stores a message (Google: "Set the lifespan of a
// message": four weeks).
const MaxTTL = 28 * 24 * time.Hour

// ErrTooLarge answers a message that does not fit.
var ErrTooLarge = errors.New("fcm: message too large")

// Keys of the data of a message. All values are strings.
const (
	// KeyBeckon holds the payload, the JSON of beckon.v1.PushPayload.
	KeyBeckon = "beckon"
	// KeyTitle and KeyBody are what to show; a body may be missing.
	KeyTitle = "title"
	KeyBody  = "body"
	// KeyChannel is the notification channel to show it in.
	KeyChannel = "channel"
	// KeyTag is the tag to show it under, or to cancel: the same tag replaces.
	KeyTag = "tag"
)

// Channels an app creates. Android freezes a channel's importance when it is
// created, so another importance will need another id.
const (
	ChannelDecision = "beckon_decision_1"
	ChannelResult   = "beckon_result_1"
)

// Render makes the message for one device. It is a data message without a
// notification part, because the system would draw that one by itself, without
// buttons and without asking whose account it is for. There is no collapse key:
// a device has four at most, and what collapses is throttled; replacing is done
// on the device by tag (Google: "Non-collapsible and collapsible messages").
// The error is ErrTooLarge.
func Render(m push.Message, now time.Time) (*messaging.Message, error) {
	data := map[string]string{KeyBeckon: string(m.Payload.Encode())}
	if m.CollapseID != "" {
		data[KeyTag] = m.CollapseID
	}
	switch m.Payload.Kind {
	case push.Withdraw, push.Sweep, push.BadgeOnly:
		// Nothing to show: the app cancels by tag, or counts.
	default:
		data[KeyTitle], data[KeyChannel] = m.Text.Title, ChannelResult
		if m.Text.Body != "" {
			data[KeyBody] = m.Text.Body
		}
	}
	if m.Payload.Kind == push.DecisionRequired {
		data[KeyChannel] = ChannelDecision
	}
	size := 0
	for key, value := range data {
		size += len(key) + len(value)
	}
	if size > MaxData {
		return nil, ErrTooLarge
	}
	ttl := lifespan(m.ExpiresAt, now)
	out := &messaging.Message{Data: data, Android: &messaging.AndroidConfig{Priority: priority(m.Payload.Kind), TTL: &ttl}}
	if m.Address.Kind == push.KindFCMFID {
		out.Fid = m.Address.Token
	} else {
		out.Token = m.Address.Token //nolint:staticcheck // apps in the field still register tokens
	}
	return out, nil
}

// priority is high only for what the app shows at once: FCM takes high priority
// away from apps whose such messages show nothing (Google: "Set and manage
// Android message priority").
func priority(k push.Kind) string {
	switch k {
	case push.DecisionRequired, push.ResultReady, push.Test:
		return "high"
	default:
		return "normal"
	}
}

// lifespan is how long FCM should try, in whole seconds. Zero is now or never.
func lifespan(expires, now time.Time) time.Duration {
	if expires.IsZero() {
		return 0
	}
	return min(max(expires.Sub(now), 0), MaxTTL).Truncate(time.Second)
}

var (
	// fidForm: Google's clients make 17 random bytes, whose first four bits are
	// 0111, and keep 22 characters of their base64url form.
	fidForm = regexp.MustCompile(`^[c-f][A-Za-z0-9_-]{21}$`)
	// tokenForm: Google promises nothing about a token; so far all are made of
	// visible ASCII and longer than any installation id.
	tokenForm = regexp.MustCompile(`^[!-~]{32,512}$`)
)

// ValidToken reports whether an address of this kind has a form that Google
// hands out. Addresses are checked in the same way at registration.
func ValidToken(kind push.AddressKind, token string) bool {
	switch kind {
	case push.KindFCMFID:
		return fidForm.MatchString(token)
	case push.KindFCMToken:
		return tokenForm.MatchString(token)
	default:
		return false
	}
}
