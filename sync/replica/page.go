package replica

import "github.com/beckon-dev/beckon/sync/changelog"

// BootstrapPage is one page of the present state of a scope.
type BootstrapPage struct {
	// Put is what the page names. The view keeps the bodies.
	Put []changelog.Entity
	// Page is the token of the next page.
	Page []byte
	// Cursor is the place to follow changes from, taken before the first page.
	Cursor []byte
	// Complete marks the last page.
	Complete bool
	// AsOf is the stamp of the read, Epoch the history it was read in.
	AsOf, Epoch []byte
}

// ChangesPage is one page of what changed after a cursor.
type ChangesPage struct {
	// Put and Del are the entities that changed. The view keeps the bodies.
	Put []changelog.Entity
	Del []changelog.Tombstone
	// Next is the place after this page.
	Next []byte
	// More says that there is more to read from Next at once. It is for the
	// reader; the view does not need it.
	More bool
	// AsOf is the stamp of the read, Epoch the history it was read in.
	AsOf, Epoch []byte
}

// Point is what a read or a write outside the order of changes brought along,
// such as the decision that a push named.
type Point struct {
	// Put is what was read. The view keeps the bodies.
	Put []changelog.Entity
	// AsOf is the stamp of the read, Epoch the history it was read in.
	AsOf, Epoch []byte
}

// Snapshot is a whole view as a client stores it: one that was stored after a
// page and opened again goes on right behind that page.
type Snapshot struct {
	// Entities is what is shown; version 0 means not confirmed since a reset.
	Entities []changelog.Entity
	// Cursor, Horizon and Epoch are where the view stands; empty before the
	// first page of a bootstrap.
	Cursor, Horizon, Epoch []byte
	// Bootstrapping says that a bootstrap runs, Page where it goes on, and
	// Deleted what must not come back while it does.
	Bootstrapping bool
	Page          []byte
	Deleted       []changelog.Tombstone
}
