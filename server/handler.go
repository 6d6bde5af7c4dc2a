package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/beckon-dev/beckon/server/rpc"
)

// guard is what holds for every request of the port: only names of this server
// are answered, so that a page of another site cannot reach a server on
// loopback by a name of its own, and nothing is cached.
func guard(next http.Handler, publicURL string) http.Handler {
	own := ""
	if u, err := url.Parse(publicURL); err == nil {
		own = u.Hostname()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers(own, r.Host) {
			http.Error(w, "not a name of this server", http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// limitBody cuts off bodies that are larger than any call's.
func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.MaxBytesHandler(next, rpc.BodyLimit(r)).ServeHTTP(w, r)
	})
}

// answers reports whether a request for host is meant for this server: its
// public name, or loopback by number or by its usual name.
func answers(own, host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if name == own || name == "localhost" {
		return true
	}
	if n := len(name); n > 2 && name[0] == '[' && name[n-1] == ']' {
		name = name[1 : n-1]
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}
