package faultproxy

import (
	"encoding/json"
	"errors"
	"net/http"
)

// controlBytes bounds what is said at the control port.
const controlBytes = 64 << 10

// Controls is what a control port says to.
type Controls struct {
	Proxy *Proxy
	// HTTP is nil where requests are not looked into.
	HTTP *HTTP
}

// Handler is the control port. Bodies and answers are JSON; what makes no sense
// is answered with 400 and its reason, and changes nothing.
//
//	POST /next    [fault, …]      for the next new connections, one each
//	POST /all     fault           for every other new connection
//	POST /now     fault           for every open connection
//	POST /rules   [rule, …]       for requests, instead of those there are
//	POST /http1   true or false   new connections speak HTTP/1.1 alone
//	POST /refuse  true or false   nobody listens: connections are refused
//	POST /clear                   nothing happens to what is new, and one listens
//	GET  /counts                  {"connections": …, "requests": …}
func (c Controls) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /next", told(func(faults []Fault) error {
		for _, f := range faults {
			if err := f.Check(); err != nil {
				return err
			}
		}
		c.Proxy.Next(faults...)
		return nil
	}))
	mux.HandleFunc("POST /all", told(func(f Fault) error { return checked(f, c.Proxy.All) }))
	mux.HandleFunc("POST /now", told(func(f Fault) error { return checked(f, c.Proxy.Now) }))
	mux.HandleFunc("POST /clear", func(w http.ResponseWriter, _ *http.Request) {
		c.Proxy.Clear()
		if c.HTTP != nil {
			c.HTTP.Rules()
			c.HTTP.Downgrade(false)
		}
		if err := c.Proxy.Refuse(false); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		say(w, struct{}{})
	})
	mux.HandleFunc("POST /refuse", told(c.Proxy.Refuse))
	mux.HandleFunc("POST /rules", told(c.rules))
	mux.HandleFunc("POST /http1", told(func(on bool) error {
		if c.HTTP == nil {
			return errNoHTTP
		}
		c.HTTP.Downgrade(on)
		return nil
	}))
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		out := struct {
			Connections Counts      `json:"connections"`
			Requests    *HTTPCounts `json:"requests,omitempty"`
		}{Connections: c.Proxy.Counts()}
		if c.HTTP != nil {
			counts := c.HTTP.Counts()
			out.Requests = &counts
		}
		say(w, out)
	})
	return mux
}

// errNoHTTP is what rules meet where only bytes are carried.
var errNoHTTP = errors.New("faultproxy: requests are not looked into here")

func (c Controls) rules(rules []Rule) error {
	if c.HTTP == nil {
		return errNoHTTP
	}
	for _, r := range rules {
		if err := r.Check(); err != nil {
			return err
		}
	}
	c.HTTP.Rules(rules...)
	return nil
}

func checked(f Fault, do func(Fault)) error {
	if err := f.Check(); err != nil {
		return err
	}
	do(f)
	return nil
}

// told reads what is said and does it.
func told[T any](do func(T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var said T
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, controlBytes))
		d.DisallowUnknownFields()
		err := d.Decode(&said)
		if err == nil {
			err = do(said)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		say(w, struct{}{})
	}
}

func say(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what) //nolint:errchkjson // who left does not read it
}
