package faultproxy

import (
	"fmt"
	"slices"
	"time"
)

// Kind is what happens to a connection.
type Kind string

// The kinds; see the package's table.
const (
	None      Kind = ""
	Reset     Kind = "reset"
	Truncate  Kind = "truncate"
	BlackHole Kind = "black_hole"
	HalfOpen  Kind = "half_open"
	IdleCut   Kind = "idle_cut"
)

// Way is a direction of bytes.
type Way string

// Up is from the client to the server, Down back.
const (
	Both Way = ""
	Up   Way = "up"
	Down Way = "down"
)

// usualIdle is after how long many proxies cut what says nothing.
const usualIdle = time.Minute

// Fault is what becomes of one connection. The zero value lets it pass.
type Fault struct {
	Kind Kind `json:"kind,omitempty"`
	// Way is the direction that the fault is about; empty is both, and for After
	// the bytes of the server. A black hole with a way loses that one only, and
	// the server is reached.
	Way Way `json:"way,omitempty"`
	// After is how many bytes of the server pass before, or of the client with
	// Way up; not for idle_cut.
	After int64 `json:"after,omitempty"`
	// IdleMS is the patience of idle_cut; 0 is a minute.
	IdleMS int64 `json:"idle_ms,omitempty"`
	// Silent makes idle_cut forget the connection, as a NAT does: half_open
	// instead of FIN.
	Silent bool `json:"silent,omitempty"`
	// LatencyMS is how late each byte is. Up to JitterMS is added; the order
	// stays.
	LatencyMS int64 `json:"latency_ms,omitempty"`
	JitterMS  int64 `json:"jitter_ms,omitempty"`
	// BytesPerSecond is how fast it is; 0 is no limit.
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"`
}

// Check tells what makes no sense.
func (f Fault) Check() error {
	switch {
	case !slices.Contains([]Kind{None, Reset, Truncate, BlackHole, HalfOpen, IdleCut}, f.Kind):
		return fmt.Errorf("faultproxy: unknown kind %q", f.Kind)
	case !slices.Contains([]Way{Both, Up, Down}, f.Way):
		return fmt.Errorf("faultproxy: unknown way %q", f.Way)
	case f.Way != Both && (f.Kind == HalfOpen || f.Kind == IdleCut):
		return fmt.Errorf("faultproxy: %s is about both ways", f.Kind)
	case f.Silent && f.Kind != IdleCut:
		return fmt.Errorf("faultproxy: silent is for idle_cut")
	case min(f.After, f.IdleMS, f.LatencyMS, f.JitterMS, f.BytesPerSecond) < 0:
		return fmt.Errorf("faultproxy: a number below zero in %+v", f)
	case f.Kind == IdleCut && f.After > 0:
		return fmt.Errorf("faultproxy: idle_cut counts no bytes")
	}
	return nil
}

func (f Fault) idle() time.Duration {
	if f.IdleMS == 0 {
		return usualIdle
	}
	return time.Duration(f.IdleMS) * time.Millisecond
}

// about reports whether it is about a direction.
func (f Fault) about(way Way) bool { return f.Way == Both || f.Way == way }

// counts reports whether the bytes of a direction are those of After.
func (f Fault) counts(way Way) bool { return way == f.Way || f.Way == Both && way == Down }

// cuts reports whether it happens after a number of bytes.
func (f Fault) cuts() bool { return f.Kind != None && f.Kind != IdleCut }

// Rule is what becomes of requests.
type Rule struct {
	// Path is the end of the path that it is for, such as "SyncService/Watch";
	// empty is all.
	Path string `json:"path,omitempty"`
	// Times is how many requests it is for; 0 is all.
	Times int `json:"times,omitempty"`
	// Percent is how many of a hundred requests it happens to, the others meet
	// the next rule that fits; 0 is all.
	Percent int `json:"percent,omitempty"`

	// Status answers instead of the server, with RetryAfter seconds if not 0.
	Status     int `json:"status,omitempty"`
	RetryAfter int `json:"retry_after,omitempty"`
	// Copies is how often the server gets it, at most 3; -1 is by chance.
	Copies   int  `json:"copies,omitempty"`
	Together bool `json:"together,omitempty"`
	// DropAnswer loses the answer.
	DropAnswer bool `json:"drop_answer,omitempty"`
	// Buffer holds the answer back until its end.
	Buffer bool `json:"buffer,omitempty"`
	// Cache answers from an earlier answer to the same request, where the server
	// has not forbidden to keep it.
	Cache bool `json:"cache,omitempty"`
	// TruncateBody cuts the client off after that many bytes of the answer's body,
	// unless that is shorter.
	TruncateBody bool  `json:"truncate_body,omitempty"`
	After        int64 `json:"after,omitempty"`
}

// Check tells what makes no sense.
func (r Rule) Check() error {
	switch {
	case r.Times < 0 || r.Percent < 0 || r.Percent > 100 || r.RetryAfter < 0:
		return fmt.Errorf("faultproxy: a number out of range in %+v", r)
	case r.Status != 0 && (r.Status < 400 || r.Status > 599):
		return fmt.Errorf("faultproxy: status %d is no fault", r.Status)
	case r.Cache && (r.Copies != 0 || r.DropAnswer):
		return fmt.Errorf("faultproxy: a cache sends one copy and drops nothing: %+v", r)
	case r.After < 0 || r.After > 0 && !r.TruncateBody:
		return fmt.Errorf("faultproxy: after is for truncate_body, in %+v", r)
	case r.TruncateBody && (r.Cache || r.DropAnswer || r.Status != 0):
		return fmt.Errorf("faultproxy: no body of the server to cut in %+v", r)
	case r.Copies < -1 || r.Copies > 3:
		return fmt.Errorf("faultproxy: %d copies, at most 3", r.Copies)
	}
	return nil
}
