package apns

import (
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// request is one push as it came over the wire.
type request struct {
	stream    uint32
	method    string
	path      string
	header    map[string]string
	duplicate bool
	body      []byte // cut at bodyKept
	size      int    // bytes on the wire
	at        time.Time
}

// bodyKept bounds the memory of one request; more is counted, not kept.
const bodyKept = 16 << 10

func newRequest(f *http2.MetaHeadersFrame) *request {
	r := &request{
		stream: f.StreamID,
		method: f.PseudoValue("method"),
		path:   f.PseudoValue("path"),
		header: make(map[string]string, len(f.Fields)),
	}
	for _, field := range f.RegularFields() {
		// RFC 9113 §8.2.3 lets a client split cookies for compression.
		if _, twice := r.header[field.Name]; twice && field.Name != "cookie" {
			r.duplicate = true
		}
		r.header[field.Name] = field.Value
	}
	return r
}

func (r *request) write(p []byte) {
	r.size += len(p)
	if room := bodyKept - len(r.body); room > 0 {
		r.body = append(r.body, p[:min(room, len(p))]...)
	}
}

const devicePath = "/3/device/"

// token returns what the path has in the place of the device token.
func (r *request) token() string { return strings.TrimPrefix(r.path, devicePath) }
