//go:build !failpoints

package failpoint

// Hit marks a line at which a test build may die. In this build it does
// nothing, whatever the environment says.
func Hit(string) {}
