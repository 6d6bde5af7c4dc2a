package fcm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxBody bounds what is read of a request.
const maxBody = 256 << 10

// request is one request, read to its end.
type request struct {
	method, path string
	header       http.Header
	body         []byte
	at           time.Time
}

// outcome is what is going to be done about a request.
type outcome struct {
	status int
	body   []byte
	header map[string]string
	code   string
	fields []violation
	name   string // of the message
	answer Answer
	stored bool
	// scripted tells that a fault decided.
	scripted bool
	fault    string // its name
}

func fail(f *failure) outcome {
	o := outcome{status: f.status, body: f.body(), code: string(f.code), fields: f.fields, answer: Replied}
	if f.status == http.StatusUnauthorized && f.code == "" {
		o.header = map[string]string{"WWW-Authenticate": `Bearer realm="https://accounts.google.com/", error="invalid_token"`}
	}
	return o
}

// serve takes a request through checks, script, store, record and answer.
func (s *Server) serve(w http.ResponseWriter, hr *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.running.Done()
	r := &request{method: hr.Method, path: hr.URL.Path, header: hr.Header, at: s.now()}
	body, err := io.ReadAll(io.LimitReader(hr.Body, maxBody+1))
	if err != nil {
		panic(http.ErrAbortHandler) // the sender is gone
	}
	r.body = body
	rec := Record{
		Time: r.at.UTC(), Endpoint: SendEndpoint, Proto: hr.Proto, Remote: hr.RemoteAddr,
		Method: r.method, Path: r.path, Bytes: len(body),
	}
	if r.path == tokenPath {
		rec.Endpoint = TokenEndpoint
		s.finish(w, hr, &rec, s.exchange(r, &rec), nil)
		return
	}
	rec.keep(body)
	l, apps, o := s.judge(r, &rec)
	s.finish(w, hr, &rec, o, func(o *outcome) { s.store(r, &rec, &l, apps, o) })
}

// finish lets the script decide about an accepted request, stores, records and
// answers.
func (s *Server) finish(w http.ResponseWriter, hr *http.Request, rec *Record, o outcome, store func(*outcome)) {
	var fault *Fault
	var hold *Hold
	if o.status == http.StatusOK {
		fault, hold = s.script.Next(target{rec.Endpoint, rec.Token})
	}
	if fault != nil {
		o.apply(fault)
	}
	if o.stored && store != nil {
		store(&o)
	}
	rec.Status, rec.Code, rec.Name = o.status, ErrorCode(o.code), o.name
	rec.Answer, rec.Stored, rec.Scripted, rec.Fault = o.answer, o.stored, o.scripted, o.fault
	for _, f := range o.fields {
		rec.Fields = append(rec.Fields, f.Field)
	}
	s.records.Append(*rec)
	if rec.Endpoint == SendEndpoint {
		s.sends.Append(*rec)
	}
	if hold != nil {
		hold.Wait(hr.Context(), *rec)
	}
	if fault != nil && fault.Delay > 0 {
		s.sleep(hr.Context(), fault.Delay)
	}
	answer(w, hr, &o)
}

// judge runs the checks in the order of the package documentation.
func (s *Server) judge(r *request, rec *Record) (letter, []Registration, outcome) {
	project, ok := sendPath(r.path)
	if !ok || r.method != http.MethodPost {
		return letter{}, nil, outcome{
			status: http.StatusNotFound, answer: Replied, header: map[string]string{"Content-Type": "text/html; charset=UTF-8"},
			body: []byte("<!DOCTYPE html><title>Error 404 (Not Found)</title>\n"),
		}
	}
	rec.Project = project
	var no *failure
	if rec.Account, no = s.authorize(r.header.Get("authorization"), project, r.at); no != nil {
		return letter{}, nil, fail(no)
	}
	if len(r.body) > maxBody {
		return letter{}, nil, fail(&failure{status: http.StatusRequestEntityTooLarge, message: "Request payload size exceeds the limit."})
	}
	l, faults, no := readLetter(s.schema, r.body)
	rec.read(&l)
	var apps []Registration
	if no == nil {
		apps, no = s.recipients(&l, project, r.at)
	}
	if no != nil {
		return l, nil, fail(no)
	}
	if kind, _, _ := strings.Cut(r.header.Get("content-type"), ";"); strings.TrimSpace(kind) != "application/json" {
		faults = append(faults, fmt.Sprintf("content type %q", kind))
	}
	if rec.Strict = faults; len(faults) > 0 && !s.lenient {
		return l, nil, fail(&failure{status: http.StatusBadRequest, message: "EmulatorStrict: " + strings.Join(faults, "; "), strict: faults})
	}
	id := "fake_message_id" // Google's answer to validate_only
	if !l.validateOnly {
		id = fmt.Sprintf("0:%d%%%s", r.at.UnixMicro(), randomHex(8))
	}
	name := "projects/" + project + "/messages/" + id
	return l, apps, outcome{
		status: http.StatusOK, body: encode(map[string]string{"name": name}), name: name, answer: Replied, stored: !l.validateOnly,
	}
}

// sendPath returns the project of /v1/projects/{project}/messages:send.
func sendPath(path string) (project string, ok bool) {
	rest, ok1 := strings.CutPrefix(path, "/v1/projects/")
	project, ok2 := strings.CutSuffix(rest, "/messages:send")
	return project, ok1 && ok2 && project != "" && !strings.Contains(project, "/")
}

// recipients finds the apps a letter is for. A condition reaches nobody here.
func (s *Server) recipients(l *letter, project string, now time.Time) ([]Registration, *failure) {
	switch l.target {
	case "topic":
		return s.subscribers(strings.TrimPrefix(l.name, "/topics/"), project), nil
	case "condition":
		return nil, nil
	}
	app, no := s.lookup(l.name, project, now)
	if no != nil {
		return nil, no
	}
	if l.restricted != "" && l.restricted != app.App {
		return nil, badMessage("message.android.restricted_package_name", "The package name of the registration token does not match restricted_package_name")
	}
	return []Registration{app}, nil
}

// store hands a letter to the phones. One above the rate of its device is refused,
// unless a fault has chosen the answer already.
func (s *Server) store(r *request, rec *Record, l *letter, apps []Registration, o *outcome) {
	if l.validateOnly {
		o.stored = false
		return
	}
	for i := range apps {
		if err := l.deliver(&apps[i], o.name, r.body, r.at); err != nil && rec.Target != "topic" {
			o.stored = false
			if !o.scripted {
				no := coded(QuotaExceeded)
				no.quota = DeviceQuota
				*o = fail(no)
			}
		}
	}
}

// apply lets a scripted fault decide about an accepted request.
func (o *outcome) apply(f *Fault) {
	o.scripted, o.fault = true, f.Name
	o.header = maps.Clone(f.Header)
	if o.header == nil {
		o.header = make(map[string]string)
	}
	if f.RetryAfter != "" {
		o.header["Retry-After"] = f.RetryAfter
	}
	o.answer = cmp.Or(f.Answer, Replied)
	if f.Status != 0 && f.Status != http.StatusOK {
		no := f.failure()
		o.status, o.body, o.code, o.fields = no.status, no.body(), string(no.code), no.fields
	}
	if f.Body != nil {
		o.body = f.Body
	}
	o.stored = o.stored && (f.Store || o.status == http.StatusOK && o.answer == Replied)
}

func (f *Fault) failure() *failure {
	no := &failure{status: f.Status, code: f.Code, quota: f.Quota}
	no.message = cmp.Or(f.Message, f.Code.text())
	if f.Code == "" && f.Message == "" {
		no.message = http.StatusText(f.Status)
		if f.Status == http.StatusTooManyRequests {
			no.reason = "RATE_LIMIT_EXCEEDED" // firebase/firebase-admin-go#719
		}
	}
	if f.Field != "" {
		no.fields = []violation{{f.Field, no.message}}
	}
	return no
}

// answer ends the request on the wire.
func answer(w http.ResponseWriter, hr *http.Request, o *outcome) {
	if hr.Context().Err() != nil { // the sender is gone, or the emulator closes
		panic(http.ErrAbortHandler)
	}
	switch o.answer {
	case NoReply:
		<-hr.Context().Done()
		panic(http.ErrAbortHandler)
	case Reset:
		panic(http.ErrAbortHandler) // net/http resets the stream, and logs nothing
	case Closed:
		if c, ok := hr.Context().Value(connKey{}).(net.Conn); ok {
			_ = c.Close()
		}
		panic(http.ErrAbortHandler)
	case Replied:
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=UTF-8")
	h.Set("Content-Length", strconv.Itoa(len(o.body)))
	for name, value := range o.header {
		h.Set(name, value)
	}
	w.WriteHeader(o.status)
	_, _ = w.Write(o.body)
}

// keep notes the body of a request.
func (rec *Record) keep(body []byte) {
	if json.Valid(body) {
		rec.Payload = body
	} else {
		rec.Raw = body[:min(len(body), 16<<10)]
	}
}

// read notes what a body says.
func (rec *Record) read(l *letter) {
	rec.Target, rec.Token, rec.ValidateOnly = l.target, l.name, l.validateOnly
	if l.data == nil {
		return // there was no message
	}
	rec.Data, rec.CollapseKey, rec.Size = l.data, l.collapseKey, l.size()
	rec.TTL = strconv.FormatFloat(l.ttl.Seconds(), 'f', -1, 64) + "s"
	rec.Priority = "normal"
	if l.high {
		rec.Priority = "high"
	}
}
