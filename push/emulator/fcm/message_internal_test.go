package fcm

import (
	"encoding/json"
	"testing"
)

// FuzzReadLetter: whatever is sent, a message that is accepted names one address
// and keeps the limits, and nothing panics.
func FuzzReadLetter(f *testing.F) {
	for _, seed := range []string{
		`{"message":{"topic":"news","data":{"a":"1"},"android":{"ttl":"3.5s","priority":"HIGH","collapseKey":"k"}}}`,
		`{"message":{"token":"abc"},"validate_only":true}`,
		`{"message":{"fid":null,"android":{"notification":{"body_loc_args":["x"],"notification_count":1}}}}`,
		`{"message":[{}]}`, `{"message":{"data":[1]}}`, `{`, `null`, `{"message":{"android":{"ttl":"99999999999999s"}}}`,
	} {
		f.Add([]byte(seed))
	}
	schema := newSchema()
	f.Fuzz(func(t *testing.T, body []byte) {
		l, _, no := readLetter(schema, body)
		if no != nil {
			if !json.Valid(no.body()) || no.status != 400 {
				t.Errorf("refusal = %d %s", no.status, no.body())
			}
			return
		}
		if l.target == "" || l.name == "" || l.ttl < 0 || l.ttl > maxTTL || l.size() > maxPayload || !json.Valid(body) {
			t.Errorf("accepted %+v", l)
		}
	})
}
