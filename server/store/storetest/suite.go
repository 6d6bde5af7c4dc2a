// Package storetest is the one suite every store engine passes, and the seeded
// run that compares two of them. It is imported by tests only.
package storetest

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/beckon-dev/beckon/server/store"
)

// Harness makes the engines of one back end.
type Harness struct {
	// Open returns an empty engine, which the suite closes.
	Open func(t *testing.T) store.Engine
	// Reopen ends the engine and opens another over the same data, as after a
	// restart. Nil where nothing outlives the engine.
	Reopen func(t *testing.T, engine store.Engine) store.Engine
}

// RunEngine runs every case on a fresh engine of its own.
func RunEngine(t *testing.T, h Harness) {
	groups := []map[string]func(*testing.T, Harness){
		commandCases(), readCases(), concurrencyCases(), lifecycleCases(),
	}
	for _, group := range groups {
		for name, run := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(t, h)
			})
		}
	}
}

const (
	alpha   store.Table = "alpha"
	beta    store.Table = "beta"
	account             = "acc"
)

// tables are all the suite writes to.
func tables() []store.Table { return []store.Table{alpha, beta} }

// start opens an engine for the length of the test.
func start(t *testing.T, h Harness) store.Engine {
	t.Helper()
	engine := h.Open(t)
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return engine
}

func update(t *testing.T, engine store.Engine, fn func(store.Writer) error) {
	t.Helper()
	if err := engine.Update(context.Background(), account, fn); err != nil {
		t.Fatalf("update: %v", err)
	}
}

func view(t *testing.T, engine store.Engine, fn func(store.Reader) error) {
	t.Helper()
	if err := engine.View(context.Background(), account, fn); err != nil {
		t.Fatalf("view: %v", err)
	}
}

// put stores pairs given as key, value, key, value.
func put(t *testing.T, engine store.Engine, table store.Table, pairs ...string) {
	t.Helper()
	update(t, engine, func(w store.Writer) error {
		for i := 0; i < len(pairs); i += 2 {
			if err := w.Put(table, []byte(pairs[i]), []byte(pairs[i+1])); err != nil {
				return err
			}
		}
		return nil
	})
}

// dump is the whole content as "table/key=value" in order, read forwards and,
// as a check on both directions, backwards.
func dump(t *testing.T, engine store.Engine) []string {
	t.Helper()
	var up, down []string
	view(t, engine, func(r store.Reader) error {
		up, down = nil, nil
		for _, table := range tables() {
			back, err := collect(r.ScanBack, table, nil, nil)
			if err != nil {
				return err
			}
			forth, err := collect(r.Scan, table, nil, nil)
			if err != nil {
				return err
			}
			for i := range forth {
				up = append(up, string(table)+"/"+forth[i])
			}
			for i := range back {
				down = append(down, string(table)+"/"+back[len(back)-1-i])
			}
		}
		return nil
	})
	if fmt.Sprint(up) != fmt.Sprint(down) {
		t.Fatalf("Scan and ScanBack disagree:\n%q\n%q", up, down)
	}
	return up
}

type scanFunc func(store.Table, []byte, []byte, func(key, value []byte) bool) error

// collect reads a range as "key=value"; long values stand as length and sum.
func collect(scan scanFunc, table store.Table, from, to []byte) ([]string, error) {
	var out []string
	err := scan(table, from, to, func(key, value []byte) bool {
		out = append(out, fmt.Sprintf("%s=%s", key, brief(value)))
		return true
	})
	return out, err
}

func brief(value []byte) []byte {
	if len(value) <= 32 {
		return bytes.Clone(value)
	}
	sum := uint64(14695981039346656037) // FNV-1a, enough to tell values apart
	for _, b := range value {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return fmt.Appendf(nil, "%d bytes %x", len(value), sum)
}
