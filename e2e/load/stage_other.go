//go:build !linux

package load

import (
	"context"
	"fmt"
	"io"
	"time"
)

// StageVariable, when set, makes the program the stage of one trial; see [Stage].
const StageVariable = "BECKON_LOAD_STAGE"

// Run answers ErrAbsent: only Linux gives a process a network of its own.
func (t Trial) Run(context.Context) (Outcome, error) {
	return Outcome{}, fmt.Errorf("%w: a network of its own needs Linux", ErrAbsent)
}

// Stage answers ErrAbsent.
func Stage(context.Context, io.Reader, io.Writer) error { return ErrAbsent }

func processCPU(int) time.Duration { return 0 }
