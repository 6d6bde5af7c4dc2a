// Package app is what Beckon does: one verb, one file, one store transaction.
//
// A verb authorises its principal for the things it touches, asks the life
// cycles in sync/ what follows, and writes state, changes, signals, push
// intents and audit in one transaction. Before it everything slow is done:
// canonicalising, hashing, verifying signatures. After it waiters are woken
// without data. Nothing else reacts to anything: a reader follows one call down
// and one value up.
package app
