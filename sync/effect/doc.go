// Package effect is the life cycle of one action on the outside world, such as
// a mail that is sent: the ledger that keeps it from being done twice.
//
// [Decide] says what follows from a command, [Apply] carries it out; both are
// pure. Approving is not executing: an effect begins with GO, and each GO opens
// one generation, which is one permitted attempt. GO is said once per
// generation; whoever asks again hears what is known. Nothing the server does
// by itself ever says GO again. Another generation is open only
//
//   - after a definite failure that the holder of the lease confirmed, up to
//     [MaxGenerations], while the permission is alive;
//   - after a person's "it did not happen, do it", for a while;
//   - after a probe that a rule calls authoritative found nothing once the lease
//     was gone, while the permission is alive.
//
// An effect is settled when it is CONFIRMED, FAILED or RESOLVED_BY_HUMAN. The
// last two may leave another generation open, which stands as a state of its
// own in the table.
//
//	state                    | Begin        | Confirm(ok) | Confirm(failure)         | Report(found) | Report(not found)              | Report(unknown) | LoseLease | EndTask           | Restore   | Resolve
//	none                     | GO¹          | refused     | refused                  | refused       | refused                        | refused         | -         | -                 | -         | -
//	BEGUN                    | known        | CONFIRMED   | FAILED (open) or FAILED² | CONFIRMED     | kept                           | kept            | UNCERTAIN | UNCERTAIN         | UNCERTAIN | -
//	UNCERTAIN                | known        | CONFIRMED   | FAILED (open) or FAILED² | CONFIRMED     | kept or FAILED (open)³         | kept            | -         | ends              | anew⁷     | RESOLVED_BY_HUMAN (open) or RESOLVED_BY_HUMAN⁴
//	FAILED (open)            | GO or known⁵ | CONFIRMED⁶  | -                        | CONFIRMED⁶    | kept                           | kept            | -         | FAILED            | UNCERTAIN | -
//	RESOLVED_BY_HUMAN (open) | GO or known⁵ | CONFIRMED⁶  | kept                     | CONFIRMED⁶    | kept                           | kept            | -         | RESOLVED_BY_HUMAN | UNCERTAIN | -
//	CONFIRMED                | known        | -           | kept                     | kept          | kept                           | kept            | -         | -                 | -         | -
//	FAILED                   | known        | kept        | -                        | kept          | kept                           | kept            | -         | -                 | -         | -
//	RESOLVED_BY_HUMAN        | known        | kept        | kept                     | kept          | kept                           | kept            | -         | -                 | -         | -
//
//	¹ UNCERTAIN where the server cannot know whether it began before, unless
//	  the provider has a key for it or somebody can be asked
//	² open where the holder of the lease says so, below MaxGenerations and while
//	  the task lives; a failure that was told late settles and opens nothing
//	³ where a rule calls the probe authoritative and the task lives
//	⁴ open is the exit "did not, do it", which is refused once the task has ended
//	⁵ known where the permission, or the person's word, has ended meanwhile
//	⁶ nothing was begun since, so the truth still keeps it from being done twice
//	⁷ under a generation that nobody was given, as in the other cells of the
//	  column: what was said in a lost future, and is said of it, settles nothing
//
// What is told of an older generation is kept as evidence in every state, and
// so is, at most [MaxEvidence] notes of it, what is told of a settled one. A
// generation that was never begun is refused. Begin for another action is
// refused in every state but none.
package effect
