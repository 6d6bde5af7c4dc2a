package store

import "errors"

// Kinds of failure a back end reports. Callers compare with errors.Is.
var (
	// ErrNotFound: no such record in this account. A foreign id gives the same.
	ErrNotFound = errors.New("store: not found")
	// ErrDiskFull: the medium has no room; reads go on, a later write may work.
	ErrDiskFull = errors.New("store: disk full")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store: closed")
	// ErrFormatNewer: the data folder was written by a newer release; opening
	// it could lose what this release does not understand.
	ErrFormatNewer = errors.New("store: data folder has a newer format")
	// ErrLocked: another process holds the data folder.
	ErrLocked = errors.New("store: data folder is in use by another process")
	// ErrForeignKey: the master key is not the one this store was written with;
	// going on would make credentials, cursors and push tags of another server.
	ErrForeignKey = errors.New("store: the master key belongs to another store")
)
