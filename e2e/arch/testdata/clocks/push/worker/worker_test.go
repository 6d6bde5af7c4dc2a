package worker_test

import (
	"testing/synctest"
	"time"
)

func nap() { synctest.Test(nil, nil); time.Sleep(1) }
