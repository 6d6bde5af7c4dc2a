// Package cli is the command line `beckon`: what can be typed, what is printed,
// and the exit status scripts rely on.
//
// Exit status, the same for every command: 0 done, or yes; 1 no, or another
// answer had won; 2 the command line makes no sense; 3 the time was over; 4 the
// question was closed without an answer; 125 Beckon itself failed; 128+n
// interrupted by signal n. `beckon run` passes the status of its command on
// instead: 126 it cannot be run, 127 it is not there, 128+n signal n ended it.
//
// What agents, commands and other devices have written passes package screen
// before it reaches the terminal.
package cli
