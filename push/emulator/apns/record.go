package apns

import (
	"encoding/json"
	"time"
)

// Record is one line of the request log: what came, from where, and what became of
// it. Header values stand as sent; an absent one is empty.
type Record struct {
	Time   time.Time `json:"time"`
	Env    Env       `json:"env"`
	Conn   int       `json:"conn"`   // number of the connection, from 1
	Stream uint32    `json:"stream"` // HTTP/2 stream id
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Token  string    `json:"token"` // device token as sent

	Topic      string `json:"topic,omitempty"`
	PushType   string `json:"push_type,omitempty"`
	Priority   string `json:"priority,omitempty"`
	Expiration string `json:"expiration,omitempty"`
	CollapseID string `json:"collapse_id,omitempty"`
	// ID is the apns-id answered: the one sent, or a new one.
	ID string `json:"apns_id"`
	// KeyID and IssuedAt are from the provider token, once its signature held.
	KeyID    string     `json:"kid,omitempty"`
	IssuedAt *time.Time `json:"iat,omitempty"`

	// Bytes is the size of the body on the wire.
	Bytes int `json:"bytes"`
	// Payload is the body when it is JSON, else Raw has its beginning.
	Payload json.RawMessage `json:"payload,omitempty"`
	Raw     []byte          `json:"raw,omitempty"`

	Status int    `json:"status"`
	Reason Reason `json:"reason,omitempty"`
	// Answer tells what the sender gets to see; a status that is not sent is what
	// it would have been.
	Answer Answer `json:"answer"`
	// Stored tells that the push went to the phone, whatever the answer.
	Stored bool `json:"stored"`
	// Scripted tells that a scripted fault decided the answer.
	Scripted bool `json:"scripted,omitempty"`
	// Fault is its name, where it has one.
	Fault string `json:"fault,omitempty"`
	// Strict lists what the emulator found wrong beyond Apple's own checks.
	Strict []string `json:"strict,omitempty"`
}

// record writes down a request and its verdict.
func (c *conn) record(r *request, v *verdict, o *outcome) Record {
	rec := Record{
		Time: r.at.UTC(), Env: c.env, Conn: c.number, Stream: r.stream,
		Method: r.method, Path: r.path, Token: r.token(),
		Topic: r.header["apns-topic"], PushType: r.header["apns-push-type"], Priority: r.header["apns-priority"],
		Expiration: r.header["apns-expiration"], CollapseID: r.header["apns-collapse-id"],
		ID: o.id, KeyID: v.bearer.key.ID, Bytes: r.size,
		Status: o.status, Reason: o.reason, Answer: o.answer, Stored: o.stored, Scripted: o.scripted, Fault: o.fault, Strict: v.strict,
	}
	if !v.bearer.issued.IsZero() {
		issued := v.bearer.issued.UTC()
		rec.IssuedAt = &issued
	}
	if json.Valid(r.body) {
		rec.Payload = r.body
	} else {
		rec.Raw = r.body
	}
	return rec
}
