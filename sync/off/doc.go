// Package off is the one switchboard for rules that a test run takes away to
// see whether the checkers notice. A normal build has nothing to switch:
// [Rule] is constant false there and the compiler drops the branch. Built with
// the tag "off" it reads the environment variable OFF once.
//
// Only the code that enforces a rule asks; a checker that asked would be blind
// in exactly the run that is meant to test it.
package off
