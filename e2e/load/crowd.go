package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
)

// CrowdVariable, when set, makes the program a crowd of watchers for another
// one that has started it; see [Crowd].
const CrowdVariable = "BECKON_LOAD_CROWD"

// gathering is the first line from the parent: whom to be and how to connect.
type gathering struct {
	URL string `json:"url"`
	// CA is trusted; without it the connections are plain.
	CA []byte `json:"ca,omitempty"`
	// HTTP1 is a connection for each stream; otherwise PerConnection share one.
	HTTP1         bool `json:"http1"`
	PerConnection int  `json:"per_connection"`
	// Seats are the accounts, each with Clients watchers.
	Seats   []seat `json:"seats"`
	Clients int    `json:"clients"`
}

// seat is where watchers of one account begin.
type seat struct {
	Token   string `json:"token"`
	Cursor  []byte `json:"cursor"`
	Horizon []byte `json:"horizon"`
}

// wish is a further line: what to wait for.
type wish struct {
	// Sights is how many changes to have seen, Returns how many watchers to be
	// back after their streams ended.
	Sights  int `json:"sights,omitempty"`
	Returns int `json:"returns,omitempty"`
}

// sight is one change in the hands of one watcher: messages are told apart by
// how many of them the thread has unread then.
type sight struct {
	Seat   int   `json:"s"`
	Unread int   `json:"u"`
	At     int64 `json:"t"` // Unix nanoseconds
}

// recall is one watcher that came back.
type recall struct {
	// Took is from the first byte after the time it was asked to wait until it
	// was level; Handshake the part of it that TLS took.
	Took      time.Duration `json:"took"`
	Handshake time.Duration `json:"handshake"`
	// Tries is how many connections were refused before.
	Tries int `json:"tries"`
}

// report answers each line.
type report struct {
	Sights  []sight  `json:"sights,omitempty"`
	Returns []recall `json:"returns,omitempty"`
	// Resets are cursors that were refused: each would be a bootstrap.
	Resets int    `json:"resets"`
	Failed string `json:"failed,omitempty"`
}

// Crowd is watchers that take wishes from in and answer on out, one JSON line
// each, until in ends. The first answer comes when all are level.
func Crowd(ctx context.Context, in io.Reader, out io.Writer) error {
	lines, answers := json.NewDecoder(in), json.NewEncoder(out)
	var g gathering
	if err := lines.Decode(&g); err != nil {
		return err
	}
	c, err := newCrowd(g)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer c.running.Wait()
	defer cancel()
	n := len(g.Seats) * g.Clients
	err = each(n, crowd, func(i int) error {
		w := &watcher{crowd: c, seat: i % len(g.Seats), connection: i / max(g.PerConnection, 1)}
		w.at = &v1.At{Scope: accountScope(), Cursor: g.Seats[w.seat].Cursor, Horizon: g.Seats[w.seat].Horizon}
		level := make(chan error, 1)
		c.running.Go(func() { w.follow(ctx, level) })
		return <-level
	})
	if err != nil {
		return errors.Join(err, answers.Encode(report{Failed: err.Error()}))
	}
	if err := answers.Encode(report{}); err != nil {
		return err
	}
	for {
		var w wish
		if err := lines.Decode(&w); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := answers.Encode(c.await(w)); err != nil {
			return err
		}
	}
}

// crowdOf is what the watchers share.
type crowdOf struct {
	gathering

	roots   *x509.CertPool
	running sync.WaitGroup

	mu sync.Mutex
	// lines are connections, the last one made for each group of watchers.
	lines map[int]*line
	seen  report
	// changed is told of each thing seen.
	changed *sync.Cond
}

func newCrowd(g gathering) (*crowdOf, error) {
	c := &crowdOf{gathering: g, lines: map[int]*line{}}
	c.changed = sync.NewCond(&c.mu)
	if len(g.CA) > 0 {
		c.roots = x509.NewCertPool()
		if !c.roots.AppendCertsFromPEM(g.CA) {
			return nil, errors.New("no certificate to trust")
		}
	}
	return c, nil
}

// line is one connection, or as many as HTTP/1.1 needs.
type line struct {
	transport *http.Transport
	client    connect.Transport
}

// line gives the connection of a group of watchers; gone is the one that failed.
func (c *crowdOf) line(group int, gone *line) *line {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.lines[group]; l != nil && l != gone {
		return l
	}
	protocols := new(http.Protocols)
	switch {
	case c.HTTP1:
		protocols.SetHTTP1(true)
	case c.roots != nil:
		protocols.SetHTTP2(true)
	default:
		protocols.SetUnencryptedHTTP2(true)
	}
	l := &line{transport: &http.Transport{Protocols: protocols, MaxIdleConns: 1, MaxIdleConnsPerHost: 1}}
	if c.roots != nil {
		l.transport.TLSClientConfig = &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12}
	}
	l.client = connecthttp.NewTransport(&http.Client{Transport: l.transport}, c.URL)
	c.lines[group] = l
	return l
}

// note changes what was seen.
func (c *crowdOf) note(fn func(*report)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(&c.seen)
	c.changed.Broadcast()
}

// await returns what was seen once it is enough, and forgets it.
func (c *crowdOf) await(w wish) report {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.seen.Failed == "" && (len(c.seen.Sights) < w.Sights || len(c.seen.Returns) < w.Returns) {
		c.changed.Wait()
	}
	out := c.seen
	c.seen = report{}
	return out
}

// watch opens a stream with a credential.
func (l *line) watch(ctx context.Context, token string, at *v1.At) (beckonv1connect.SyncServiceWatchClientStream, error) {
	client := connect.NewClient(l.client, func(next connect.ClientFunc) connect.ClientFunc {
		return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
			if info, ok := connect.CallInfoForClientContext(ctx); ok {
				info.RequestHeader().Set("Authorization", "Bearer "+token)
			}
			return next(ctx, spec)
		}
	})
	return beckonv1connect.NewSyncServiceClient(client).Watch(ctx, &v1.WatchRequest{At: []*v1.At{at}})
}
