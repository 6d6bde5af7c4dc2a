// Package capture keeps what a command prints within a bound: its beginning,
// its end, and the number of bytes in between that were let go. Writing never
// blocks and never fails, so a server that is away cannot slow the command.
package capture

import (
	"bytes"
	"sync"
)

// Stream says where output came from.
type Stream uint8

// Streams of a command.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

const (
	// ChunkSize is the largest piece that is handed out.
	ChunkSize = 64 << 10
	// chunkCost is what a piece counts beside its bytes, so that a command that
	// changes streams at every byte is bounded as well.
	chunkCost = 128
	// lastSize is how much of the very end Last can tell.
	lastSize = 4 << 10
)

// Chunk is output of one stream in the order in which it came.
type Chunk struct {
	Stream Stream
	Data   []byte
	// Omitted is the number of bytes, of both streams, let go right before.
	Omitted uint64
}

// Log holds the output of one command. The head is handed out as it comes, the
// tail when the command has ended. It is safe for concurrent use.
type Log struct {
	mu sync.Mutex
	// head is what is still free of the beginning; the first chunk that does
	// not fit closes it, so that nothing later slips in before the gap.
	head    int
	closed  bool
	pending []Chunk
	tail    []Chunk
	tailMax int
	used    int // of the tail
	omitted uint64
	total   uint64
	last    []byte
}

// New makes a log that keeps limit bytes, half of them from the beginning.
func New(limit int) *Log { return &Log{head: limit / 2, tailMax: limit - limit/2} }

// Writer is where one stream of the command goes.
func (l *Log) Writer(s Stream) Writer { return Writer{l, s} }

// Writer writes one stream into a log.
type Writer struct {
	log    *Log
	stream Stream
}

// Write takes all of p.
func (w Writer) Write(p []byte) (int, error) {
	w.log.write(w.stream, p)
	return len(p), nil
}

func (l *Log) write(s Stream, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total += uint64(len(p))
	l.remember(p)
	if !l.closed {
		p = p[l.fillHead(s, p):]
	}
	for len(p) > 0 {
		n := min(len(p), ChunkSize)
		var cost int
		l.tail, cost = grow(l.tail, s, p[:n])
		l.used += cost
		p = p[n:]
		l.trim()
	}
}

// fillHead takes what still fits into the beginning.
func (l *Log) fillHead(s Stream, p []byte) (taken int) {
	for taken < len(p) {
		n := min(len(p)-taken, ChunkSize, l.head-chunkCost)
		if n <= 0 {
			l.closed = true
			return taken
		}
		var cost int
		l.pending, cost = grow(l.pending, s, p[taken:taken+n])
		l.head -= cost
		taken += n
	}
	return taken
}

// grow appends to the last chunk where it is of the same stream and has room.
// The bytes are copied.
func grow(chunks []Chunk, s Stream, p []byte) (grown []Chunk, cost int) {
	if n := len(chunks) - 1; n >= 0 && chunks[n].Stream == s && len(chunks[n].Data)+len(p) <= ChunkSize {
		chunks[n].Data = append(chunks[n].Data, p...)
		return chunks, len(p)
	}
	return append(chunks, Chunk{Stream: s, Data: bytes.Clone(p)}), len(p) + chunkCost
}

// trim lets the oldest of the tail go until the rest fits.
func (l *Log) trim() {
	for l.used > l.tailMax && len(l.tail) > 0 {
		first := &l.tail[0]
		n := min(l.used-l.tailMax, len(first.Data))
		first.Data = first.Data[n:]
		l.omitted += uint64(n)
		l.used -= n
		if len(first.Data) == 0 {
			l.tail = l.tail[1:]
			l.used -= chunkCost
		}
	}
}

func (l *Log) remember(p []byte) {
	if len(p) > lastSize {
		p = p[len(p)-lastSize:]
	}
	l.last = append(l.last, p...)
	if len(l.last) > 4*lastSize {
		l.last = bytes.Clone(l.last[len(l.last)-lastSize:])
	}
}

// Take hands out what came of the beginning since the last call.
func (l *Log) Take() []Chunk {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.pending
	l.pending = nil
	return out
}

// Finish hands out the rest: what Take has not, and the end. Nothing may be
// written afterwards.
func (l *Log) Finish() []Chunk {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.pending
	for i, c := range l.tail {
		if i == 0 {
			c.Omitted = l.omitted
		}
		out = append(out, c)
	}
	l.pending, l.tail = nil, nil
	return out
}

// Counts says how many bytes came and how many of them were let go.
func (l *Log) Counts() (total, omitted uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total, l.omitted
}

// Last is the end of the output: whole lines, at most so many and so long. The
// bytes are what the command printed, text or not.
func (l *Log) Last(lines, size int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := bytes.TrimRight(l.last, "\r\n")
	from := max(0, len(end)-size)
	cut := from > 0 || l.total > uint64(len(l.last))
	for i, found := len(end), 0; i > from; i-- {
		if end[i-1] == '\n' {
			if found++; found == lines {
				return bytes.Clone(end[i:])
			}
		}
	}
	if cut { // the first line is not whole
		if i := bytes.IndexByte(end[from:], '\n'); i >= 0 {
			from += i + 1
		}
	}
	return bytes.Clone(end[from:])
}
