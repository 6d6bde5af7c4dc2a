package resume

import (
	"context"
	"path"
	"sync"

	"connectrpc.com/connect/v2"
)

// Fault is what a [Wire] does to one call.
type Fault int

// The faults.
const (
	// None lets the call pass.
	None Fault = iota
	// Lose carries it out and loses its answer.
	Lose
	// DieBefore cuts the wire before the server has heard of it, for ever.
	DieBefore
	// DieAfter carries it out and cuts the wire, for ever.
	DieAfter
)

// Wire is one worker's way to the server. Heartbeats pass it until it is cut and
// are not counted, since they come and go with time.
type Wire struct {
	inner connect.Transport
	// plan says what becomes of a call, by the number of those of its name, from 1.
	plan func(n int, procedure string) Fault

	mu    sync.Mutex
	calls map[string]int
	cut   context.CancelFunc
	gone  context.Context //nolint:containedctx // it is the wire's own end
}

// NewWire leads to inner. A nil plan lets everything pass.
func NewWire(inner connect.Transport, plan func(n int, procedure string) Fault) *Wire {
	gone, cut := context.WithCancel(context.Background())
	if plan == nil {
		plan = func(int, string) Fault { return None }
	}
	return &Wire{inner: inner, plan: plan, calls: map[string]int{}, gone: gone, cut: cut}
}

// Cut is the death of the worker as the server sees it: nothing comes any more.
func (w *Wire) Cut() { w.cut() }

// Gone is closed once it was cut.
func (w *Wire) Gone() <-chan struct{} { return w.gone.Done() }

// Calls is how often a procedure was called.
func (w *Wire) Calls(procedure string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[procedure]
}

// NewClientStream implements connect.Transport.
func (w *Wire) NewClientStream(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
	if w.gone.Err() != nil {
		return nil, down()
	}
	procedure := path.Base(spec.Procedure)
	fault := None
	if procedure != "Heartbeat" {
		w.mu.Lock()
		w.calls[procedure]++
		fault = w.plan(w.calls[procedure], procedure)
		w.mu.Unlock()
	}
	if fault == DieBefore {
		w.cut()
		return nil, down()
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(w.gone, cancel)
	stream, err := w.inner.NewClientStream(ctx, spec)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	return &wired{ClientStream: stream, wire: w, fault: fault, end: func() { stop(); cancel() }}, nil
}

// down is what a client sees of a server that is not there.
func down() error { return connect.NewError(connect.CodeUnavailable, "the wire is cut") }

type wired struct {
	connect.ClientStream

	wire  *Wire
	fault Fault
	end   func()
}

func (s *wired) Receive(msg any) error {
	err := s.ClientStream.Receive(msg)
	switch s.fault {
	case DieAfter:
		s.wire.cut()
	case Lose:
		s.fault = None
		return connect.NewError(connect.CodeUnavailable, "the answer got lost")
	default:
	}
	if s.wire.gone.Err() != nil {
		return down()
	}
	return err
}

func (s *wired) Close() error {
	defer s.end()
	return s.ClientStream.Close()
}
