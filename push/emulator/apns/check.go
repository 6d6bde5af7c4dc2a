package apns

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/device"
)

// verdict is what the checks make of a request.
type verdict struct {
	reason  Reason // "" accepts
	at      time.Time
	strict  []string
	bearer  bearer
	phone   registration
	content device.Notification
}

// check runs the checks in the order of the package documentation. valid is called
// as soon as the provider token is found good.
func (s *Server) check(h *bearerHistory, env Env, r *request, valid func()) verdict {
	var v verdict
	switch {
	case r.method != "POST":
		v.reason = MethodNotAllowed
	case !strings.HasPrefix(r.path, devicePath):
		v.reason = BadPath
	case r.duplicate:
		v.reason = DuplicateHeaders
	}
	if v.reason != "" {
		return v
	}
	if v.bearer, v.reason = s.authorize(h, env, r.header["authorization"], r.at); v.reason != "" {
		return v
	}
	valid()
	if v.reason = checkHeaders(r.header, &v.bearer.key); v.reason != "" {
		return v
	}
	if s.checkDevice(env, r, &v); v.reason != "" {
		return v
	}
	pushType := r.header["apns-push-type"]
	switch {
	case r.size == 0:
		v.reason = PayloadEmpty
		return v
	case r.size > maxPayload(pushType):
		v.reason = PayloadTooLarge
		return v
	}
	content, faults := parsePayload(r.body, pushType)
	v.strict = append(checkNames(r.header), faults...)
	if len(v.strict) > 0 && !s.lenient {
		v.reason = EmulatorStrict
	}
	v.content = notification(r, &content)
	return v
}

// checkHeaders judges the apns- headers that Apple names ("Sending notification
// requests to APNs").
func checkHeaders(h map[string]string, key *Key) Reason {
	if id, ok := h["apns-id"]; ok && !validUUID(id) {
		return BadMessageID
	}
	if expiration, ok := h["apns-expiration"]; ok {
		if _, err := strconv.ParseUint(expiration, 10, 63); err != nil {
			return BadExpirationDate
		}
	}
	priority, ok := h["apns-priority"]
	if ok && priority != "10" && priority != "5" && priority != "1" {
		return BadPriority
	}
	if len(h["apns-collapse-id"]) > 64 {
		return BadCollapseID
	}
	topic, ok := h["apns-topic"]
	switch {
	case !ok || topic == "":
		return MissingTopic
	case !validTopic(topic):
		return BadTopic
	}
	if reason := checkPushType(h["apns-push-type"], topic, priority); reason != "" {
		return reason
	}
	if bundle, _ := splitTopic(topic); !key.mayPush(bundle) {
		return TopicDisallowed
	}
	return ""
}

func (s *Server) checkDevice(env Env, r *request, v *verdict) {
	if r.token() == "" {
		v.reason = MissingDeviceToken
		return
	}
	token, ok := canonicalToken(r.token())
	if ok {
		v.phone, ok = s.device(env, token)
	}
	switch {
	case !ok:
		v.reason = BadDeviceToken
	case v.phone.gone != "":
		v.reason, v.at = v.phone.gone, v.phone.goneAt
	case v.phone.Topic != r.header["apns-topic"]:
		v.reason = DeviceTokenNotForTopic
	}
}

// checkNames lists the apns- headers that do not exist or are empty.
func checkNames(h map[string]string) []string {
	known := []string{"apns-id", "apns-expiration", "apns-priority", "apns-topic", "apns-push-type", "apns-collapse-id"}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		switch {
		case !strings.HasPrefix(name, "apns-"):
		case !slices.Contains(known, name):
			faults = append(faults, fmt.Sprintf("there is no header %s", name))
		case h[name] == "":
			faults = append(faults, fmt.Sprintf("header %s is empty", name))
		}
	}
	return faults
}

// notification is the accepted push as the phone gets it; the ID is set when it is
// known.
func notification(r *request, a *aps) device.Notification {
	bundle, _ := splitTopic(r.header["apns-topic"])
	pushType := r.header["apns-push-type"]
	n := device.Notification{
		App: bundle, Tag: r.header["apns-collapse-id"],
		// A sound alone interrupts, though it leaves nothing to read.
		Alert: pushType == "alert" && (a.alert || a.hasSound),
		Title: a.title, Subtitle: a.subtitle, Body: a.body, LocKey: a.locKey, LocArgs: a.locArgs,
		Sound: a.sound, Category: a.category, Thread: a.threadID, Level: a.level, Badge: a.badge,
		// Push types other than these two exist to be read by the app.
		Wake:    a.contentAvailable || pushType != "alert" && pushType != "background",
		Mutable: a.mutableContent && a.alert,
		// Only these does the system ration; a call by voip is always let in.
		Background: pushType == "background",
		Payload:    slices.Clone(r.body),
	}
	if seconds, err := strconv.ParseInt(r.header["apns-expiration"], 10, 64); err == nil {
		if n.NowOrNever = seconds == 0; !n.NowOrNever {
			n.Expires = time.Unix(seconds, 0).UTC()
		}
	}
	return n
}
