// Package cli_test types at the command line of Beckon as people and scripts
// do, against a real server on a memory store, with a phone beside it.
package cli_test
