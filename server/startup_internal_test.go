package server

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
)

// TestPlainWords covers what a test that may run as root cannot bring about.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	denied := &fs.PathError{Op: "open", Path: "/d/beckon.db", Err: syscall.EACCES}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"folder not permitted": {dataError("/d", fmt.Errorf("boltstore: open: %w", denied)), "--data /d: permission denied (/d/beckon.db)"},
		"newer":                {dataError("/d", store.ErrFormatNewer), "--data /d: the folder was written by a newer beckond"},
		"full":                 {dataError("/d", fmt.Errorf("x: %w", store.ErrDiskFull)), "--data /d: the disk is full"},
		"foreign":              {dataError("/d", boltstore.ErrForeign), "--data /d: beckon.db in it is a database of another program"},
		"foreign key":          {dataError("/d", store.ErrForeignKey), "--data /d: /d/master.key belongs to another database; put the key of this one back"},
		"no key":               {dataError("/d", ErrNoMaster), "--data /d: " + ErrNoMaster.Error()},
		"unknown":              {dataError("/d", errors.New("boltstore: open: store: invalid: database")), "--data /d: invalid: database"},
		"port not permitted":   {listenError(":80", syscall.EACCES), "--listen :80: not permitted; ports below 1024 need a privilege"},
		"not our address":      {listenError("192.0.2.1:1", syscall.EADDRNOTAVAIL), "--listen 192.0.2.1:1: this machine has no such address"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if dataError("/d", nil) != nil {
		t.Error("no error became one")
	}
}
