// Package task is a fixture.
package task

import (
	"math/rand/v2"
	clock "time"
)

func now() clock.Time { return clock.Now() }

func age(t clock.Time) clock.Duration { return clock.Since(t) }

func luck() int { return rand.Int() }

func wait() *clock.Timer { return clock.NewTimer(clock.Second) }
