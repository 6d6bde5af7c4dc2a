// Package disk is what the back ends that write files share.
package disk

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// IsFull tells whether the medium, a quota or a file size limit has no room.
// bbolt formats the cause away where it grows the file ("file resize error:
// %s"), so there the text has to do.
func IsFull(err error) bool {
	if err == nil {
		return false
	}
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) || strings.Contains(err.Error(), full.Error()) {
			return true
		}
	}
	return false
}

// SyncFolder makes the names in a folder survive a power loss. Some file
// systems cannot sync a folder and need not.
func SyncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, folder.Close())
}
