// Package plan is a fixture.
package plan

import (
	"math/rand"
)

func luck() int { return rand.Int() }
