// Package alerts tells random stories to a whole server, both push vendors and
// three phones, and lets an oracle judge who was called.
//
//	seed ─► Tell ─► steps ─► Run ─► facts, rows ─► oracle.Judge ─► findings
//	                  ▲                                              │
//	                  └──────────────── Shrink ◄─────────────────────┘
//
// Everything between an agent's call and a phone's screen is the real thing: the
// verbs over a store in memory, the wire as phones speak it, the providers over
// TLS to the strict emulators, the phones' own app. Two things are replaced. Time
// is a clock that stands still between steps, handed to server, providers,
// emulators and phones alike, so that a day costs nothing. And as the worker's
// loop waits by real timers, its steps are taken by hand: claim, read again, send,
// finish, and a crash between any two of them.
//
// A Mutation makes one thing go wrong on the way, beside the code that is judged;
// the tests use them to see that the oracle notices.
package alerts
