// Package pitfalls puts the network faults that sync protocols are known to
// break on between a real server and the Go client, by e2e/faultproxy, and
// expects the client to be right all the same. A test ends in the number and
// the name of its fault:
//
//	S9   an answer is cut in the middle, or its connection reset
//	S16  the device slept: its connections are dead and nobody has said so
//	S17  a connection carries nothing any more, and is not closed
//	S20  a proxy holds streams back, or cuts what says nothing for a while
//	S21  no HTTP/2, or no streams at all
//	S22  the server is killed, and started again
//	S24  requests arrive more than once, answers do not arrive
//	S33  a cache in between answers from what it has kept
//
// Others need a clock or a network of their own and stand elsewhere: timeouts
// that cut long streams (S18) in server.TestWatch_OutlivesEveryTimeout, readers
// that stall (S19) in server.TestWatch_AStalledReaderIsFreed, peers that vanish
// as the server sees it (S17) in server.TestWatch_PeerVanishes.
package pitfalls
