package apns

import (
	"encoding/json"
	"testing"
)

func FuzzParsePayload(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `{"aps":null}`, `{"aps":{}}`, `{"aps":{"alert":null}}`,
		`{"aps":{"alert":"a","badge":0,"sound":{"critical":1,"name":"x","volume":1}}}`,
		`{"aps":{"alert":{"title":"a","loc-args":["b"]},"interruption-level":"passive"}}`,
		`{"aps":{"content-available":1}}`, `{"aps":{"alert":"\ud800"}} x`,
	} {
		f.Add([]byte(seed), "alert")
		f.Add([]byte(seed), "background")
	}
	f.Fuzz(func(t *testing.T, body []byte, pushType string) {
		a, faults := parsePayload(body, pushType)
		var object map[string]any
		if json.Unmarshal(body, &object) != nil || object == nil {
			if len(faults) == 0 {
				t.Error("what is not a JSON object passed")
			}
			return
		}
		if _, ok := object["aps"].(map[string]any); !ok && len(faults) == 0 && pushType != "voip" {
			t.Error("a payload without an aps dictionary passed")
		}
		if a.badge != nil && *a.badge < 0 {
			t.Error("a negative badge was read")
		}
		if len(faults) == 0 && pushType == "background" && (a.alert || a.badge != nil || !a.contentAvailable) {
			t.Error("a background push that shows something passed")
		}
	})
}
