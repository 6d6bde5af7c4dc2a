// Package plan decides, purely, who is called about what (Plan, in the
// transaction of the cause) and with which words (Compose, right before the
// send, from the subject as it is then).
//
// There are exactly two causes (R20): a decision is required, or a result is
// ready. There is no change for progress, so ten thousand lines of output
// cannot ring; a decision settled by policy and a task that ends with nothing
// to tell after its own question was answered are changes that plan nothing.
package plan
