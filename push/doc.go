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
package push
