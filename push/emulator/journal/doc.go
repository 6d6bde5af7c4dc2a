// Package journal keeps what an emulator saw: an append-only list in memory,
// optionally copied as one JSON line per entry to a writer, with readers that
// block until an entry exists. Tests and phone programs wait on it instead of
// polling.
package journal
