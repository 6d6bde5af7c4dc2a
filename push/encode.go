package push

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// PayloadVersion is the version of the wire shape below.
const PayloadVersion = 1

// Encode writes the payload as providers put it on the wire, under one
// top-level key `beckon`. It is the proto3 JSON of beckon.v1.PushPayload
// (lowerCamelCase names, enum names, 64-bit numbers as strings, RFC 3339 times
// in UTC, empty fields left out):
//
//	{
//	  "v": 1,                                  shape version, always present
//	  "kind": "PUSH_KIND_DECISION_REQUIRED",   or "PUSH_KIND_RESULT_READY"
//	  "account": "…",                          opaque account tag; no match, drop it
//	  "thread": "thr_…", "task": "tsk_…",
//	  "decision": "dec_…",                     decisions only
//	  "revision": 1,                           decisions only, uint32
//	  "askedDigest": "<hex>",                  decisions only
//	  "asOf": "…",                             account stamp to reach before showing more
//	  "badge": {"count": 2, "epoch": "…", "version": "7"},
//	  "expireTime": "2026-01-02T03:04:05.678901Z",
//	  "actions": [{"verb": "approve", "token": "…"}],
//	  "tags": ["…"]                            sweeps only
//	}
//
// Text is not part of it: each vendor has its own place for that. HTML
// characters are not escaped, because agents' words are full of them and each
// would cost six bytes of a small budget.
func (p Payload) Encode() []byte {
	w := wirePayload{
		V:        PayloadVersion,
		Kind:     wireKind(p.Kind),
		Account:  p.Account,
		Thread:   p.Thread,
		Task:     p.Task,
		Decision: p.Decision,
		Asked:    p.Asked,
		AsOf:     p.AsOf,
		Badge:    wireBadge{Count: p.Badge.Count, Epoch: p.Badge.Epoch, Version: wireUint64(p.Badge.Version)},
		Expire:   wireTime(p.ExpiresAt),
		Tags:     p.Tags,
	}
	if p.Decision != "" {
		w.Revision = p.Version
	}
	for _, a := range p.Actions {
		w.Actions = append(w.Actions, wireAction{Verb: string(a.Verb), Token: a.Token})
	}
	return EncodeJSON(w)
}

type wirePayload struct {
	V        int          `json:"v"`
	Kind     string       `json:"kind,omitempty"`
	Account  string       `json:"account,omitempty"`
	Thread   string       `json:"thread,omitempty"`
	Task     string       `json:"task,omitempty"`
	Decision string       `json:"decision,omitempty"`
	Revision uint32       `json:"revision,omitempty"`
	Asked    string       `json:"askedDigest,omitempty"`
	AsOf     string       `json:"asOf,omitempty"`
	Badge    wireBadge    `json:"badge"`
	Expire   string       `json:"expireTime,omitempty"`
	Actions  []wireAction `json:"actions,omitempty"`
	Tags     []string     `json:"tags,omitempty"`
}

type wireBadge struct {
	Count   uint32     `json:"count,omitempty"`
	Epoch   string     `json:"epoch,omitempty"`
	Version wireUint64 `json:"version,omitempty"`
}

type wireAction struct {
	Verb  string `json:"verb"`
	Token string `json:"token"`
}

// wireKind is the enum name of beckon.v1.PushKind.
func wireKind(k Kind) string {
	switch k {
	case DecisionRequired:
		return "PUSH_KIND_DECISION_REQUIRED"
	case ResultReady:
		return "PUSH_KIND_RESULT_READY"
	case Withdraw:
		return "PUSH_KIND_WITHDRAW"
	case Test:
		return "PUSH_KIND_TEST"
	case Sweep:
		return "PUSH_KIND_SWEEP"
	case BadgeOnly:
		return "PUSH_KIND_BADGE"
	default:
		return ""
	}
}

// wireUint64 is a 64-bit number in its proto3 JSON form.
type wireUint64 uint64

func (n wireUint64) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatUint(uint64(n), 10)), nil
}

// wireTime formats to microseconds, with the fixed fraction proto3 JSON wants:
// none or six digits.
func wireTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.UTC().Truncate(time.Microsecond)
	if t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05.000000Z")
}

// EncodeJSON is json.Marshal without HTML escaping. It is for values made of
// plain fields, where encoding cannot fail; a value that can panics.
func EncodeJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("push: encoding a plain value: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
