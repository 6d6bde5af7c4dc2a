package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/store"
)

// Bounds of a differential run: it ends after runMin commands once every kind
// of operation has succeeded, and fails when runMax commands did not get there.
const (
	runMin     = 400
	runMax     = 4000
	dumpEvery  = 25
	reopenOdds = 60
)

// RunDifferential drives two back ends with the same random commands and
// compares each answer, and the whole content every few commands. The seed in
// its log repeats a run.
func RunDifferential(t *testing.T, seed uint64, first, second Harness) {
	t.Logf("differential seed %d", seed)
	source := NewSource(seed)
	if first.Reopen == nil && second.Reopen == nil {
		source.succeeded[kindReopen]++ // nothing to wait for
	}
	engines := []store.Engine{first.Open(t), second.Open(t)}
	harnesses := []Harness{first, second}
	defer func() {
		for _, engine := range engines {
			if err := engine.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	}()
	for n := 1; n <= runMax; n++ {
		command := source.Next()
		one, two := command.Run(t, engines[0]), command.Run(t, engines[1])
		if diff := cmp.Diff(one, two); diff != "" {
			t.Fatalf("seed %d, command %d: answers differ: %s", seed, n, diff)
		}
		source.learn(command, one)
		if n%dumpEvery == 0 {
			if diff := cmp.Diff(dump(t, engines[0]), dump(t, engines[1])); diff != "" {
				t.Fatalf("seed %d, command %d: contents differ: %s", seed, n, diff)
			}
		}
		if source.random.IntN(reopenOdds) == 0 {
			reopen(t, engines, harnesses, source)
		}
		if n >= runMin && len(source.Missing()) == 0 {
			return
		}
	}
	t.Fatalf("seed %d: after %d commands never succeeded: %v", seed, runMax, source.Missing())
}

func reopen(t *testing.T, engines []store.Engine, harnesses []Harness, source *Source) {
	for i, h := range harnesses {
		if h.Reopen != nil {
			engines[i] = h.Reopen(t, engines[i])
			source.succeeded[kindReopen]++
		}
	}
}

// Command is a random command; running it on equal content gives equal answers.
type Command struct {
	steps []operation
	end   kind // kindCommit, kindFail, kindPanic or kindView
}

// ReadOnly tells whether the command runs as a view.
func (c Command) ReadOnly() bool { return c.end == kindView }

var errChosen = errors.New("storetest: the command chose to fail")

// Run executes the command and returns what it saw, its outcome last.
func (c Command) Run(t *testing.T, engine store.Engine) []string {
	t.Helper()
	var answers []string
	var err error
	if c.end == kindView {
		err = engine.View(context.Background(), account, func(r store.Reader) error {
			answers = nil
			for _, step := range c.steps {
				answers = append(answers, step.read(r))
			}
			return nil
		})
	} else {
		err = engine.Update(context.Background(), account, func(w store.Writer) error {
			answers = nil
			for _, step := range c.steps {
				answers = append(answers, step.write(w))
			}
			switch c.end {
			case kindFail:
				return errChosen
			case kindPanic:
				panic("chosen")
			default:
				return nil
			}
		})
	}
	return append(answers, c.outcome(t, err))
}

func (c Command) outcome(t *testing.T, err error) string {
	t.Helper()
	switch {
	case c.end == kindFail && errors.Is(err, errChosen), c.end == kindPanic && err != nil:
		return "dropped"
	case c.end != kindFail && c.end != kindPanic && err == nil:
		return "done"
	}
	t.Fatalf("a command meant to end by %s ended with %v", c.end, err)
	return ""
}

// Source makes random commands over few keys, so that they meet.
type Source struct {
	random    *rand.Rand
	succeeded map[kind]int
}

// NewSource returns the source of a seed; equal seeds make equal commands.
func NewSource(seed uint64) *Source {
	return &Source{random: rand.New(rand.NewPCG(seed, 0x6265636b6f6e)), succeeded: make(map[kind]int)}
}

// Next returns the next command.
func (s *Source) Next() Command {
	ends := []kind{kindCommit, kindCommit, kindCommit, kindCommit, kindFail, kindPanic, kindView}
	c := Command{end: ends[s.random.IntN(len(ends))]}
	for range 1 + s.random.IntN(12) {
		c.steps = append(c.steps, s.operation(c.end == kindView))
	}
	return c
}

// learn counts the kinds that did something, by their answers.
func (s *Source) learn(c Command, answers []string) {
	for i, step := range c.steps {
		if answers[i] != "" {
			s.succeeded[step.kind]++
		}
	}
	s.succeeded[c.end]++
}

// Missing lists the kinds of operation that have not succeeded yet, by name.
func (s *Source) Missing() []string {
	var names []string
	for _, k := range allKinds() {
		if s.succeeded[k] == 0 {
			names = append(names, string(k))
		}
	}
	return names
}
