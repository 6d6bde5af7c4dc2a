// Package guard runs a caller's function so that its panic stays its own: the
// engine that called it goes on, and the caller gets an error.
package guard

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// ErrExited tells that the function ended its goroutine instead of returning,
// as a test helper does that fails the test from inside a command.
var ErrExited = errors.New("guard: the function ended its goroutine")

// PanicError is what a panic becomes. Its text leaves out a panic value of the
// caller's making, which may hold what people wrote; Stack is for the log of
// the process.
type PanicError struct {
	value any
	stack []byte
}

// Error names the fault where the runtime raised it, and otherwise only the
// type of the value.
func (p *PanicError) Error() string {
	if fault, ok := p.value.(runtime.Error); ok {
		return "guard: panic: " + fault.Error()
	}
	return fmt.Sprintf("guard: panic with a value of type %T", p.value)
}

// Stack is the stack of the goroutine at the moment of the panic.
func (p *PanicError) Stack() []byte { return p.stack }

// Call runs fn on the calling goroutine and turns a panic into a *PanicError.
// runtime.Goexit passes through: the deferred calls of the caller must clean up.
func Call(fn func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{value: value, stack: debug.Stack()}
		}
	}()
	return fn()
}

// Apart runs fn on a goroutine of its own and waits for it, so that even
// runtime.Goexit cannot take the calling goroutine away; that is ErrExited.
func Apart(fn func() error) error {
	result := make(chan error, 1)
	go func() {
		err := ErrExited
		defer func() { result <- err }()
		err = Call(fn)
	}()
	return <-result
}
