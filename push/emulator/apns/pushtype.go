package apns

import "strings"

// suffixes are the endings of the topics that belong to one push type (Apple:
// "Sending notification requests to APNs", apns-push-type).
var suffixes = map[string]string{
	"location":     ".location-query",
	"voip":         ".voip",
	"complication": ".complication",
	"fileprovider": ".pushkit.fileprovider",
	"liveactivity": ".push-type.liveactivity",
	"pushtotalk":   ".voip-ptt",
	"controls":     ".push-type.controls",
	"widgets":      ".push-type.widgets",
}

// plainTypes go to the bare bundle id (mdm to the topic of its certificate).
var plainTypes = map[string]bool{"alert": true, "background": true, "mdm": true}

// splitTopic returns the bundle id and the push type that its suffix stands for,
// "" for none.
func splitTopic(topic string) (bundle, pushType string) {
	for pushType, suffix := range suffixes {
		if bundle, ok := strings.CutSuffix(topic, suffix); ok && bundle != "" {
			return bundle, pushType
		}
	}
	return topic, ""
}

// checkPushType judges push type, topic and priority together. Seen at Apple: a
// voip topic with another type answers InvalidPushType (sideshow/apns2#149,
// ostinelli/apnotic#87), the type without the suffix DeviceTokenNotForTopic
// (laravel-notification-channels/apn#88).
func checkPushType(pushType, topic, priority string) Reason {
	_, ofTopic := splitTopic(topic)
	_, needsSuffix := suffixes[pushType]
	switch {
	case !plainTypes[pushType] && !needsSuffix:
		return InvalidPushType
	case ofTopic != "" && ofTopic != pushType:
		return InvalidPushType
	case needsSuffix && ofTopic == "":
		return DeviceTokenNotForTopic
	case pushType == "background" && priority != "5":
		return BadPriority
	}
	return ""
}

// validTopic accepts what a bundle id may consist of.
func validTopic(topic string) bool {
	if topic == "" {
		return false
	}
	for _, c := range []byte(topic) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

// maxPayload is the limit of the body in bytes (Apple: "Generating a remote
// notification").
func maxPayload(pushType string) int {
	if pushType == "voip" {
		return 5120
	}
	return 4096
}
