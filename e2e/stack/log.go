package stack

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Entry is one line of the log that beckon-phones writes: a request to a push
// service, something on a phone's screen, or something its app did.
type Entry struct {
	// Source is apns, fcm, phone or app; Vendor, where there is a phone, whose
	// service calls it.
	Source string `json:"source"`
	Phone  string `json:"phone"`
	Vendor string `json:"vendor"`
	// What happened, and why.
	What   string `json:"what"`
	Why    string `json:"why"`
	Record Record `json:"record"`
}

// Record has what tests and the judge of a run look at, of every source.
type Record struct {
	Time time.Time `json:"time"`
	// Kind is what happened on the phone or in the app.
	Kind string `json:"kind"`
	// ID and Key are the push and the identity under which it shows.
	ID       string `json:"id"`
	Key      string `json:"key"`
	Delivery string `json:"delivery"`
	Task     string `json:"task"`
	Decision string `json:"decision"`
	Action   string `json:"action"`
	Push     string `json:"push"`
	Title    string `json:"title"`
	Body     string `json:"body"`
	Result   *struct {
		Outcome string `json:"outcome"`
		Reason  string `json:"reason"`
	} `json:"result"`

	// Removed counts alerts that were taken off the screen at once.
	Removed int `json:"removed"`

	// Of a request to a push service.
	APNsID     string          `json:"apns_id"`
	CollapseID string          `json:"collapse_id"`
	Status     int             `json:"status"`
	Stored     bool            `json:"stored"`
	Payload    json.RawMessage `json:"payload"`
}

// ReadLog reads a log file; a last line that is still being written is left
// out.
func ReadLog(path string) ([]Entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	var out []Entry
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(out)+1, err)
		}
		out = append(out, e)
	}
	return out, lines.Err()
}
