package alerts

import (
	"encoding/json"
	"maps"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

// Mutation makes one thing go wrong beside the code that is judged. The zero value
// changes nothing. One is good for one story.
type Mutation struct {
	// Send stands between worker and vendor; send is the way on.
	Send func(row push.Delivery, m push.Message, send func(push.Message) push.Verdict) push.Verdict
	// Silence ends a row as suppressed right before its send.
	Silence func(row push.Delivery) bool
	// Receive stands between phone and app; false keeps a push from it.
	Receive func(a *phone.App, n device.Notification) (device.Notification, bool)
}

// Retag is a push with another account's tag in its payload.
func Retag(n device.Notification, tag string) device.Notification {
	change := func(beckon map[string]any) { beckon["account"] = tag }
	if n.Data != nil {
		var beckon map[string]any
		if json.Unmarshal([]byte(n.Data["beckon"]), &beckon) == nil {
			change(beckon)
			n.Data = maps.Clone(n.Data)
			n.Data["beckon"] = string(push.EncodeJSON(beckon))
		}
		return n
	}
	var whole map[string]any
	if json.Unmarshal(n.Payload, &whole) != nil {
		return n
	}
	if beckon, ok := whole["beckon"].(map[string]any); ok {
		change(beckon)
		n.Payload = push.EncodeJSON(whole)
	}
	return n
}
