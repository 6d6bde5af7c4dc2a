package fcm

import (
	"encoding/json"
	"time"
)

// Record is one line of the request log: what came and what became of it.
type Record struct {
	Time     time.Time `json:"time"`
	Endpoint Endpoint  `json:"endpoint"`
	Proto    string    `json:"proto"` // HTTP/1.1 or HTTP/2.0
	Remote   string    `json:"remote"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	// Account is the service account, once its assertion or access token was
	// known.
	Account string `json:"account,omitempty"`
	Project string `json:"project,omitempty"`

	// Target is token, fid, topic or condition, Token what it names.
	Target       string            `json:"target,omitempty"`
	Token        string            `json:"token,omitempty"`
	Data         map[string]string `json:"data,omitempty"`
	Priority     string            `json:"priority,omitempty"` // normal or high
	TTL          string            `json:"ttl,omitempty"`
	CollapseKey  string            `json:"collapse_key,omitempty"`
	ValidateOnly bool              `json:"validate_only,omitempty"`

	// Bytes is the size of the body on the wire, Size what FCM's limit counts.
	Bytes int `json:"bytes"`
	Size  int `json:"size,omitempty"`
	// Payload is the body when it is JSON, else Raw has its beginning. The body of
	// a request for an access token is not kept: its assertion is a credential.
	Payload json.RawMessage `json:"payload,omitempty"`
	Raw     []byte          `json:"raw,omitempty"`

	Status int `json:"status"`
	// Code is the errorCode of the FcmError, "" without one; for the token endpoint
	// its error.
	Code ErrorCode `json:"code,omitempty"`
	// Fields are those of a google.rpc.BadRequest.
	Fields []string `json:"fields,omitempty"`
	// Name is the message's name, also where the sender does not hear it.
	Name string `json:"name,omitempty"`
	// Answer tells what the sender gets to see; a status that is not sent is what
	// it would have been.
	Answer Answer `json:"answer"`
	// Stored tells that the message was accepted for the phone, whatever the
	// answer.
	Stored bool `json:"stored"`
	// Scripted tells that a scripted fault decided the answer.
	Scripted bool `json:"scripted,omitempty"`
	// Fault is its name, where it has one.
	Fault string `json:"fault,omitempty"`
	// Strict lists what the emulator found wrong beyond Google's own checks.
	Strict []string `json:"strict,omitempty"`
}
