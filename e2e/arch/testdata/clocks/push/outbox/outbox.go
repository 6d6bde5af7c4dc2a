// Package outbox is a fixture.
package outbox

type clock struct{}

func (clock) Now() int { return 0 }

func now(time clock) int { return time.Now() }
