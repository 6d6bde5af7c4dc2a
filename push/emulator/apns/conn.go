package apns

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// Streams a connection may open before and, unless configured, after the first
	// valid provider token, as seen at Apple's servers.
	firstStreams = 1
	allStreams   = 1000

	initialWindow = 65535 // RFC 9113 §6.9.2
	// connWindow is what a client may send on all streams together before it
	// has to wait for an update.
	connWindow     = 1 << 20
	maxHeaderBytes = 16 << 10
)

// conn is one HTTP/2 connection. net/http's server cannot change the stream limit
// in mid-life, refuse a stream or fall silent, and these are what a sender has to
// survive; so frames are handled here.
type conn struct {
	srv     *Server
	env     Env
	number  int
	nc      *tls.Conn
	framer  *http2.Framer
	bearers bearerHistory
	serving sync.WaitGroup // one goroutine per complete request
	dead    atomic.Bool    // a black hole: reads on, writes nothing
	deaf    atomic.Bool    // about to become one: what comes now is not looked at
	// turnedAway is settled before the connection is known to anybody.
	turnedAway bool

	out     sync.Mutex // guards all below up to the blank line, and writing frames
	writers atomic.Int32
	buffer  *bufio.Writer
	encoded bytes.Buffer
	encoder *hpack.Encoder

	mu         sync.Mutex
	open       bool
	streams    map[uint32]*stream
	lastID     uint32
	opened     int
	refused    int
	limits     []uint32 // sent and not acknowledged, oldest first
	limit      uint32   // acknowledged
	raised     bool
	looked     uint32 // the highest stream that something was done about
	handling   int    // requests whose goroutine has not ended
	leaving    bool   // GOAWAY was sent, naming last
	last       uint32
	shut       bool  // nothing more is sent
	window     int64 // what may be sent on the connection
	peerWindow int64 // what may be sent on a new stream
	windowed   chan struct{}
	unreturned uint32 // received bytes not yet given back
}

type stream struct {
	request *request
	ctx     context.Context //nolint:containedctx // ends with the stream, handed to its goroutine
	cancel  context.CancelFunc
	ended   bool  // the client has sent everything
	window  int64 // what may be sent
}

func newConn(s *Server, env Env, number int, nc *tls.Conn) *conn {
	c := &conn{
		srv: s, env: env, number: number, nc: nc, open: true,
		buffer:  bufio.NewWriterSize(nc, 8<<10),
		streams: make(map[uint32]*stream),
		// Before the client acknowledged a limit it does not know of any.
		limit:      ^uint32(0),
		window:     initialWindow,
		peerWindow: initialWindow,
		windowed:   make(chan struct{}),
	}
	c.encoder = hpack.NewEncoder(&c.encoded)
	c.framer = http2.NewFramer(c.buffer, bufio.NewReaderSize(nc, 16<<10))
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.framer.MaxHeaderListSize = maxHeaderBytes
	c.framer.SetReuseFrames()
	return c
}

// serve runs the connection until either side ends it, and waits for its requests.
func (c *conn) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(ctx, func() { _ = c.nc.Close() })
	err := c.greet(ctx)
	for err == nil {
		err = c.readFrame(ctx)
	}
	if broken, ok := errors.AsType[http2.ConnectionError](err); ok {
		c.write(func() error { return c.framer.WriteGoAway(c.lastID, http2.ErrCode(broken), nil) })
	}
	c.mu.Lock()
	c.open = false
	c.mu.Unlock()
	unhook()
	cancel()
	_ = c.nc.Close()
	c.serving.Wait()
	c.framer, c.buffer, c.encoder = nil, nil, nil // the server keeps c for its counts only
	c.srv.connEnded()
	c.srv.log.Debug("apns emulator connection ended", "conn", c.number, "error", err)
}

// greet does the handshakes of TLS and HTTP/2. A client that did not choose h2 by
// ALPN is turned away: one that offers only HTTP/1.1 fails in the TLS handshake,
// one that offers nothing is closed.
func (c *conn) greet(ctx context.Context) error {
	if err := c.nc.HandshakeContext(ctx); err != nil {
		return err
	}
	if c.nc.ConnectionState().NegotiatedProtocol != "h2" {
		return errors.New("no HTTP/2 by ALPN")
	}
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c.nc, preface); err != nil {
		return err
	}
	if string(preface) != http2.ClientPreface {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	c.write(func() error {
		c.announce(firstStreams)
		return errors.Join(
			c.framer.WriteSettings(
				http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: firstStreams},
				http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHeaderBytes},
			),
			c.framer.WriteWindowUpdate(0, connWindow-initialWindow),
		)
	})
	return nil
}

// raise tells the client, once, that it may open many streams.
func (c *conn) raise() {
	c.mu.Lock()
	if c.raised {
		c.mu.Unlock()
		return
	}
	c.raised = true
	c.mu.Unlock()
	c.admit(c.srv.streams)
}

// admit tells the client how many streams it may open from now on.
func (c *conn) admit(streams uint32) {
	c.write(func() error {
		c.announce(streams)
		return c.framer.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: streams})
	})
}

// announce notes a limit that is about to be sent. The right to write frames is
// held, so that limits are acknowledged in the order noted.
func (c *conn) announce(streams uint32) {
	c.mu.Lock()
	c.limits = append(c.limits, streams)
	c.mu.Unlock()
}

// write runs fn with the right to write frames and flushes, unless another writer
// waits that will do so. Errors show up in the read loop as well, which ends the
// connection.
func (c *conn) write(fn func() error) {
	c.writers.Add(1)
	c.out.Lock()
	defer c.out.Unlock()
	last := c.writers.Add(-1) == 0
	if c.dead.Load() {
		return
	}
	err := fn()
	if err == nil && last {
		err = c.buffer.Flush()
	}
	if err != nil {
		_ = c.nc.Close()
	}
}

func (c *conn) describe() Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Connection{
		Number: c.number, Env: c.env, Open: c.open,
		Streams: len(c.streams), Opened: c.opened, Refused: c.refused, TurnedAway: c.turnedAway,
	}
}
