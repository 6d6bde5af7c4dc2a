package main

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
)

// order is a scripted fault of a vendor: for which requests, and what happens to
// them. It is both what a call asks for and what the list shows.
type order struct {
	// ID names it in the log; given by the program.
	ID int `json:"id,omitempty"`

	// Vendor, or Phone, whose vendor and present address are then meant. Token
	// is an address, "" for every one. Env is Apple's host, Endpoint Google's.
	Vendor   phone.Vendor `json:"vendor,omitempty"`
	Phone    string       `json:"phone,omitempty"`
	Token    string       `json:"token,omitempty"`
	Env      string       `json:"env,omitempty"`
	Endpoint string       `json:"endpoint,omitempty"`
	// Nth is the first request it is for, from 1, counted from now; 0 is 1.
	// Times is how many in a row, 0 is one, below 0 all later ones.
	Nth   int `json:"nth,omitempty"`
	Times int `json:"times,omitempty"`

	// Fault is the name of a kind; what follows changes it, or stands alone.
	Fault  string `json:"fault,omitempty"`
	Status int    `json:"status,omitempty"`
	// Reason is Apple's word, or Google's errorCode.
	Reason string `json:"reason,omitempty"`
	// Timestamp, in RFC 3339 or as a time from now such as "-1h", is that of a
	// 410 of Apple's; without it a 410 says now.
	Timestamp string `json:"timestamp,omitempty"`
	// Message, Field and Quota are Google's text, the field of a BadRequest and
	// the limit of a QuotaFailure: project, device or topic.
	Message    string            `json:"message,omitempty"`
	Field      string            `json:"field,omitempty"`
	Quota      string            `json:"quota,omitempty"`
	RetryAfter string            `json:"retry_after,omitempty"`
	Header     map[string]string `json:"header,omitempty"`
	// Body replaces what is answered, Delay ("5s") passes before it.
	Body  string `json:"body,omitempty"`
	Delay string `json:"delay,omitempty"`
	// Answer is how it ends on the wire: replied, none, reset or closed; at Apple
	// also refused, unseen and black-hole.
	Answer string `json:"answer,omitempty"`
	// Store hands the push to the phone whatever is answered.
	Store bool `json:"store,omitempty"`
	// Of Apple's connection: GoAway is the reason of a GOAWAY ahead of the answer,
	// Streams how many it admits from then on, Then what becomes of it: closes or
	// silence.
	GoAway  string `json:"goaway,omitempty"`
	Streams uint32 `json:"streams,omitempty"`
	Then    string `json:"then,omitempty"`

	// Given counts the requests that got it so far.
	Given int `json:"given"`
}

// orders are the faults that are scripted now.
type orders struct {
	mu   sync.Mutex
	last int
	list []*order
}

// given counts a request that got a fault and gives its words.
func (o *orders) given(name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.list {
		if strconv.Itoa(f.ID) == name {
			f.Given++
			return strings.TrimSpace("scripted fault " + name + " " + f.Fault)
		}
	}
	return "scripted fault " + name
}

func (o *orders) all() []order {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]order, 0, len(o.list))
	for _, f := range o.list {
		out = append(out, *f)
	}
	return out
}

// kindState is a kind of fault as the list tells of it.
type kindState struct {
	Name    string         `json:"name"`
	Help    string         `json:"help"`
	Vendors []phone.Vendor `json:"vendors"`
}

func (h *host) listFaults() any {
	var known []kindState
	for _, k := range kinds() {
		s := kindState{Name: k.name, Help: k.help}
		for _, v := range []phone.Vendor{phone.APNs, phone.FCM} {
			if _, ok := k.of(v); ok {
				s.Vendors = append(s.Vendors, v)
			}
		}
		known = append(known, s)
	}
	return map[string]any{"faults": h.orders.all(), "kinds": known}
}

// clearFaults takes back the faults of a vendor, "" for both.
func (h *host) clearFaults(v phone.Vendor) (any, error) {
	if v != "" && v != phone.APNs && v != phone.FCM {
		return nil, fmt.Errorf("%w: vendor is apns or fcm, or none for both", errUsage)
	}
	h.orders.mu.Lock()
	defer h.orders.mu.Unlock()
	before := len(h.orders.list)
	if v != phone.FCM {
		h.apns.ClearScript()
	}
	if v != phone.APNs {
		h.fcm.ClearScript()
	}
	h.orders.list = slices.DeleteFunc(h.orders.list, func(f *order) bool { return v == "" || f.Vendor == v })
	return map[string]int{"cleared": before - len(h.orders.list)}, nil
}

// dropFault takes one fault back by its id.
func (h *host) dropFault(id string) (any, error) {
	h.orders.mu.Lock()
	defer h.orders.mu.Unlock()
	i := slices.IndexFunc(h.orders.list, func(f *order) bool { return strconv.Itoa(f.ID) == id })
	if i < 0 {
		return nil, errNoFault
	}
	if h.orders.list[i].Vendor == phone.FCM {
		h.fcm.Unscript(id)
	} else {
		h.apns.Unscript(id)
	}
	h.orders.list = slices.Delete(h.orders.list, i, i+1)
	return map[string]int{"cleared": 1}, nil
}

// addFault scripts what the body of a call asks for.
func (h *host) addFault(body []byte) (any, error) {
	o, err := h.readOrder(body)
	if err != nil {
		return nil, err
	}
	h.orders.mu.Lock()
	defer h.orders.mu.Unlock()
	o.ID = h.orders.last + 1
	if o.Vendor == phone.FCM {
		err = h.scriptFCM(o)
	} else {
		err = h.scriptAPNs(o)
	}
	if err != nil {
		return nil, err
	}
	h.orders.last = o.ID
	h.orders.list = append(h.orders.list, o)
	return *o, nil
}

// serveFaults adds the calls about the vendors' faults.
func (h *host) serveFaults(mux *http.ServeMux) {
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) { reply(w, h.listFaults(), nil) })
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, r *http.Request) {
		result, err := h.clearFaults(phone.Vendor(r.FormValue("vendor")))
		reply(w, result, err)
	})
	mux.HandleFunc("DELETE /faults/{id}", func(w http.ResponseWriter, r *http.Request) {
		result, err := h.dropFault(r.PathValue("id"))
		reply(w, result, err)
	})
	mux.HandleFunc("POST /faults", func(w http.ResponseWriter, r *http.Request) {
		body, err := readBody(w, r)
		if err != nil {
			reply(w, nil, err)
			return
		}
		result, err := h.addFault(body)
		reply(w, result, err)
	})
}
