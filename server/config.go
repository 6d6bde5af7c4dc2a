package server

import (
	"io"
	"log/slog"
	"time"

	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// Config is how the server is to run, and what a caller in the same process may
// hand in instead of what the flags would give.
type Config struct {
	config.Config

	// Log gets one line a call and little else; nil is silence. Keys that are
	// not on the list in logging.go are dropped.
	Log *slog.Logger
	// Terminal is where the claim link of a server without an owner is printed,
	// and nothing else. Nil prints none.
	Terminal io.Writer
	// Engine replaces the database in the data folder; Run closes it.
	Engine store.Engine
	// Blobs replaces the folder of the artifacts.
	Blobs store.Blobs
	// Limits replaces the named set.
	Limits *policy.Limits
	// Clock replaces the wall clock of store and verbs.
	Clock func() time.Time
	// InProcess opens neither port nor socket: callers use App and RPC.
	InProcess bool
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = slog.New(allowList{c.Log.Handler()})
	if c.Terminal == nil {
		c.Terminal = io.Discard
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Limits == nil {
		limits := policy.DefaultLimits()
		if c.Config.Limits == "bench" {
			limits = policy.BenchLimits()
		}
		c.Limits = &limits
	}
	return c
}
