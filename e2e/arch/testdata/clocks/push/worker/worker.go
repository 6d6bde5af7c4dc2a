// Package worker is a fixture.
package worker

import (
	"math/rand/v2"
	"time"
)

func now() (time.Time, int) { return time.Now(), rand.Int() }

func nap() { time.Sleep(1) }
