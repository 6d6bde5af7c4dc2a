package maintenance_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/maintenance"
	"github.com/beckon-dev/beckon/sync/task"
)

type sweeper struct{ looks [][]app.Stuck }

func (s *sweeper) SweepStuck(context.Context) ([]app.Stuck, error) {
	if len(s.looks) == 0 {
		return nil, errors.New("the medium does not read")
	}
	found := s.looks[0]
	s.looks = s.looks[1:]
	return found, nil
}

// What is stuck is logged, without saying whose it is; a look that fails leaves
// the last count.
func TestSweep_Reports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var left []int
		verbs := &sweeper{looks: [][]app.Stuck{
			{{Account: "secretaccount", Task: "tsk_secret", Phase: task.Ready, Mover: task.MoverQueue, Mended: true}, {Phase: task.Waiting}},
			nil,
		}}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			maintenance.Sweep(ctx, verbs, slog.New(slog.NewTextHandler(&log, nil)), func(n int) { left = append(left, n) })
		})
		for range 3 {
			advance(maintenance.SweepEvery)
		}
		cancel()
		running.Wait()
		if len(left) != 2 || left[0] != 1 || left[1] != 0 {
			t.Errorf("left %v", left)
		}
		text := log.String()
		if strings.Count(text, "without a next mover") != 2 || !strings.Contains(text, "missing=queue mended=true") ||
			!strings.Contains(text, "missing=nobody mended=false") || !strings.Contains(text, "failed") || strings.Contains(text, "secret") {
			t.Errorf("logged:\n%s", text)
		}
	})
}
