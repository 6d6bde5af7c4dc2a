// Package draft is what becomes of texts that a person has begun to write on
// several devices, some of them without knowing of the others.
//
// A draft is a set of at most [MaxTexts] texts, each under a rev that no other
// text of the draft ever had. A write names the text that it builds on, by its
// rev and the epoch in which that was read:
//
//	the write builds on         | what becomes of it
//	nothing, none is there      | the draft's own text
//	the own text                | takes its place
//	a sibling                   | takes its place, and stays a sibling
//	what the device's last did  | takes the place of that last one (its answer was lost)
//	anything else               | a further sibling; with MaxTexts there, ErrFull
//
// A text that says what another one already does is not written. A text goes
// only by a write that builds on it, by an empty write of its own device, or
// where it is named as taken up or given up by somebody who has seen it: no
// text is ever out of reach without a person's doing. A rev of another epoch
// names nothing, so a device that comes back after a restore adds and never
// replaces.
package draft
