// Package feed tells waiting readers to look again. A wake carries no data:
// the truth is always read from the store, so a lost wake costs latency and
// never anything else. Readers subscribe first and read then, so nothing that
// happens between the two is missed.
package feed
