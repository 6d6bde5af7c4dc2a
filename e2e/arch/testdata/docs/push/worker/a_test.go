package worker_test

// TestLike needs no comment and neither does this.
type Exported struct{}
