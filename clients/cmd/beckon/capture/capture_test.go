package capture_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/clients/cmd/beckon/capture"
)

// write never fails, as the property test holds.
func write(log *capture.Log, s capture.Stream, text string) { _, _ = log.Writer(s).Write([]byte(text)) }

// join puts chunks together again; gap is where bytes are missing.
func join(t rapid.TB, chunks []capture.Chunk) (head, tail []byte, omitted uint64) {
	t.Helper()
	for _, c := range chunks {
		if len(c.Data) == 0 || len(c.Data) > capture.ChunkSize {
			t.Fatalf("a chunk of %d bytes", len(c.Data))
		}
		if c.Omitted > 0 {
			if omitted > 0 {
				t.Fatal("two gaps")
			}
			omitted = c.Omitted
		}
		if omitted > 0 {
			tail = append(tail, c.Data...)
		} else {
			head = append(head, c.Data...)
		}
	}
	return head, tail, omitted
}

// Head, what was let go, and tail are all bytes, each in its place; and no
// byte is let go while there is room.
func TestNothingIsLostInSilence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.IntRange(0, 4000).Draw(r, "limit")
		log := capture.New(limit)
		var all []byte
		var chunks []capture.Chunk
		for i := range rapid.IntRange(0, 30).Draw(r, "writes") {
			p := rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(r, "bytes")
			stream := capture.Stream(rapid.IntRange(1, 2).Draw(r, "stream"))
			if n, err := log.Writer(stream).Write(p); n != len(p) || err != nil {
				r.Fatalf("write %d: %d, %v", i, n, err)
			}
			all = append(all, p...)
			clear(p) // the log keeps its own copy
			if rapid.Bool().Draw(r, "take") {
				chunks = append(chunks, log.Take()...)
			}
		}
		chunks = append(chunks, log.Finish()...)
		head, tail, omitted := join(r, chunks)
		total, told := log.Counts()
		if total != uint64(len(all)) || told < omitted {
			r.Fatalf("counts %d and %d, want %d and %d", total, told, len(all), omitted)
		}
		if len(tail) == 0 {
			omitted = told // the end may have no room at all
		}
		if uint64(len(head)+len(tail))+omitted != total {
			r.Fatalf("%d + %d + %d are not %d", len(head), omitted, len(tail), total)
		}
		if !bytes.HasPrefix(all, head) || !bytes.HasSuffix(all, tail) {
			r.Fatal("bytes are out of place")
		}
		if len(head)+len(tail) > limit {
			r.Fatalf("%d bytes kept of %d", len(head)+len(tail), limit)
		}
	})
}

func TestStreamsStayApart(t *testing.T) {
	t.Parallel()
	log := capture.New(1 << 20)
	write(log, capture.Stdout, "a")
	write(log, capture.Stdout, "b")
	write(log, capture.Stderr, "c")
	write(log, capture.Stdout, "d")
	want := []capture.Chunk{
		{Stream: capture.Stdout, Data: []byte("ab")}, {Stream: capture.Stderr, Data: []byte("c")}, {Stream: capture.Stdout, Data: []byte("d")},
	}
	if diff := cmp.Diff(want, log.Take()); diff != "" {
		t.Error(diff)
	}
	if more := log.Finish(); len(more) > 0 {
		t.Errorf("taken twice: %v", more)
	}
}

// A command that changes streams at every byte is bounded too.
func TestAlternatingStreams(t *testing.T) {
	t.Parallel()
	log := capture.New(1 << 20)
	for i := range 100_000 {
		write(log, capture.Stream(1+i%2), "x")
	}
	if n := len(log.Finish()); n > 9000 {
		t.Errorf("%d chunks", n)
	}
}

func TestFiftyMegabytes(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	log := capture.New(limit)
	block := bytes.Repeat([]byte("0123456789abcde\n"), 2048)
	for range 50 << 20 / len(block) {
		_, _ = log.Writer(capture.Stdout).Write(block)
	}
	head, tail, omitted := join(t, log.Finish())
	if kept := len(head) + len(tail); kept > limit || kept < limit*99/100 {
		t.Errorf("kept %d bytes", kept)
	}
	if got := uint64(len(head)+len(tail)) + omitted; got != 50<<20 {
		t.Errorf("%d bytes in all", got)
	}
}

func TestWritersTogether(t *testing.T) {
	t.Parallel()
	log := capture.New(4096)
	var group sync.WaitGroup
	for s := range 2 {
		group.Go(func() {
			for range 1000 {
				write(log, capture.Stream(s+1), "0123456789")
			}
		})
	}
	group.Go(func() {
		for range 100 {
			log.Take()
			log.Last(3, 100)
		}
	})
	group.Wait()
	if total, _ := log.Counts(); total != 20_000 {
		t.Errorf("%d bytes", total)
	}
}

func TestLast(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	for _, test := range []struct {
		name, in    string
		lines, size int
		want        string
	}{
		{"nothing", "", 3, 100, ""},
		{"no line end", "a", 3, 100, "a"},
		{"fewer", "a\nb\n", 3, 100, "a\nb"},
		{"last three", "a\nb\nc\nd\n\n", 3, 100, "b\nc\nd"},
		{"whole lines within the size", "aaaa\nbbbb\ncc\n", 9, 6, "cc"},
		{"one endless line", long, 3, 5, "xxxxx"},
		{"after an endless line", long + "\nend\n", 3, 100, "end"},
		{"bytes", "\xff\x00\n", 3, 100, "\xff\x00"},
	} {
		log := capture.New(1 << 20)
		for part := range strings.SplitAfterSeq(test.in, "\n") {
			write(log, capture.Stdout, part)
		}
		if got := string(log.Last(test.lines, test.size)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
