package apns

import (
	"context"
	"errors"
	"strconv"

	"golang.org/x/net/http2"
)

// readFrame reads one frame and does what it asks. An error ends the connection.
func (c *conn) readFrame(ctx context.Context) error {
	f, err := c.framer.ReadFrame()
	if bad, ok := errors.AsType[http2.StreamError](err); ok {
		c.reset(bad.StreamID, bad.Code)
		return nil
	}
	if err != nil {
		return err
	}
	if c.deaf.Load() || c.dead.Load() {
		return nil
	}
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		return c.onHeaders(ctx, f)
	case *http2.DataFrame:
		return c.onData(f)
	case *http2.SettingsFrame:
		return c.onSettings(f)
	case *http2.WindowUpdateFrame:
		c.onWindowUpdate(f)
	case *http2.RSTStreamFrame:
		c.drop(f.StreamID)
		c.leaveWhenDone()
	case *http2.PingFrame:
		if !f.IsAck() {
			data := f.Data
			c.write(func() error { return c.framer.WritePing(true, data) })
		}
	case *http2.PushPromiseFrame:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return nil
}

func (c *conn) onHeaders(ctx context.Context, f *http2.MetaHeadersFrame) error {
	id := f.StreamID
	c.mu.Lock()
	if st, ok := c.streams[id]; ok { // trailers
		c.mu.Unlock()
		if !f.StreamEnded() || st.ended {
			return http2.ConnectionError(http2.ErrCodeProtocol)
		}
		c.complete(st)
		return nil
	}
	if id%2 == 0 || id <= c.lastID {
		c.mu.Unlock()
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	c.lastID = id
	if c.leaving && id > c.last { // RFC 9113 §6.8 lets it be ignored
		c.mu.Unlock()
		return nil
	}
	if uint32(len(c.streams)) >= c.allowed() {
		c.refused++
		c.mu.Unlock()
		c.reset(id, http2.ErrCodeRefusedStream)
		return nil
	}
	c.opened++
	st := &stream{request: newRequest(f), window: c.peerWindow}
	st.ctx, st.cancel = context.WithCancel(ctx)
	c.streams[id] = st
	c.mu.Unlock()
	if f.Truncated {
		c.reset(id, http2.ErrCodeProtocol)
		return nil
	}
	if f.StreamEnded() {
		c.complete(st)
	}
	return nil
}

// allowed is the highest limit the client may go by: between a new limit and its
// acknowledgment both are right (RFC 9113 §6.5.3). c.mu is held.
func (c *conn) allowed() uint32 {
	most := c.limit
	for _, l := range c.limits {
		most = max(most, l)
	}
	return most
}

func (c *conn) onData(f *http2.DataFrame) error {
	id := f.StreamID
	c.mu.Lock()
	st, ok := c.streams[id]
	unknown := id > c.lastID
	c.unreturned += f.Length
	back := c.unreturned
	if back < connWindow/4 {
		back = 0
	}
	c.unreturned -= back
	c.mu.Unlock()
	if unknown {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if back > 0 {
		c.write(func() error { return c.framer.WriteWindowUpdate(0, back) })
	}
	switch {
	case !ok: // reset or refused before
		return nil
	case st.ended:
		c.reset(id, http2.ErrCodeStreamClosed)
		return nil
	}
	st.request.write(f.Data())
	if f.StreamEnded() {
		c.complete(st)
	} else if n := f.Length; n > 0 {
		c.write(func() error { return c.framer.WriteWindowUpdate(id, n) })
	}
	return nil
}

// complete starts the work on a request that has arrived whole.
func (c *conn) complete(st *stream) {
	st.ended = true
	r := st.request
	if length, ok := r.header["content-length"]; ok && length != strconv.Itoa(r.size) {
		c.reset(r.stream, http2.ErrCodeProtocol) // RFC 9113 §8.1.1
		return
	}
	r.at = c.srv.now()
	c.mu.Lock()
	c.handling++
	c.mu.Unlock()
	c.serving.Go(func() {
		c.handle(st)
		c.mu.Lock()
		c.handling--
		c.mu.Unlock()
		c.leaveWhenDone()
	})
}

func (c *conn) onSettings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		c.mu.Lock()
		if len(c.limits) > 0 {
			c.limit, c.limits = c.limits[0], c.limits[1:]
		}
		c.mu.Unlock()
		return nil
	}
	if window, ok := f.Value(http2.SettingInitialWindowSize); ok {
		if window > 1<<31-1 {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
		c.mu.Lock()
		for _, st := range c.streams {
			st.window += int64(window) - c.peerWindow
		}
		c.peerWindow = int64(window)
		c.wakeWindow()
		c.mu.Unlock()
	}
	table, hasTable := f.Value(http2.SettingHeaderTableSize)
	c.write(func() error {
		if hasTable {
			c.encoder.SetMaxDynamicTableSize(min(table, 4096))
		}
		return c.framer.WriteSettingsAck()
	})
	return nil
}

func (c *conn) onWindowUpdate(f *http2.WindowUpdateFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.StreamID == 0 {
		c.window += int64(f.Increment)
	} else if st, ok := c.streams[f.StreamID]; ok {
		st.window += int64(f.Increment)
	}
	c.wakeWindow()
}

// wakeWindow wakes the writers that wait for a window. c.mu is held.
func (c *conn) wakeWindow() {
	close(c.windowed)
	c.windowed = make(chan struct{})
}

// reserve takes up to n bytes off both windows, waiting for at least one; 0 means
// that the stream is over.
func (c *conn) reserve(st *stream, n int) int {
	for {
		c.mu.Lock()
		got := min(int64(n), c.window, st.window)
		if got > 0 {
			c.window -= got
			st.window -= got
			c.mu.Unlock()
			return int(got)
		}
		windowed := c.windowed
		c.mu.Unlock()
		select {
		case <-windowed:
		case <-st.ctx.Done():
			return 0
		}
	}
}

// reset ends a stream with an error code.
func (c *conn) reset(id uint32, code http2.ErrCode) {
	c.drop(id)
	c.write(func() error { return c.framer.WriteRSTStream(id, code) })
}

// drop forgets a stream, if it is there, so that the client may open another.
func (c *conn) drop(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st, ok := c.streams[id]; ok {
		st.cancel()
		delete(c.streams, id)
	}
}
