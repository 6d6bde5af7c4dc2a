// Package push holds the words shared by everything that calls a person's
// device: where to (Address), what should be said (Intent), one attempt to say
// it to one device (Delivery, the outbox row), what travels (Message, Payload),
// and what the vendor said about it (Verdict).
//
// A push is a hint. It carries ids, an opaque account tag, an absolute badge
// and the little text the person allows on a lock screen; the truth is read by
// sync. Nothing here does I/O: package plan turns changes into rows and
// messages, package outbox owns the life cycle of a row, package worker moves
// rows, and the packages below provider talk to vendors.
//
// # What a verdict leads to
//
// The providers turn each vendor's answer into a class (see their
// documentation); what follows is the same for all. The waits are those after
// the first send without chance added, and at least what the vendor asked for;
// each further one doubles, up to five minutes, until the deadline of the row.
//
//	verdict      row           wait   counts  address  lane
//	ok           accepted      -      yes     ok       runs
//	backoff      retry         500ms  unsure  ok       runs
//	ambiguous    retry         500ms  unsure  ok       runs
//	slow_device  retry         30s    yes     ok       runs
//	slow_all     retry         1m     yes     ok       rests 1m
//	cred         pending       30s    no      ok       rests 10s
//	dead         dead_address  -      yes     dead     runs
//	suspect      suspect       -      yes     suspect  runs
//	bug          rejected      -      yes     ok       runs
//
// Dead is believed only about the registration that was sent to. Suspect is
// tried in the vendor's other environment first, where there is one, and what
// worked is remembered; where other addresses prove that the fault is not ours,
// the worker makes it dead. Unsure means that the device may show it already: it
// is sent again under the same identity, and taken back if it is handled first; a
// backoff of which nothing has left (Verdict.Unsent) is not unsure. A resting lane sends nothing, then one
// push as a probe; it rests for longer each time that is refused.
package push
