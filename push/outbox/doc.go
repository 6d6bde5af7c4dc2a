// Package outbox is the life cycle of a delivery as pure functions: Decide
// turns a command into events or an error and changes nothing, Apply folds an
// event into the row. Time, chance and what the store knows are handed in.
//
//	               Claim                  Settle(OK)
//	pending, retry ─────────► leased ───────────────► accepted
//	   ▲    ▲                 │ │ │
//	   │    └─ Release, ◄─────┘ │ ├─ Settle(Bug, Suspect twice) ─► rejected
//	   │       Settle(Cred)     │ ├─ Settle(Dead) ───────────────► dead_address
//	   │       Reap             │ └─ Skip: superseded, expired, dead_address, suppressed
//	   └─ Settle(Backoff, SlowDevice, SlowAll, Ambiguous, Suspect once, Dead but renewed)
//	      as retry with a later due time; past the deadline it is expired
//
//	pending, retry ── Supersede, Expire, Suppress, Drop ──► superseded, expired, suppressed, dead_address
//
// An alert that its device shows anyway waits (Acknowledge): pending with a later
// due time. It is never closed by that.
//
// A withdrawal is a row like any other. Right before its send (FreshWithdrawal)
// it looks at the alert that it takes back: accepted, it is sent; still with a
// worker, it waits; never accepted, it ends as superseded.
//
// A row in a worker's hands is never closed from outside: the worker reads its
// subject again right before the send (Fresh), and if the send is already on
// its way the row has to keep the truth that it was accepted.
//
// A lost lease gives the row back. Whether its holder had sent is not known,
// so the resend carries the same identities and replaces on the device.
package outbox
