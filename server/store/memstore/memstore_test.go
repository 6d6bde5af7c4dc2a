package memstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/server/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEngine(t *testing.T) {
	t.Parallel()
	storetest.RunEngine(t, storetest.Harness{
		Open: func(*testing.T) store.Engine { return memstore.New() },
	})
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.RunStore(t, storetest.Harness{
		Open: func(*testing.T) store.Engine { return memstore.New() },
	})
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	storetest.RunBlobs(t, func(*testing.T) (store.Blobs, func(time.Duration)) {
		var back atomic.Int64
		back.Store(int64(3 * time.Hour))
		blobs := memstore.NewBlobs(func() time.Time { return time.Now().Add(-time.Duration(back.Load())) })
		return blobs, func(time.Duration) { back.Store(0) }
	})
}
