package boltstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
)

// BenchmarkUpdate writes three keys a command, about what a change with its
// index row and counter takes. Read it beside BenchmarkSync of the same run:
// a commit is two syncs.
func BenchmarkUpdate(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			e, err := boltstore.Open(b.TempDir(), boltstore.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close() //nolint:errcheck // measured already
			b.ResetTimer()
			spread(b, e, callers)
			b.StopTimer()
			stats, seconds := e.Stats(), b.Elapsed().Seconds()
			b.ReportMetric(float64(stats.Commands)/float64(stats.Commits), "commands/commit")
			b.ReportMetric(2*float64(stats.Commits)/seconds, "fsyncs/s")
			b.ReportMetric(float64(stats.Commands)/seconds, "commands/s")
		})
	}
}

// spread shares b.N commands out to the callers.
func spread(b *testing.B, e *boltstore.Engine, callers int) {
	var next atomic.Int64
	var wg sync.WaitGroup
	body := make([]byte, 200)
	body[0] = 1
	for range callers {
		wg.Go(func() {
			for {
				n := uint64(next.Add(1))
				if n > uint64(b.N) {
					return
				}
				// Spread over accounts as a hash does, so pages are not shared for free.
				key := binary.BigEndian.AppendUint64(nil, n*0x9e3779b97f4a7c15)
				if err := e.Update(context.Background(), "", func(w store.Writer) error {
					return errors.Join(w.Put("entity", key, body), w.Put("index", key, key), w.Put("counter", key[:2], key))
				}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkSync is the disk alone: one page written and synced.
func BenchmarkSync(b *testing.B) {
	file, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // measured already
	page := make([]byte, 4096)
	for b.Loop() {
		if _, err := file.WriteAt(page, 0); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "fsyncs/s")
}
