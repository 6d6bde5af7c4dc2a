package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/store"
)

// RunBlobs runs every case on blobs of their own. open gets the clock that what
// is stored has its times by; where that cannot be, as with files, age makes
// everything there older.
func RunBlobs(t *testing.T, open func(t *testing.T) (blobs store.Blobs, age func(time.Duration))) {
	for name, run := range map[string]func(*testing.T, store.Blobs, func(time.Duration)){
		"kept bytes are read from any place":     blobsRead,
		"nothing is there before it is kept":     blobsSealed,
		"bytes of another digest are refused":    blobsDiffer,
		"accounts know nothing of each other":    blobsOfAccounts,
		"what is given up leaves nothing":        blobsDiscarded,
		"the same bytes at once are one":         blobsAtOnce,
		"what is open outlives its removal":      blobsRemoved,
		"what is old is listed, what is new not": blobsListed,
		"what nobody ended is removed by age":    blobsUnfinished,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blobs, age := open(t)
			run(t, blobs, age)
		})
	}
}

const (
	oneAccount   = "0123456789abcdef"
	otherAccount = "0123456789abcdeg"
)

func hold(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// keepBlob stores bytes in pieces and gives their digest.
func keepBlob(t *testing.T, blobs store.Blobs, account string, data []byte) store.Sum {
	t.Helper()
	w := sealBlob(t, blobs, account, data)
	hold(t, w.Keep())
	hold(t, w.Discard()) // changes nothing any more
	return sha256.Sum256(data)
}

func sealBlob(t *testing.T, blobs store.Blobs, account string, data []byte) store.BlobWriter {
	t.Helper()
	w, err := blobs.Create(account)
	hold(t, err)
	for piece := range slices.Chunk(data, 7) {
		_, err := w.Write(piece)
		hold(t, err)
	}
	hold(t, w.Seal(sha256.Sum256(data)))
	return w
}

func readBlob(t *testing.T, blobs store.Blobs, account string, sum store.Sum, offset uint64) []byte {
	t.Helper()
	r, err := blobs.Open(account, sum, offset)
	hold(t, err)
	defer func() { hold(t, r.Close()) }()
	data, err := io.ReadAll(r)
	hold(t, err)
	return data
}

func noBlob(t *testing.T, blobs store.Blobs, account string, sum store.Sum) {
	t.Helper()
	if _, err := blobs.Open(account, sum, 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Open = %v", err)
	}
	if _, err := blobs.Size(account, sum); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Size = %v", err)
	}
}

func listBlobs(t *testing.T, blobs store.Blobs, before time.Time) map[string]int {
	t.Helper()
	out := map[string]int{}
	hold(t, blobs.List(context.Background(), before, func(account string, sums []store.Sum) error {
		out[account] += len(sums)
		return nil
	}))
	return out
}

func blobsRead(t *testing.T, blobs store.Blobs, _ func(time.Duration)) {
	data := bytes.Repeat([]byte("0123456789"), 10_000)
	sum := keepBlob(t, blobs, oneAccount, data)
	for _, offset := range []uint64{0, 1, 65_536, 99_999, 100_000} {
		if got := readBlob(t, blobs, oneAccount, sum, offset); !bytes.Equal(got, data[offset:]) {
			t.Errorf("from %d: %d bytes", offset, len(got))
		}
	}
	if size, err := blobs.Size(oneAccount, sum); err != nil || size != 100_000 {
		t.Errorf("Size = %d, %v", size, err)
	}
	empty := keepBlob(t, blobs, oneAccount, nil)
	if got := readBlob(t, blobs, oneAccount, empty, 0); len(got) != 0 {
		t.Errorf("no bytes are %d", len(got))
	}
}

func blobsSealed(t *testing.T, blobs store.Blobs, _ func(time.Duration)) {
	w := sealBlob(t, blobs, oneAccount, []byte("sealed"))
	noBlob(t, blobs, oneAccount, sha256.Sum256([]byte("sealed")))
	hold(t, w.Keep())
	readBlob(t, blobs, oneAccount, sha256.Sum256([]byte("sealed")), 0)
}

func blobsDiffer(t *testing.T, blobs store.Blobs, _ func(time.Duration)) {
	w, err := blobs.Create(oneAccount)
	hold(t, err)
	_, err = w.Write([]byte("mine"))
	hold(t, err)
	if err := w.Seal(sha256.Sum256([]byte("yours"))); !errors.Is(err, store.ErrBlobDiffers) {
		t.Errorf("Seal = %v", err)
	}
	hold(t, w.Discard())
	noBlob(t, blobs, oneAccount, sha256.Sum256([]byte("mine")))
	noBlob(t, blobs, oneAccount, sha256.Sum256([]byte("yours")))
}

func blobsOfAccounts(t *testing.T, blobs store.Blobs, _ func(time.Duration)) {
	sum := keepBlob(t, blobs, oneAccount, []byte("secret"))
	noBlob(t, blobs, otherAccount, sum)
	keepBlob(t, blobs, otherAccount, []byte("secret"))
	hold(t, blobs.Remove(otherAccount, sum))
	readBlob(t, blobs, oneAccount, sum, 0)
}

func blobsDiscarded(t *testing.T, blobs store.Blobs, age func(time.Duration)) {
	w, err := blobs.Create(oneAccount)
	hold(t, err)
	_, err = w.Write([]byte("half"))
	hold(t, err)
	hold(t, w.Discard())
	hold(t, sealBlob(t, blobs, oneAccount, []byte("whole")).Discard())
	age(time.Hour)
	if n, err := blobs.RemoveUnfinished(context.Background(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("%d were left, %v", n, err)
	}
	if got := listBlobs(t, blobs, time.Now().Add(time.Hour)); len(got) != 0 {
		t.Errorf("kept: %v", got)
	}
}

func blobsAtOnce(t *testing.T, blobs store.Blobs, _ func(time.Duration)) {
	data := bytes.Repeat([]byte("same"), 1000)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() { keepBlob(t, blobs, oneAccount, data) })
	}
	running.Wait()
	if got := readBlob(t, blobs, oneAccount, sha256.Sum256(data), 0); !bytes.Equal(got, data) {
		t.Errorf("%d bytes", len(got))
	}
	if got := listBlobs(t, blobs, time.Now().Add(time.Hour)); got[oneAccount] != 1 {
		t.Errorf("kept: %v", got)
	}
}

func blobsRemoved(t *testing.T, blobs store.Blobs, _ func(time.Duration)) {
	data := bytes.Repeat([]byte("gone"), 100_000)
	sum := keepBlob(t, blobs, oneAccount, data)
	r, err := blobs.Open(oneAccount, sum, 0)
	hold(t, err)
	defer func() { hold(t, r.Close()) }()
	hold(t, blobs.Remove(oneAccount, sum))
	hold(t, blobs.Remove(oneAccount, sum))
	noBlob(t, blobs, oneAccount, sum)
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func blobsListed(t *testing.T, blobs store.Blobs, age func(time.Duration)) {
	for _, text := range []string{"a", "b", "c"} {
		keepBlob(t, blobs, oneAccount, []byte(text))
	}
	keepBlob(t, blobs, otherAccount, []byte("a"))
	age(2 * time.Hour)
	keepBlob(t, blobs, oneAccount, []byte("new"))
	got := listBlobs(t, blobs, time.Now().Add(-time.Hour))
	if got[oneAccount] != 3 || got[otherAccount] != 1 {
		t.Errorf("listed: %v", got)
	}
	stop := errors.New("enough")
	if err := blobs.List(context.Background(), time.Now(), func(string, []store.Sum) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("List = %v", err)
	}
}

func blobsUnfinished(t *testing.T, blobs store.Blobs, age func(time.Duration)) {
	lost, err := blobs.Create(oneAccount)
	hold(t, err)
	_, err = lost.Write([]byte("half"))
	hold(t, err)
	keepBlob(t, blobs, oneAccount, []byte("whole"))
	age(2 * time.Hour)
	fresh, err := blobs.Create(oneAccount)
	hold(t, err)
	if n, err := blobs.RemoveUnfinished(context.Background(), time.Now().Add(-time.Hour)); n != 1 || err != nil {
		t.Errorf("%d were removed, %v", n, err)
	}
	hold(t, lost.Discard())
	_, err = fresh.Write([]byte("fresh"))
	hold(t, err)
	hold(t, fresh.Seal(sha256.Sum256([]byte("fresh"))))
	hold(t, fresh.Keep())
	readBlob(t, blobs, oneAccount, sha256.Sum256([]byte("fresh")), 0)
	readBlob(t, blobs, oneAccount, sha256.Sum256([]byte("whole")), 0)
}
