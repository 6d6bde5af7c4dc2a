package apns

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// outcome is what is going to be done about a request.
type outcome struct {
	id       string // apns-id
	status   int
	reason   Reason
	header   map[string]string
	body     []byte
	answer   Answer
	stored   bool
	scripted bool
	fault    string // name of the scripted one
}

// handle takes a whole request through checks, script, store, record and answer.
func (c *conn) handle(st *stream) {
	r := st.request
	v := c.srv.check(&c.bearers, c.env, r, c.raise)
	o := c.judge(r, &v)
	var fault *Fault
	var hold *Hold
	if v.reason == "" {
		fault, hold = c.srv.script.Next(target{c.env, v.phone.Token, c.number})
	}
	if fault != nil {
		o.apply(fault)
	}
	if looked := fault == nil || fault.looksAt(); looked && !c.lookAt(r.stream) {
		return // GOAWAY told the client meanwhile that nobody did
	}
	if o.stored {
		v.content.ID = o.id
		v.phone.deliver(v.content)
	}
	if o.answer == BlackHoled {
		c.dead.Store(true) // before the record, so that who has read it knows
	}
	rec := c.record(r, &v, &o)
	c.srv.records.Append(rec)
	if hold != nil {
		hold.Wait(st.ctx, rec)
	}
	if fault == nil {
		c.answer(st, &o)
		return
	}
	if fault.Delay > 0 {
		c.srv.sleep(st.ctx, fault.Delay)
	}
	if fault.Streams != 0 {
		c.admit(fault.Streams)
	}
	if fault.GoAway != "" && !c.goAway(r.stream, o.answer == Unseen, fault.GoAway) {
		o.answer = Refused
	}
	if fault.Then == ThenSilence {
		c.deaf.Store(true) // the answer itself may bring the next request
	}
	c.answer(st, &o)
	c.then(fault.Then)
}

// judge turns the verdict of the checks into an answer.
func (c *conn) judge(r *request, v *verdict) outcome {
	o := outcome{id: r.header["apns-id"], status: 200, reason: v.reason, answer: Replied, header: map[string]string{}}
	if !validUUID(o.id) {
		o.id = newUUID()
	}
	if v.reason != "" {
		o.status = v.reason.Status()
		o.body = errorBody(v.reason, v.at.UnixMilli(), v.strict)
		return o
	}
	o.stored = true
	if c.env == Sandbox {
		// Apple: "Handling notification responses from APNs", development only.
		o.header["apns-unique-id"] = newUUID()
	}
	return o
}

// apply lets a scripted fault decide about an accepted request.
func (o *outcome) apply(f *Fault) {
	o.scripted, o.fault = true, f.Name
	if f.Answer != "" {
		o.answer = f.Answer
	}
	if f.Status != 0 {
		o.status, o.reason = f.Status, f.Reason
	}
	if o.status != 200 {
		delete(o.header, "apns-unique-id")
		if f.Reason != "" {
			o.body = errorBody(f.Reason, f.Timestamp.UnixMilli(), nil)
		}
	}
	if f.Body != nil {
		o.body = f.Body
	}
	maps.Copy(o.header, f.Header)
	o.stored = f.Store || o.status == 200 && o.answer == Replied
}

// errorBody is the JSON of a refusal. A 410 says since when, in milliseconds.
func errorBody(reason Reason, at int64, strict []string) []byte {
	body := struct {
		Reason    Reason   `json:"reason"`
		Timestamp int64    `json:"timestamp,omitempty"`
		Strict    []string `json:"strict,omitempty"`
	}{Reason: reason}
	switch reason {
	case Unregistered, ExpiredToken:
		body.Timestamp = at
	case EmulatorStrict:
		body.Strict = strict
	default: // Apple says nothing but the reason
	}
	out, err := json.Marshal(body)
	if err != nil {
		panic("strings and a number always encode: " + err.Error())
	}
	return out
}

// answer ends the request on the wire.
func (c *conn) answer(st *stream, o *outcome) {
	switch o.answer {
	case Replied:
		c.reply(st, o)
	case Reset:
		c.reset(st.request.stream, http2.ErrCodeInternal)
	case Refused:
		c.reset(st.request.stream, http2.ErrCodeRefusedStream)
	case Closed:
		_ = c.nc.Close()
	case BlackHoled, NoReply, Unseen:
	}
}

// reply writes status, headers and body. The stream is forgotten before its last
// frame leaves, for the client may open the next one as soon as it sees it.
func (c *conn) reply(st *stream, o *outcome) {
	id := st.request.stream
	if st.ctx.Err() != nil {
		return
	}
	if len(o.body) == 0 {
		c.drop(id)
	}
	c.write(func() error { return c.writeHeader(id, o) })
	for body := o.body; len(body) > 0; {
		n := c.reserve(st, min(len(body), maxFaultBody))
		if n == 0 {
			return
		}
		part, last := body[:n], n == len(body)
		body = body[n:]
		if last {
			c.drop(id)
		}
		c.write(func() error { return c.framer.WriteData(id, last, part) })
	}
}

// writeHeader encodes a response header; the right to write frames is held, which
// keeps the encoder's table in step with the wire.
func (c *conn) writeHeader(id uint32, o *outcome) error {
	c.encoded.Reset()
	fields := []hpack.HeaderField{{Name: ":status", Value: strconv.Itoa(o.status)}, {Name: "apns-id", Value: o.id}}
	for _, name := range slices.Sorted(maps.Keys(o.header)) {
		fields = append(fields, hpack.HeaderField{Name: strings.ToLower(name), Value: o.header[name]})
	}
	for _, f := range fields {
		if err := c.encoder.WriteField(f); err != nil {
			return err
		}
	}
	return c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: c.encoded.Bytes(), EndHeaders: true, EndStream: len(o.body) == 0,
	})
}
