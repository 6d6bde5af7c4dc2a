// Package beckon is the Go client of a Beckon server: for programs that do
// long work for a person ([Agent]), and for the devices on which that person
// answers ([Person]).
//
// It is a thin layer over the generated services, which every client carries
// as [API]. What it adds is what each caller would otherwise get wrong: a
// deadline on every call, repeats that keep their idempotency key, typed errors
// ([Error]), credentials that renew themselves, proofs, leases that are kept
// alive, and the fold of sync pages ([Inbox]).
//
// An agent's key never has to reach the processes it starts: [Agent.WriteTask]
// leaves a token for one task in a file, and [OpenTask] works with that.
package beckon
