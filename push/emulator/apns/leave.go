package apns

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"golang.org/x/net/http2"
)

// How a connection ends by the server's will, and how one is not let in.

// lookAt notes that something is going to be done about a stream. It reports false
// when GOAWAY has said that nothing was.
func (c *conn) lookAt(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving && id > c.last {
		return false
	}
	c.looked = max(c.looked, id)
	return true
}

// goAway sends GOAWAY for a request and forgets the streams above the last one it
// names. Nobody looked at those (RFC 9113 §6.8). unseen asks for a last stream
// below the request; false means that a later one forbids that.
func (c *conn) goAway(id uint32, unseen bool, reason Reason) bool {
	told := true
	c.write(func() error {
		c.mu.Lock()
		last := max(c.looked, id)
		if unseen && c.looked < id {
			last = max(id, 2) - 2
		}
		if c.leaving {
			last = min(last, c.last) // it never grows
		}
		c.leaving, c.last = true, last
		for above, st := range c.streams {
			if above > last {
				st.cancel()
				delete(c.streams, above)
			}
		}
		told = !unseen || last < id
		c.mu.Unlock()
		return c.framer.WriteGoAway(last, http2.ErrCodeNo, errorBody(reason, 0, nil))
	})
	return told
}

// leaveWhenDone ends a connection that sent GOAWAY behind its last answer.
func (c *conn) leaveWhenDone() {
	c.mu.Lock()
	done := c.leaving && c.handling == 0 && len(c.streams) == 0 && !c.shut
	c.mu.Unlock()
	if done {
		c.closeBehind()
	}
}

func (c *conn) then(t Then) {
	switch t {
	case ThenCloses:
		c.closeBehind()
	case ThenSilence:
		c.write(func() error {
			defer c.dead.Store(true)
			return c.buffer.Flush() // others rely on the last writer
		})
	}
}

// closeBehind ends the sending side once all that was written has left: closing
// both sides at once could take the last answer back.
func (c *conn) closeBehind() {
	c.write(func() error {
		c.mu.Lock()
		again := c.shut
		c.shut = true
		c.mu.Unlock()
		if again {
			return nil
		}
		err := errors.Join(c.buffer.Flush(), c.nc.CloseWrite())
		if tcp, ok := c.nc.NetConn().(*net.TCPConn); ok {
			err = errors.Join(err, tcp.CloseWrite())
		}
		return err
	})
}

const (
	connects       = 60
	connectsWithin = time.Minute
)

// gate keeps rapid reconnection out of one environment. The server's lock guards
// it.
type gate struct {
	most int // Config.Connects
	let  []time.Time
}

func (g *gate) admits(now time.Time) bool {
	most := g.most
	if most == 0 {
		most = connects
	}
	g.let = slices.DeleteFunc(g.let, func(t time.Time) bool { return now.Sub(t) >= connectsWithin })
	if most >= 0 && len(g.let) >= most {
		return false
	}
	g.let = append(g.let, now)
	return true
}

// turnAway closes a connection that was not admitted, before TLS.
func (c *conn) turnAway() {
	c.mu.Lock()
	c.open = false
	c.mu.Unlock()
	_ = c.nc.NetConn().Close()
	c.framer, c.buffer, c.encoder = nil, nil, nil
	c.srv.connEnded()
}

func (s *Server) connEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended++
	close(s.endings)
	s.endings = make(chan struct{})
}

// Ended blocks until at least n connections have ended, those turned away included.
// The error is that of ctx.
func (s *Server) Ended(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		ended, endings := s.ended, s.endings
		s.mu.Unlock()
		if ended >= n {
			return nil
		}
		select {
		case <-endings:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
