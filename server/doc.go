// Package server is the wiring: it opens the store and the keys, builds the
// verbs, puts Connect, taps and health on one port and the operator on a Unix
// socket, and runs the push lanes and the timed loops until its context ends.
// It decides nothing.
package server
