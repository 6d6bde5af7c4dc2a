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

	"github.com/beckon-dev/beckon/server/maintenance"
)

type forgetter struct{ looks int }

func (f *forgetter) Forget(context.Context) error {
	if f.looks++; f.looks == 1 {
		return errors.New("secret words of the medium")
	}
	return nil
}

// What is over is looked for from time to time, also after a look that failed,
// of which the log says nothing but that.
func TestForget_GoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		verbs := &forgetter{}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { maintenance.Forget(ctx, verbs, slog.New(slog.NewTextHandler(&log, nil))) })
		for range 3 {
			advance(maintenance.ForgetEvery)
		}
		cancel()
		running.Wait()
		if text := log.String(); verbs.looks != 3 || strings.Count(text, "failed") != 1 || strings.Contains(text, "secret") {
			t.Errorf("%d looks, logged:\n%s", verbs.looks, text)
		}
	})
}
