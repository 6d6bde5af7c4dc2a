// Package sim drives a whole server by one random seed and judges it after
// every step.
//
// Workers, people, phones, a push vendor and the clock take turns; every call
// is the server's own verb, over a real store on memory or on a bbolt file.
// Calls meet three kinds of weather: the answer gets lost, the process dies
// before the commit, the process dies after it. Whoever did not hear an answer
// sends the same call again.
//
// Beside the server runs a model: plain bookkeeping, written from the rules, of
// what every caller was told and of what time has done since. It shares no
// code with the life cycles it judges. After each step the answer is compared
// with the model's, and everything stored with what the model holds; [Run]
// returns a [RuleError] that names the rule, the seed and the last steps.
//
//	step = chance picks who and what → verb (lost, killed or not) → model judges → checkers read the store
//
// [RunEffects] is a second, smaller story about agents that act on the outside.
// There the outside itself keeps count: as everybody says what is true, nothing
// may happen twice, and everything that is uncertain can be settled.
//
// Nothing here asks which rule is switched off: a checker that did would be
// blind in the run that is meant to test it.
package sim
