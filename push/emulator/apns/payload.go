package apns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/beckon-dev/beckon/push/emulator/device"
)

// aps is the part of a payload that the system reads.
type aps struct {
	alert            bool
	title, subtitle  string
	body             string
	locKey           string
	locArgs          []string
	badge            *int
	sound            string
	hasSound         bool
	threadID         string
	category         string
	contentAvailable bool
	mutableContent   bool
	level            device.Level
}

// parsePayload reads a body of a push type and lists everything in it that Apple's
// documentation has no place for. The result is usable even then, for a lenient
// emulator shows what a phone would make of it.
func parsePayload(body []byte, pushType string) (aps, []string) {
	var a aps
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var top map[string]json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&top); err != nil || top == nil {
		return a, []string{"the body is not a JSON object"}
	}
	if _, err := dec.Token(); err != io.EOF {
		fault("the body goes on after the JSON object")
	}
	raw, ok := top["aps"]
	if !ok {
		// A VoIP push is read by the app alone.
		if pushType != "voip" {
			fault("there is no aps dictionary")
		}
		return a, faults
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return a, append(faults, "aps is not a dictionary")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		read, known := apsFields[name]
		switch {
		case !known:
			fault("aps has no key %q", name)
		case !read(&a, fields[name]):
			fault("aps.%s has the wrong shape", name)
		}
	}
	return a, append(faults, a.mismatches(pushType)...)
}

// mismatches compares the payload with the push type (Apple: "the value of this
// header must accurately reflect the contents of your notification's payload").
func (a *aps) mismatches(pushType string) []string {
	visible := a.alert || a.badge != nil || a.hasSound
	switch {
	case pushType == "alert" && !visible:
		return []string{"push type alert without alert, badge or sound"}
	case pushType == "background" && !a.contentAvailable:
		return []string{"push type background without content-available"}
	case pushType == "background" && visible:
		return []string{"push type background with alert, badge or sound"}
	}
	return nil
}

// apsFields has the keys of Apple's "Generating a remote notification" and of
// "Starting and updating Live Activities with ActivityKit push notifications".
var apsFields = map[string]func(*aps, json.RawMessage) bool{
	"alert":              (*aps).readAlert,
	"badge":              (*aps).readBadge,
	"sound":              (*aps).readSound,
	"thread-id":          func(a *aps, v json.RawMessage) bool { return read(v, &a.threadID) },
	"category":           func(a *aps, v json.RawMessage) bool { return read(v, &a.category) },
	"content-available":  func(a *aps, v json.RawMessage) bool { return readFlag(v, &a.contentAvailable) },
	"mutable-content":    func(a *aps, v json.RawMessage) bool { return readFlag(v, &a.mutableContent) },
	"interruption-level": (*aps).readLevel,
	"relevance-score":    isNumber,
	"target-content-id":  isText,
	"filter-criteria":    isText,
	"url-args":           isTexts,
	"content-changed":    isBool,
	"timestamp":          isNumber,
	"event":              isText,
	"content-state":      isObject,
	"stale-date":         isNumber,
	"dismissal-date":     isNumber,
	"attributes-type":    isText,
	"attributes":         isObject,
	"input-push-token":   isNumber,
	"input-push-channel": isText,
}

var alertFields = map[string]func(*aps, json.RawMessage) bool{
	"title":             func(a *aps, v json.RawMessage) bool { return read(v, &a.title) },
	"subtitle":          func(a *aps, v json.RawMessage) bool { return read(v, &a.subtitle) },
	"body":              func(a *aps, v json.RawMessage) bool { return read(v, &a.body) },
	"launch-image":      isText,
	"title-loc-key":     isText,
	"title-loc-args":    isTexts,
	"subtitle-loc-key":  isText,
	"subtitle-loc-args": isTexts,
	"loc-key":           func(a *aps, v json.RawMessage) bool { return read(v, &a.locKey) },
	"loc-args":          func(a *aps, v json.RawMessage) bool { return read(v, &a.locArgs) },
	"sound":             isText, // of a live activity's alert
}

func (a *aps) readAlert(v json.RawMessage) bool {
	a.alert = true
	if read(v, &a.body) {
		return true
	}
	var fields map[string]json.RawMessage
	if !read(v, &fields) {
		return false
	}
	for name, value := range fields {
		if read, known := alertFields[name]; !known || !read(a, value) {
			return false
		}
	}
	return len(fields) > 0
}

func (a *aps) readBadge(v json.RawMessage) bool {
	var n int
	if !read(v, &n) || n < 0 {
		return false
	}
	a.badge = &n
	return true
}

func (a *aps) readSound(v json.RawMessage) bool {
	a.hasSound = true
	if read(v, &a.sound) {
		return true
	}
	var critical struct {
		Critical *int     `json:"critical"`
		Name     string   `json:"name"`
		Volume   *float64 `json:"volume"`
	}
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.DisallowUnknownFields()
	if dec.Decode(&critical) != nil || isNull(v) {
		return false
	}
	a.sound = critical.Name
	return critical.Name != ""
}

func (a *aps) readLevel(v json.RawMessage) bool {
	if !read(v, &a.level) {
		return false
	}
	return slices.Contains([]device.Level{device.Passive, device.Active, device.TimeSensitive, device.Critical}, a.level)
}

// read decodes a value that must not be null: a null in JSON leaves Go's zero
// value behind without an error.
func read[T any](v json.RawMessage, into *T) bool {
	return !isNull(v) && json.Unmarshal(v, into) == nil
}

func isNull(v json.RawMessage) bool { return string(bytes.TrimSpace(v)) == "null" }

func readFlag(v json.RawMessage, into *bool) bool {
	var n int
	if !read(v, &n) || n < 0 || n > 1 {
		return false
	}
	*into = n == 1
	return true
}

func isText(_ *aps, v json.RawMessage) bool   { return read(v, new(string)) }
func isTexts(_ *aps, v json.RawMessage) bool  { return read(v, new([]string)) }
func isNumber(_ *aps, v json.RawMessage) bool { return read(v, new(float64)) }
func isBool(_ *aps, v json.RawMessage) bool   { return read(v, new(bool)) }
func isObject(_ *aps, v json.RawMessage) bool { return read(v, new(map[string]json.RawMessage)) }
