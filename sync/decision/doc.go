// Package decision is the life cycle of a question to a person: asked once,
// answered once, or closed for a reason that is never mistaken for an answer.
//
// [Ask] judges a new question, [Decide] says what follows from a command and
// [Apply] carries it out; all are pure. Silence is EXPIRED, not "denied". A
// losing answer is a typed [Outcome] with the winner, not an error.
//
//	state      | Answer                        | Expire  | Close(CANCELED, SUPERSEDED, WITHDRAWN) | Amend    | Deliver | Void | ExpireGrants | UseGrant                | RevokeGrant | Snooze | Remind
//	PENDING    | RESOLVED, or stays¹           | EXPIRED | that state                             | PENDING³ | -       | -    | - | refused                 | - | PENDING⁵ | PENDING⁶
//	RESOLVED   | SAME or CONFLICT              | -       | -                                      | -        | stamps² | ARMED grants → VOID | ARMED grants past their time → EXPIRED | ARMED grant → CONSUMED⁴ | ARMED grant → VOID | - | -
//	EXPIRED    | EXPIRED                       | -       | -                                      | -        | -       | -    | - | refused                 | - | - | -
//	CANCELED   | CLOSED                        | -       | -                                      | -        | -       | -    | - | refused                 | - | - | -
//	SUPERSEDED | CLOSED                        | -       | -                                      | -        | -       | -    | - | refused                 | - | - | -
//	WITHDRAWN  | CLOSED                        | -       | -                                      | -        | -       | -    | - | refused                 | - | - | -
//
//	¹ stays with STALE (revision or digest differ), NEEDS_VIEW, NEEDS_STEP_UP;
//	  becomes EXPIRED when the deadline has passed though nobody noted it yet
//	² the first time only: recorded, delivered and ran are separate facts
//	³ in the next revision; what was seen of an earlier one is STALE
//	⁴ once, for the action it was armed for, before its time has passed
//	⁵ put aside until a time, at most its end; becomes EXPIRED when that has passed
//	⁶ called again: a reminder was due, or what was put aside is back
//
// The server asks too ([AskByServer]), about what only a person can settle; such
// a question has fixed exits and no deadline.
//
// A person allows an action as it was asked or, where an option of kind Edit is
// there, with other arguments ([Edited]). To ignore or cancel a question lets
// nothing happen and is no denial. Forms are drawn from the subset of JSON Schema
// that [ReadForm] reads; whether arguments and forms satisfy their schemas is
// told by the caller, since that takes a library and time.
//
// Until a person has opened what has to be viewed ([State.MustView]), an answer
// that does anything but refuse meets NEEDS_VIEW. A question that is asked for a
// host ([Origin]) offers nothing that the host cannot honour.
//
// An answer that allows arms one grant per allowed item: a single-use
// permission for exactly the digest that was shown or edited, 24 hours long, one hour
// from class 4 up.
package decision
