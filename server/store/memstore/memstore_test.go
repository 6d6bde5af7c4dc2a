package memstore_test

import (
	"testing"

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
