// Package thread is the life cycle of a conversation: its timeline head, what
// counts as unread, how far the person has read, and who reads a message.
//
// A thread never ends. What can happen to it depends on its newest live task:
//
//	live task           | Append | Send                      | MarkRead | TaskStarted | TaskEnded
//	none, agent usable  | grows  | a new task is to be made  | merges   | becomes live| -
//	none, not usable    | grows  | ErrNoAgent                | merges   | becomes live| -
//	reads messages      | grows  | goes to that task         | merges   | newest live | the one before, or none
//	reads no messages   | grows  | ErrNoAgent                | merges   | newest live | the one before, or none
//
// Beside that it may be archived, which changes what lists show and nothing
// else: a notable item, a message of the person, a question or a new task brings
// it back.
package thread
