// Package resume kills the workers of the SDK's loop at every step of what they
// do, loses every answer they wait for, and holds their tasks in between; a
// worker that is left, or that comes after, has to bring each task to the same
// end. Server, store and SDK are the real ones in one process; between them is
// a [Wire] that fails on demand, and the clock is that of a bubble
// (testing/synctest), so leases, sleeps of weeks and retries end at once and in
// the same order each time.
package resume
