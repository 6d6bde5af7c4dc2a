// Package outbox is the life cycle of a delivery as pure functions: Decide
// turns a command into events or an error and changes nothing, Apply folds an
// event into the row. Time, chance and what the store knows are handed in.
//
//	               Claim                  Settle(OK)
//	pending, retry ─────────► leased ───────────────► accepted
//	   ▲    ▲                 │ │ │
//	   │    └─ Release, ◄─────┘ │ ├─ Settle(Bug) ────────────────► rejected
//	   │                        │ ├─ Settle(Suspect twice) ──────► suspect
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
// it looks at the alert that it takes back: accepted, or perhaps sent, it is sent;
// still with a worker, it waits; never sent, it ends as superseded.
//
// A sweep is sent at most once: where its holder is gone or the vendor gave no
// answer it ends as expired instead of going back. At most SweepsAnHour of an
// address are sent in any hour (SweepAt), judged when it is planned and again
// right before its send (FreshSweep). A badge waits for others (BadgeAt).
//
// A row in a worker's hands is never closed from outside: the worker reads its
// subject again right before the send (Fresh), and if the send is already on
// its way the row has to keep the truth that it was accepted.
//
// # Suspicion
//
// Some refusals of an address are as likely a mistake of ours: a topic, an
// environment, a project. Suspicion judges them by how the other tokens of the
// same lane, program, topic and environment (a Target) fare:
//
//	a token is refused                                       the row         the address
//	first, and there is another environment to try           tried there     unchanged; moves there if it is taken
//	by all environments, and                                 ends as
//	  fewer than 10 refused since one was taken, and         dead_address    dead, by compare-and-set
//	  another token was taken within the last hour
//	  otherwise                                              suspect         kept, marked suspect until taken again
//	more than a fifth of the tokens tried, and 10, refused,  waits unspent   untouched
//	or the target is paused already
//
//	counting ── too many refused: alarm ──► paused until a time ──► probing (one send)
//	   ▲                                                              │       │
//	   └── the probe was taken, here or in the other environment ────┘       └── refused, no answer:
//	                                                                             paused, longer
//
// A target that is paused leaves the others of its lane alone; only refused
// credentials pause the lane (Circuit). The tokens tried are those of the last 30
// to 60 minutes, each by its last answer. At most 2 × 1,024 of 64 targets are
// held, 5 MB at most. With more, a share of them chosen by hash stands for all, and
// a sixth instead of a fifth pauses: a mistake then delays pushes and drops no
// address. Nothing of it is stored: after a restart nothing is known, so nothing
// dies, no target is paused, and ten refusals pause again what is still wrong.
//
// A lost lease gives the row back. Whether its holder had sent is not known,
// so the resend carries the same identities and replaces on the device.
package outbox
