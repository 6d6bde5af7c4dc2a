// Package beckon is the Go client of a Beckon server: for programs that do
// long work for a person ([Agent]), and for the devices on which that person
// answers ([Person]).
//
// It is a thin layer over the generated services, which every client carries
// as [API]. What it adds is what each caller would otherwise get wrong: a
// deadline on every call, repeats that keep their idempotency key, typed errors
// ([Error]), credentials that renew themselves, proofs, leases that are kept
// alive, the fold of sync pages ([Inbox]), and the loop of a worker ([Worker]).
//
// # The life of a handler
//
// [Worker.Run] claims tasks and runs a handler on each. A handler is ordinary
// code that is run from its beginning each time its task goes on: after an
// answer, after a sleep, and after its worker has died. What it did before, it
// finds by the same keys.
//
//	READY ──claim──► handler runs, its lease is kept
//	  ▲                │
//	  │                ├─ Ask, Sleep, WaitAny, WaitAll: no answer within
//	  │                │  Patience ► ErrSuspended, and the handler returns
//	  └── it happened ◄┴─ WAITING, for as long as it takes, at no cost
//
// How a run ends follows from what the handler returns:
//
//	nil                              completed, with the result that was set
//	ErrSuspended                     sleeps; run again when it has happened
//	an error of Fail                 failed, in words for the person
//	RefusedError                     completed without a result: the person said
//	                                 no; failed where nobody has answered
//	EffectError, nobody knows        given back and held until the person has said
//	                                 whether it was done; then run again
//	EffectError, person: not done    completed without a result
//	EffectError, provider refused    failed
//	KeyError                         failed, and the log says which key
//	any other error, or a panic      run again after 1 s, 4 s, 16 s …, then failed;
//	                                 its text goes to the log only
//
// Once it was told to sleep it sleeps, whatever it returns. Its context ends
// when it has to stop, and context.Cause says why; an error that is returned
// then means:
//
//	ErrStopped                       given back: the task is canceled
//	ErrPaused, ErrReview             given back: run again when the hold is lifted
//	ErrKillSwitch                    given back: run again when the switch is off
//	ErrShutdown                      given back: run again by another worker
//	ErrLeaseLost                     nothing is said, and nothing would be heard
//
// A handler that has finished all the same returns nil, and its result counts.
//
// An agent's key never has to reach the processes it starts: [Agent.WriteTask]
// leaves a token for one task in a file, and [OpenTask] works with that.
package beckon
