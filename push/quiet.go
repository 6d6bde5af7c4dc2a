package push

// Quiet is what was planned for one address that shows nothing: sweeps and
// badges. It is kept beside the address, so that few are sent across restarts
// too.
type Quiet struct {
	// Sweeps are those that wait and those that count, the newest last.
	Sweeps []SweepBatch
	// Badge is the newest row of kind BadgeOnly.
	Badge string
}

// SweepBatch is what one sweep is for.
type SweepBatch struct {
	// Row is the sweep's own delivery.
	Row string
	// Withdrawals are the deliveries of the step before: what those took back
	// is named in the sweep.
	Withdrawals []string
	// Zero: the badge has fallen to nothing, which the app sets itself.
	Zero bool
}

// MaxBatch is how many withdrawals one sweep names at most; what is left out is
// found by the app's next sync.
const MaxBatch = 64
