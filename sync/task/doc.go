// Package task is the life cycle of a task: the durable unit of work of one
// agent in one thread.
//
// [Decide] says what follows from a command, [Apply] carries it out; both are
// pure. A task has a phase and, across it, a hold. Waiting costs storage and
// nothing else. A worker owns a RUNNING task through its lease, a random id: a
// command under any other lease changes nothing (ErrLeaseLost), except that the
// operation which gave the last lease back may be repeated.
//
//	phase     | Claim    | Heartbeat etc. | Yield                | Release  | Complete   | Accept    | SendBack | Fail   | Stop     | Pause etc. | Cancel   | Overdue | Wake  | LoseLease
//	READY     | RUNNING  | lost           | lost                 | lost     | lost       | COMPLETED | READY    | lost   | CANCELED | hold or - | CANCELED | EXPIRED | -     | -
//	RUNNING   | refused¹ | RUNNING        | WAITING or READY²    | READY    | COMPLETED⁶ | COMPLETED | RUNNING  | FAILED | hold³    | hold or - | CANCELED | hold³   | -     | READY, WAITING⁴ or FAILED⁵
//	WAITING   | refused  | lost           | lost                 | lost     | lost       | COMPLETED | READY    | lost   | CANCELED | hold or - | CANCELED | EXPIRED | READY | -
//	terminal  | refused  | lost           | lost                 | lost     | lost       | -         | -        | lost   | -        | -         | -        | -       | -     | -
//
//	¹ the same claim id gets the same lease, extended
//	² READY when the set is satisfied or a waking signal is not acknowledged
//	³ hold STOP; under it Yield, Release and LoseLease go to CANCELED, or to
//	  EXPIRED where a deadline was it, while Complete and Fail keep their truth
//	⁴ a decision of its own is still open and no waking signal is left to be
//	  acknowledged: nothing is counted; or it was counted, not for the first
//	  time in a row, and the task waits to be tried again
//	⁵ the lost lease in a row that reaches MaxAttempts: could_not_resume.
//	  MaxAttempts 1 is a wrapped command and fails even while it waits
//	⁶ WAITING for a person to accept the result, where one has to; what is
//	  accepted ends the task, what is sent back makes it READY
//
// Holds lie on a task in every phase but the terminal ones:
//
//	hold   | Pause        | Resume      | Review | Clear          | Stop
//	NONE   | PAUSE        | -           | REVIEW | -              | STOP
//	PAUSE  | -            | NONE        | REVIEW | -              | STOP
//	STOP   | -            | -           | -      | -              | -
//	REVIEW | below or -   | below or -  | -      | NONE, PAUSE or - | STOP
//
// Where it says below, a pause beneath the review is set or lifted; it shows
// again when the review is over. A review of a restore is not cleared before its
// question is answered. Stop is that of a RUNNING task.
//
// A counted lost lease is followed by another try, later each time:
//
//	lost in a row | tried again after
//	1             | 0s
//	2             | 5s
//	3             | 30s
//	4             | 2m0s
//	5             | 10m0s
//	6             | 10m0s
//
// That is a wait of its own kind: its end tells the agent nothing, and whatever
// wakes a task by itself, such as a message, ends it sooner.
//
// A claimable task also waits for a worker that may have it. Looked at from time
// to time ([Look]), it is shown as waiting once none was there for a while, and
// the person is asked after a longer one; see [Patience]. Being claimed, held or
// ended ends that.
//
// A worker that holds the task and says nothing is reminded after SilenceAfter,
// and after as long again the timeline says so, once for each silence ([Listen]).
// A heartbeat is no word; any other command under the lease is ([Speak]).
//
// A restore from a backup in which the task was alive takes its lease away
// without counting it, and holds it for review until a person lets it go on
// ([Restore], [GoOn]). Under STOP that is the end. A wrapped command fails then,
// since nobody else can go on with it.
//
// Heartbeat etc. are Heartbeat, SaveCheckpoint, Ack, Speak and UpdateProgress. Wake does
// something only if the set is satisfied or the signal wakes by itself. A held
// task is not claimed: a new Claim is refused under every hold but NONE, while
// the one that holds the task may be repeated.
package task
