package faultproxy

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// errDropped ends a request whose answer is to be lost.
var errDropped = errors.New("faultproxy: the answer is dropped")

// verdict is what becomes of one request.
type verdict struct {
	Rule

	copies  int
	deliver int // which copy's answer is passed on
}

// judge takes the first rule that fits and is not used up.
func (h *HTTP) judge(r *http.Request) verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts.Requests++
	h.counts.Paths[r.URL.Path]++
	n := h.seen[r.URL.Path]
	h.seen[r.URL.Path]++
	path := fnv.New64a()
	_, _ = io.WriteString(path, r.URL.Path)
	chance := rand.New(rand.NewPCG(h.cfg.Seed^path.Sum64(), n))
	for i := range h.rules {
		rule := &h.rules[i]
		if rule.Times < 0 || !strings.HasSuffix(r.URL.Path, rule.Path) {
			continue
		}
		if rule.Percent > 0 && chance.IntN(100) >= rule.Percent {
			continue
		}
		if rule.Times > 0 {
			if rule.Times--; rule.Times == 0 {
				rule.Times = -1 // used up
			}
		}
		v := verdict{Rule: *rule, copies: max(rule.Copies, 1)}
		if rule.Copies < 0 {
			v.copies = 1 + chance.IntN(3)
		}
		v.deliver = chance.IntN(v.copies)
		return v
	}
	return verdict{copies: 1}
}

func (h *HTTP) count(fn func(*HTTPCounts)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn(&h.counts)
}

// RoundTrip implements http.RoundTripper: it asks the server, or does not.
func (h *HTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	v := h.judge(r)
	way := h.ways[0]
	if r.ProtoMajor == 1 {
		way = h.ways[only1]
	}
	h.count(func(c *HTTPCounts) {
		if r.ProtoMajor == 1 {
			c.HTTP1++
		} else {
			c.HTTP2++
		}
	})
	if v.Status != 0 {
		h.count(func(c *HTTPCounts) { c.Inserted++ })
		return inserted(r, v.Rule), nil
	}
	if v.copies == 1 && !v.DropAnswer && !v.Buffer && !v.Cache {
		h.count(func(c *HTTPCounts) { c.Sent++ })
		return h.cut(v)(way.RoundTrip(r))
	}
	body, err := read(r.Body)
	if err != nil {
		return nil, err
	}
	if v.Cache {
		return h.cached(way, r, body, v)
	}
	if v.Buffer {
		h.count(func(c *HTTPCounts) { c.Buffered++ })
	}
	answers := h.ask(way, r, body, v)
	if v.DropAnswer {
		h.count(func(c *HTTPCounts) { c.Dropped++ })
		return nil, errDropped
	}
	return h.cut(v)(answers[v.deliver].res, answers[v.deliver].err)
}

// cut ends the body of an answer early, if the verdict is that.
func (h *HTTP) cut(v verdict) func(*http.Response, error) (*http.Response, error) {
	return func(res *http.Response, err error) (*http.Response, error) {
		if err == nil && v.TruncateBody {
			h.count(func(c *HTTPCounts) { c.Truncated++ })
			res.Body = &torn{res.Body, v.After}
		}
		return res, err
	}
}

// torn is a body of which only the beginning can be read.
type torn struct {
	io.ReadCloser

	left int64
}

// Read fails where the body is torn, so the client's connection is cut.
func (t *torn) Read(b []byte) (int, error) {
	if t.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := t.ReadCloser.Read(b[:min(int64(len(b)), t.left)])
	t.left -= int64(n)
	return n, err
}

// cached answers as a shared cache does that takes two requests for one when
// path and body are the same, and keeps all that it may.
func (h *HTTP) cached(way http.RoundTripper, r *http.Request, body []byte, v verdict) (*http.Response, error) {
	key := r.Method + " " + r.URL.Path + "\x00" + string(body)
	h.mu.Lock()
	k, ok := h.kept[key]
	h.mu.Unlock()
	if ok {
		h.count(func(c *HTTPCounts) { c.Replayed++ })
		return k.response(r), nil
	}
	a := h.ask(way, r, body, v)[0]
	if a.err != nil || a.res.StatusCode != http.StatusOK || strings.Contains(a.res.Header.Get("Cache-Control"), "no-store") {
		return a.res, a.err
	}
	data, err := read(a.res.Body)
	if err != nil {
		return nil, err
	}
	k = kept{header: a.res.Header.Clone(), trailer: a.res.Trailer.Clone(), body: data}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept[key] = k
	return k.response(r), nil
}

// kept is an answer in the cache.
type kept struct {
	header, trailer http.Header
	body            []byte
}

func (k kept) response(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: k.header.Clone(), Trailer: k.trailer.Clone(), ContentLength: int64(len(k.body)),
		Body: io.NopCloser(bytes.NewReader(k.body)),
	}
}

// answer is one of the server, read to its end.
type answer struct {
	res *http.Response
	err error
}

// ask sends the copies and reads every answer.
func (h *HTTP) ask(way http.RoundTripper, r *http.Request, body []byte, v verdict) []answer {
	answers := make([]answer, v.copies)
	var asking sync.WaitGroup
	for i := range answers {
		one := func() {
			h.count(func(c *HTTPCounts) { c.Sent++ })
			answers[i] = whole(way.RoundTrip(copyOf(r, body)))
		}
		if v.Together {
			asking.Go(one)
		} else {
			one()
		}
	}
	asking.Wait()
	return answers
}

func copyOf(r *http.Request, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.TransferEncoding = nil
	return out
}

// whole reads an answer to its end.
func whole(res *http.Response, err error) answer {
	if err != nil {
		return answer{err: err}
	}
	data, err := read(res.Body)
	if err != nil {
		return answer{err: err}
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	return answer{res: res}
}

// inserted is what a proxy says of its own, in the way of proxies.
func inserted(r *http.Request, rule Rule) *http.Response {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	text := fmt.Sprintf("<html><body><h1>%d %s</h1></body></html>\n", rule.Status, http.StatusText(rule.Status))
	res := &http.Response{
		StatusCode: rule.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/html"}}, ContentLength: int64(len(text)),
		Body: io.NopCloser(strings.NewReader(text)),
	}
	if rule.RetryAfter > 0 {
		res.Header.Set("Retry-After", fmt.Sprint(rule.RetryAfter))
	}
	return res
}
