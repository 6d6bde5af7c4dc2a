package apns_test

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/beckon-dev/beckon/push/emulator/apns"
)

// strict is a client that waits for a free stream instead of dialing again.
func (b *bench) strict() *sender {
	b.t.Helper()
	transport := &http2.Transport{TLSClientConfig: b.tls(), StrictMaxConcurrentStreams: true}
	b.t.Cleanup(transport.CloseIdleConnections)
	return &sender{b: b, http: &http.Client{Transport: transport}}
}

func TestServer_BurstOverOneConnection(t *testing.T) {
	t.Parallel()
	// Fewer senders than streams: Go's client waits for ever in strict mode once
	// more requests wait for a stream than the connection may have
	// (ClientConn.awaitOpenSlotForStreamLocked counts the waiting ones too).
	const pushes, senders = 2000, 200
	b := start(t, apns.Config{Keep: 100})
	s := b.strict()
	s.want(b.good(), 200, "")
	var wg sync.WaitGroup
	work := make(chan int)
	for range senders {
		wg.Go(func() {
			for n := range work {
				p := b.good()
				p.set("apns-collapse-id", strconv.Itoa(n))
				if got, err := s.try(t.Context(), p); err != nil || got.Status != 200 {
					t.Errorf("push %d: %d, %v", n, got.Status, err)
				}
			}
		})
	}
	for n := range pushes {
		work <- n
	}
	close(work)
	wg.Wait()
	if n := b.phone.Rings(bundle); n != pushes+1 {
		t.Errorf("rang %d times, want %d", n, pushes+1)
	}
	if n := b.Log().Len(); n != pushes+1 {
		t.Errorf("%d requests, want %d", n, pushes+1)
	}
	conns := b.Connections()
	if len(conns) != 1 || conns[0].Refused != 0 {
		t.Errorf("connections = %+v, want one without refusals", conns)
	}
}

// BenchmarkServer measures the ceiling the emulator sets for a sender: client and
// server share the machine.
func BenchmarkServer(b *testing.B) {
	t := start(b, apns.Config{Keep: 1000})
	s := t.strict()
	p := t.good()
	s.want(p, 200, "")
	var failed atomic.Int64
	b.SetParallelism(25)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if got, err := s.try(b.Context(), p); err != nil || got.Status != 200 {
				failed.Add(1)
			}
		}
	})
	if n := failed.Load(); n > 0 {
		b.Errorf("%d pushes failed", n)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pushes/s")
}
