package fcm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/device"
)

const (
	// maxPayload is the limit over keys and values (Firebase: "About FCM
	// messages", 4096 bytes).
	maxPayload = 4096
	// maxTTL is four weeks (Firebase: "Set the lifespan of a message").
	maxTTL = 28 * 24 * time.Hour
)

// letter is a request to send that was read.
type letter struct {
	validateOnly bool
	target       string // token, fid, topic or condition
	name         string // what the target is
	data         map[string]string
	ttl          time.Duration
	high         bool
	collapseKey  string
	restricted   string
	visible      bool // has a notification
	content      device.Notification
}

// readLetter reads a body or says what is wrong with it. The letter is good for the
// record even then.
func readLetter(schema *shape, body []byte) (letter, []string, *failure) {
	var l letter
	root, err := parseTree(body)
	if err != nil || root.kind != '{' {
		text := "Invalid JSON payload received. Expected an object."
		if err != nil {
			text = "Invalid JSON payload received. " + err.Error()
		}
		return l, nil, &failure{status: 400, message: text}
	}
	if v := root.at("validate_only"); v != nil {
		l.validateOnly = v.text == "true"
	}
	if m := root.at("message"); m != nil {
		l.read(m)
	}
	if violations := schema.check(root, ""); len(violations) > 0 {
		return l, nil, badRequest(violations)
	}
	return l, twice(root), l.judge(root.at("message"))
}

func (l *letter) read(m *node) {
	for _, target := range targets {
		if name := m.str(target); name != "" {
			l.target, l.name = target, name
		}
	}
	// Firebase: AndroidConfig.data "will override Message.data".
	from := cmp.Or(m.at("android", "data"), m.at("data"))
	l.data = make(map[string]string)
	if from != nil && from.kind == '{' {
		for i, key := range from.names {
			l.data[key] = from.items[i].text
		}
	}
	l.ttl = maxTTL
	if ttl := m.str("android", "ttl"); ttl != "" {
		l.ttl, _ = time.ParseDuration(ttl)
	}
	l.high = strings.EqualFold(m.str("android", "priority"), "high")
	l.collapseKey = m.str("android", "collapse_key")
	l.restricted = m.str("android", "restricted_package_name")
	l.visible = m.at("notification") != nil || m.at("android", "notification") != nil
	l.content = l.notification(m)
}

// notification is the message as the phone gets it; name, app and payload are set
// when they are known. One with a notification is shown by the system and, with
// the app in the background, not handed to it; one without is the app's to show
// (Firebase: "Receive messages in an Android app").
func (l *letter) notification(m *node) device.Notification {
	own := m.at("android", "notification")
	n := device.Notification{
		Alert: l.visible, Wake: !l.visible, Data: l.data, NowOrNever: l.ttl == 0,
		Title:  cmp.Or(own.str("title"), m.str("notification", "title")),
		Body:   cmp.Or(own.str("body"), m.str("notification", "body")),
		LocKey: own.str("body_loc_key"), LocArgs: own.strs("body_loc_args"),
		Sound: own.str("sound"), Category: own.str("click_action"), Tag: own.str("tag"),
	}
	switch strings.ToUpper(own.str("notification_priority")) {
	case "PRIORITY_MIN", "PRIORITY_LOW":
		n.Level = device.Passive
	}
	if count := own.at("notification_count"); count != nil {
		if v, err := strconv.Atoi(count.text); err == nil {
			n.Badge = &v
		}
	}
	return n
}

// judge applies the rules of FCM to a message of the right shape.
func (l *letter) judge(m *node) *failure {
	if m == nil {
		return badMessage("message", "Message is not set.")
	}
	if l.target == "" {
		return badMessage("message", "Recipient of the message is not set.")
	}
	for _, at := range [][]string{{"data"}, {"android", "data"}} {
		for _, key := range names(m.at(at...)) {
			if reserved(key) {
				return badMessage("message."+strings.Join(at, "."), "Invalid data payload key: "+key)
			}
		}
	}
	if ttl, err := time.ParseDuration(cmp.Or(m.str("android", "ttl"), "0s")); err != nil || ttl < 0 || ttl > maxTTL {
		return badMessage("message.android.ttl", fmt.Sprintf("Invalid TTL: it must be from 0s to %ds", int(maxTTL/time.Second)))
	}
	if l.size() > maxPayload {
		return badMessage("message", "Android message is too big")
	}
	switch {
	case l.target == "token" && !tokenForm.MatchString(l.name):
		return badAddress(badToken)
	case l.target == "fid" && !fidForm.MatchString(l.name):
		return badAddress("The Firebase installation ID is not valid")
	case l.target == "topic" && !topicForm.MatchString(strings.TrimPrefix(l.name, "/topics/")):
		return badMessage("message.topic", "Malformed topic name")
	case l.target == "condition" && !strings.Contains(l.name, "in topics"):
		return badMessage("message.condition", "Invalid condition expression provided.")
	}
	return nil
}

// reserved tells whether a data key is Google's own (Firebase: Message.data: "from",
// "message_type", or any word starting with "google." or "gcm."; the emulator
// takes the wider reading without the dot).
func reserved(key string) bool {
	return key == "from" || key == "message_type" || strings.HasPrefix(key, "google") || strings.HasPrefix(key, "gcm")
}

func names(n *node) []string {
	if n == nil {
		return nil
	}
	return n.names
}

func (l *letter) size() int {
	size := len(l.content.Title) + len(l.content.Body)
	for _, key := range slices.Sorted(maps.Keys(l.data)) {
		size += len(key) + len(l.data[key])
	}
	return size
}

// deliver is the one way from an accepted message to a phone and the store in front
// of it. It fails with device.ErrDeviceRate.
func (l *letter) deliver(r *Registration, id string, body []byte, at time.Time) error {
	if r.Phone == nil {
		return nil
	}
	n := l.content
	n.ID, n.App, n.Expires = id, r.App, at.Add(l.ttl).UTC()
	var whole struct {
		Message json.RawMessage `json:"message"`
	}
	_ = json.Unmarshal(body, &whole) // it was read before
	n.Payload = whole.Message
	key := l.collapseKey
	if l.visible {
		// Firebase: "About FCM messages": notification messages are collapsible,
		// by the package name where no key is given.
		key = cmp.Or(key, r.App)
	}
	return r.Phone.AcceptFCM(n, device.FCM{High: l.high, CollapseKey: key})
}
