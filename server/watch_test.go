package server_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/policy"
)

// level is where a phone stands once it has read everything.
func (p phone) level(t *testing.T, scope *v1.Scope) *v1.At {
	t.Helper()
	page, err := p.Bootstrap(t.Context(), &v1.BootstrapRequest{Scope: scope})
	check(t, err)
	return &v1.At{Scope: scope, Cursor: page.GetCursor(), Horizon: page.GetAsOf()}
}

func wholeAccount() *v1.Scope { return &v1.Scope{Scope: &v1.Scope_Account{Account: true}} }

// watch opens a stream and reads to its CaughtUp.
func (p phone) watch(t *testing.T, at ...*v1.At) beckonv1connect.SyncServiceWatchClientStream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	stream, err := p.Watch(ctx, &v1.WatchRequest{At: at})
	check(t, err)
	for {
		frame, err := stream.Receive()
		check(t, err)
		if frame.GetCaughtUp() != nil {
			return stream
		}
	}
}

// TestWatch: over every transport a stream begins, tells what happens, and ends
// with a Goaway when the server goes away, which does not wait for it.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, tr := range transports(t) {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tr.options...)
			wire := tr.connect(t, s)
			me := claim(t, s, wire)
			agent := me.agent(t, wire)
			at := me.level(t, wholeAccount())
			stream := me.watch(t, at)
			held(t, agent, "watched")
			frame, err := stream.Receive()
			check(t, err)
			if put := frame.GetDelta().GetChanges().GetPut(); len(put) == 0 {
				t.Fatal("a task is told as", frame)
			}
			if n := s.App().OpenStreams(); n != 1 {
				t.Errorf("%d streams are open", n)
			}
			ended := make(chan error, 1)
			go func() { ended <- s.stop() }()
			for frame.GetGoaway() == nil {
				frame, err = stream.Receive()
				check(t, err)
			}
			if from, to := frame.GetGoaway().GetReconnectMin().AsDuration(), frame.GetGoaway().GetReconnectMax().AsDuration(); from <= 0 || to <= from {
				t.Error("come back between", from, to)
			}
			if _, err := stream.Receive(); !errors.Is(err, io.EOF) {
				t.Error("after the Goaway:", err)
			}
			check(t, <-ended)
		})
	}
}

// unread fills a thread with more than any buffer on the way takes.
func unread(t *testing.T, agent api, work *v1.Claim) {
	t.Helper()
	noise := make([]byte, 12<<10) // nothing that compression would make small
	for i := range 12 {
		var items []*v1.ItemDraft
		for n := range 80 {
			_, _ = rand.Read(noise)
			items = append(items, &v1.ItemDraft{
				ClientId: fmt.Sprintf("%d-%d", i, n), Role: v1.ItemRole_ITEM_ROLE_AGENT, Kind: v1.ItemKind_ITEM_KIND_MESSAGE,
				Parts: []*v1.Part{{Part: &v1.Part_Text{Text: base64.StdEncoding.EncodeToString(noise)}}},
			})
		}
		_, err := agent.AppendItems(t.Context(), &v1.AppendItemsRequest{
			TaskId: work.GetTask().GetId(), LeaseId: work.GetLeaseId(), Items: items,
		})
		check(t, err)
	}
}

// A device that is revoked loses its stream within 2 s, whether it reads or not.
func TestWatch_RevokedReader(t *testing.T) {
	t.Parallel()
	for _, tr := range transports(t)[:4] {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tr.options...)
			wire := tr.connect(t, s)
			me := claim(t, s, wire)
			agent := me.agent(t, wire)
			work := held(t, agent, "much")
			inThread := &v1.Scope{Scope: &v1.Scope_ThreadId{ThreadId: work.GetTask().GetThreadId()}}
			from := me.level(t, inThread)
			reads := me.watch(t, me.level(t, wholeAccount()))
			unread(t, agent, work)
			ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
			defer cancel()
			stalled, err := me.Watch(ctx, &v1.WatchRequest{At: []*v1.At{from}})
			check(t, err)
			if frame, err := stalled.Receive(); err != nil || frame.GetHello() == nil {
				t.Fatal(frame, err)
			}
			began := time.Now()
			_, err = me.RevokeInstallation(t.Context(), &v1.RevokeInstallationRequest{InstallationId: me.id})
			check(t, err)
			for err == nil {
				_, err = reads.Receive()
			}
			if code, info := infoOf(t, err); code != connect.CodeUnauthenticated || info.GetReason() != "REVOKED" {
				t.Error("who reads is told", code, info)
			}
			for until := time.NewTicker(time.Millisecond); s.App().OpenStreams() > 0; <-until.C {
				if time.Since(began) > 2*time.Second {
					t.Fatalf("%d streams of a revoked device are open", s.App().OpenStreams())
				}
			}
		})
	}
}

// Nothing between keeps, changes or holds back a stream; too many of one device
// are refused, and the number is on the meter.
func TestWatch_Edge(t *testing.T) {
	t.Parallel()
	limits := policy.BenchLimits()
	limits.StreamsPerDevice = 2
	s := start(t, func(c *server.Config) { c.Limits = &limits })
	wire := transports(t)[0].connect(t, s)
	me := claim(t, s, wire)
	at := me.level(t, wholeAccount())
	me.watch(t, at)
	ctx, info := connect.NewClientContext(t.Context())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	second, err := me.Watch(ctx, &v1.WatchRequest{At: []*v1.At{at}})
	check(t, err)
	_, err = second.Receive()
	check(t, err)
	for name, want := range map[string]string{"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"} {
		if got := info.ResponseHeader().Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	third, err := me.Watch(t.Context(), &v1.WatchRequest{At: []*v1.At{at}})
	if err == nil {
		_, err = third.Receive()
	}
	if code, info := infoOf(t, err); code != connect.CodeResourceExhausted || info.GetReason() != "STREAMS" || info.GetMax() != 2 || info.GetField() != "device" {
		t.Error("a third stream met", code, info)
	}
	client := httpClient(t, func(p *http.Protocols) { p.SetHTTP1(true) }, nil)
	answer, err := client.Get(s.URL() + "/metrics")
	check(t, err)
	metrics, err := io.ReadAll(answer.Body)
	check(t, errors.Join(err, answer.Body.Close()))
	if !strings.Contains(string(metrics), "\nbeckon_open_streams 2\n") {
		t.Error("the meter does not show two streams")
	}
}

// Five hundred watchers hear of one change, once each, and are all sent away.
func TestWatch_Crowd(t *testing.T) {
	t.Parallel()
	s := start(t)
	wire := transports(t)[2] // h2c, 50 streams a connection
	first := wire.connect(t, s)
	me := claim(t, s, first)
	agent := me.agent(t, first)
	at := me.level(t, wholeAccount())
	const crowd, each = 500, 50
	type end struct {
		changes, goaways int
		err              error
	}
	ends := make(chan end, crowd)
	ready := make(chan struct{}, crowd)
	told := make(chan struct{}, crowd)
	var shared api
	for i := range crowd {
		if i%each == 0 {
			shared = as(wire.connect(t, s), me.tokens.GetAccessToken())
		}
		caller := shared
		go func() {
			var e end
			defer func() { ends <- e }()
			stream, err := caller.Watch(t.Context(), &v1.WatchRequest{At: []*v1.At{at}})
			for e.err = err; e.err == nil; {
				var frame *v1.WatchResponse
				switch frame, e.err = stream.Receive(); {
				case frame.GetCaughtUp() != nil:
					ready <- struct{}{}
				case frame.GetDelta() != nil:
					if e.changes++; e.changes == 1 {
						told <- struct{}{}
					}
				case frame.GetGoaway() != nil:
					e.goaways++
				}
			}
		}()
	}
	gather(t, ready, crowd, "are level")
	held(t, agent, "seen by all")
	gather(t, told, crowd, "have heard")
	check(t, s.stop())
	for range crowd {
		if e := <-ends; e.changes == 0 || e.changes > 3 || e.goaways != 1 || !errors.Is(e.err, io.EOF) {
			t.Errorf("a watcher saw %+v", e)
		}
	}
	if n := s.App().OpenStreams(); n != 0 {
		t.Errorf("%d streams are open", n)
	}
}

// gather waits for so many.
func gather(t *testing.T, c <-chan struct{}, n int, what string) {
	t.Helper()
	late := time.After(30 * time.Second)
	for i := range n {
		select {
		case <-c:
		case <-late:
			t.Fatalf("%d of %d %s", i, n, what)
		}
	}
}
