// Package load measures what the README promises: durable pushes per second,
// answer to claim, commit to wake. `make bench` runs it.
//
// A fast wrong result is a failure. Every run counts what came out at the other
// end: each push once in the log of the emulator, which runs in a process of
// its own, each answer claimed once, each change pulled by its client.
//
// The server is the real one on its embedded database, with the "bench" limits,
// which are the usual ones with the rates out of the way. Beside each number
// stand the syncs the database made a second, and at the top what plain
// write-and-sync does in the same folder, because a durable number means little
// without the disk it was made on.
//
// Beside it, gorush sends through the same emulators (see [Contest]): it is built
// from its own source, and each trial of either system runs on a network of its
// own, where the vendors' names lead to loopback. That needs root on Linux.
//
// Sizes come from the environment, see [SizesFromEnv].
package load
