// Package oracle judges, from a story alone, whether the right phones rang. It
// knows what people and agents did, what happened to the phones and the network,
// what the phones showed, and what the server says about each delivery. It knows
// nothing of how a push is planned, queued, rendered or sent: it imports nothing
// of ours, and e2e/arch keeps it so.
//
//	facts, rows ─► Judge ─► findings, none where all of this holds
//
//	R20  what rang was a question, or the end of a task with something to read
//	R21  every alert that was needed was shown on every phone of its account, or
//	     its row says why not, with a reason that the story bears out; and no
//	     phone rang twice for it
//	R22  nothing that was handled rang, and what showed it was taken away; whoever
//	     has the thread in hand is left alone for the grace, and not longer
//	R26  a push carries the account's count, and so does a phone that has synced
//	B14  no phone is sent, or goes on showing, anything of another account
//
// # The limits that are granted
//
//   - An alert that was sent before its subject was handled may still ring; one
//     that Apple or Google had stored for a phone out of reach rings when it is
//     back, unless what takes it back has replaced it there.
//   - Apple stores one push for a phone out of reach: of two, the older is lost,
//     and so may be the one that takes an alert back. What is left showing by that
//     goes at the next sync, and not before.
//   - A phone whose person has switched notifications off, or force-stopped an
//     Android app, shows nothing; what an iPhone showed when it was switched off
//     stays until the next sync.
//   - Taking an alert back is tried for a day. A vendor that refuses the phone, or
//     calls its token dead, is believed.
//   - What was sent to a phone before it was paired anew, with the same account too,
//     is not taken back from it, and goes at its next sync.
//   - An alert that was put away, and whose sender never heard whether it had
//     arrived, may ring once more.
//   - On an iPhone a push of the account before rings before the app can drop it,
//     if it was on its way when the other account logged in.
package oracle
