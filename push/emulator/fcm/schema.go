package fcm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// shape is the type of a field. The fields are those of Firebase: "REST Resource:
// projects.messages" and "projects.messages.send".
type shape struct {
	name   string // as Google's errors call it
	scalar func(*node) bool
	fields map[string]*shape // of a message
	item   *shape            // of a list
	values *shape            // of a map
	oneof  []string          // fields of which one may be set
	union  string            // the name of the oneof
}

const typePrefix = "type.googleapis.com/"

var durationForm = regexp.MustCompile(`^-?[0-9]+(\.[0-9]{1,9})?s$`)

// targets are the ways to address a message, of which it has one.
var targets = [...]string{"token", "topic", "condition", "fid"}

func integer(n *node) bool {
	_, err := strconv.ParseInt(n.text, 10, 32)
	return n.kind == '0' && err == nil
}

func message(name string, fields map[string]*shape) *shape {
	return &shape{name: typePrefix + "google.firebase.fcm.v1." + name, fields: fields}
}

// enum accepts its names in upper and lower case, as FCM does with priorities.
func enum(name string, values ...string) *shape {
	return &shape{name: typePrefix + "google.firebase.fcm.v1." + name, scalar: func(n *node) bool {
		for _, v := range values {
			if n.kind == '"' && strings.EqualFold(n.text, v) {
				return true
			}
		}
		return false
	}}
}

// newSchema builds the shape of a request to send.
func newSchema() *shape {
	isText := &shape{name: "TYPE_STRING", scalar: func(n *node) bool { return n.kind == '"' }}
	isFlag := &shape{name: "TYPE_BOOL", scalar: func(n *node) bool { return n.kind == 't' }}
	isInteger := &shape{name: "TYPE_INT32", scalar: integer}
	isNumber := &shape{name: "TYPE_FLOAT", scalar: func(n *node) bool { return n.kind == '0' }}
	isDuration := &shape{name: typePrefix + "google.protobuf.Duration", scalar: func(n *node) bool {
		return n.kind == '"' && durationForm.MatchString(n.text)
	}}
	isTime := &shape{name: typePrefix + "google.protobuf.Timestamp", scalar: func(n *node) bool {
		_, err := time.Parse(time.RFC3339Nano, n.text)
		return n.kind == '"' && err == nil
	}}
	isStruct := &shape{name: typePrefix + "google.protobuf.Struct", scalar: func(n *node) bool { return n.kind == '{' }}
	texts := &shape{name: "list", item: isText}
	textMap := &shape{name: "map", values: isText}

	fcmOptions := message("FcmOptions", map[string]*shape{"analytics_label": isText})

	androidNotification := message("AndroidNotification", map[string]*shape{
		"title": isText, "body": isText, "icon": isText, "color": isText, "sound": isText, "tag": isText,
		"click_action": isText, "body_loc_key": isText, "body_loc_args": texts, "title_loc_key": isText,
		"title_loc_args": texts, "channel_id": isText, "ticker": isText, "sticky": isFlag, "event_time": isTime,
		"local_only": isFlag, "default_sound": isFlag, "default_vibrate_timings": isFlag, "default_light_settings": isFlag,
		"vibrate_timings": {name: "list", item: isDuration}, "notification_count": isInteger, "image": isText,
		"bypass_proxy_notification": isFlag,
		"notification_priority": enum("AndroidNotification.NotificationPriority", "PRIORITY_UNSPECIFIED",
			"PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH", "PRIORITY_MAX"),
		"visibility": enum("AndroidNotification.Visibility", "VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"),
		"proxy":      enum("AndroidNotification.Proxy", "PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"),
		"light_settings": message("LightSettings", map[string]*shape{
			"color":             {name: typePrefix + "google.type.Color", fields: map[string]*shape{"red": isNumber, "green": isNumber, "blue": isNumber, "alpha": isNumber}},
			"light_on_duration": isDuration, "light_off_duration": isDuration,
		}),
	})

	android := message("AndroidConfig", map[string]*shape{
		"collapse_key": isText, "ttl": isDuration, "restricted_package_name": isText, "data": textMap,
		"priority":     enum("AndroidConfig.AndroidMessagePriority", "NORMAL", "HIGH"),
		"notification": androidNotification, "fcm_options": fcmOptions, "direct_boot_ok": isFlag,
		"bandwidth_constrained_ok": isFlag, "restricted_satellite_ok": isFlag,
	})

	whole := &shape{
		name: typePrefix + "google.firebase.fcm.v1.Message", union: "target",
		oneof: targets[:],
		fields: map[string]*shape{
			"name": isText, "data": textMap, "android": android, "fcm_options": fcmOptions,
			"token": isText, "topic": isText, "condition": isText, "fid": isText,
			"notification": message("Notification", map[string]*shape{"title": isText, "body": isText, "image": isText}),
			"webpush": message("WebpushConfig", map[string]*shape{
				"headers": textMap, "data": textMap, "notification": isStruct,
				"fcm_options": message("WebpushFcmOptions", map[string]*shape{"link": isText, "analytics_label": isText}),
			}),
			"apns": message("ApnsConfig", map[string]*shape{
				"headers": textMap, "payload": isStruct, "live_activity_token": isText,
				"fcm_options": message("ApnsFcmOptions", map[string]*shape{"image": isText, "analytics_label": isText}),
			}),
		},
	}

	return &shape{fields: map[string]*shape{"message": whole, "validate_only": isFlag}}
}

// check lists what a value has that its shape does not allow, in the words of
// Google's JSON reader. Null stands for absent.
func (s *shape) check(n *node, path string) []violation {
	if n.kind == 'n' {
		return nil
	}
	invalid := func(wrong bool) []violation {
		if !wrong {
			return nil
		}
		return []violation{{path, fmt.Sprintf("Invalid value at '%s' (%s), %s", path, s.name, n.written())}}
	}
	switch {
	case s.scalar != nil:
		return invalid(!s.scalar(n))
	case s.item != nil:
		if n.kind != '[' {
			return invalid(true)
		}
	case n.kind != '{':
		return invalid(true)
	}
	var out []violation
	for i, item := range n.items {
		switch {
		case s.item != nil:
			out = append(out, s.item.check(item, fmt.Sprintf("%s[%d]", path, i))...)
		case s.values != nil:
			at := fmt.Sprintf("%s[%d].value", path, i)
			if item.kind == 'n' { // a map has no absent values
				out = append(out, violation{at, fmt.Sprintf("Invalid value at '%s' (%s), null", at, s.values.name)})
			}
			out = append(out, s.values.check(item, at)...)
		default:
			out = append(out, s.field(n.names[i], item, path)...)
		}
	}
	return append(out, s.overfull(n, path)...)
}

func (s *shape) field(name string, item *node, path string) []violation {
	field, known := s.fields[snake(name)]
	switch {
	case !known && path == "":
		return []violation{{"", fmt.Sprintf("Invalid JSON payload received. Unknown name %q: Cannot find field.", name)}}
	case !known:
		return []violation{{path, fmt.Sprintf("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", name, path)}}
	case path == "":
		return field.check(item, snake(name))
	}
	return field.check(item, path+"."+snake(name))
}

// overfull lists the fields of a oneof after the first.
func (s *shape) overfull(n *node, path string) []violation {
	var out []violation
	set := false
	for i, name := range n.names {
		for _, of := range s.oneof {
			if snake(name) != of || n.items[i].kind == 'n' {
				continue
			}
			if set {
				out = append(out, violation{path, fmt.Sprintf("Invalid value at '%s' (oneof), oneof field '%s' is already set. Cannot set '%s'", path, s.union, name)})
			}
			set = true
		}
	}
	return out
}

// twice lists names that an object has more than once; Google's reader takes one
// and says nothing.
func twice(n *node) []string {
	var out []string
	seen := make(map[string]bool)
	for _, name := range n.names {
		if seen[name] {
			out = append(out, fmt.Sprintf("the name %q comes twice", name))
		}
		seen[name] = true
	}
	for _, item := range n.items {
		out = append(out, twice(item)...)
	}
	return out
}
