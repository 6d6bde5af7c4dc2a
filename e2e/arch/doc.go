// Package arch reads the sources of this repository and reports where they
// break the rules that a machine can judge: who may import whom, package docs,
// documented names, file size, file and package names, package state, clocks
// below the rules, and words that must not be committed.
//
// It parses the files itself. A test that asks `go list` is cached by the go
// command and stays green after a violation; files opened by the test are part
// of what the cache is keyed on.
//
// [Check] is a function of a file tree and a set of [Rules]; [Repository] holds
// the rules of this one. Each rule has a fixture under testdata that breaks it.
package arch
