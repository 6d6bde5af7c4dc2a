package task_test

import (
	"time"
)

func now() time.Time { return time.Now() }

func nap() { time.Sleep(1) }
