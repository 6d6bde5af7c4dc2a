package guard_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/beckon-dev/beckon/server/store/internal/guard"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	var none map[string]int
	tests := []struct {
		name  string
		fn    func() error
		check func(error) bool
	}{
		{"success", func() error { return nil }, func(err error) bool { return err == nil }},
		{"error as it is", func() error { return own }, func(err error) bool { return err == own }},
		{"runtime fault", func() error { none["x"] = 1; return nil }, func(err error) bool {
			return isPanic(err) && strings.Contains(err.Error(), "nil map")
		}},
		{"value stays out of the text", func() error { panic("secret") }, func(err error) bool {
			return isPanic(err) && !strings.Contains(err.Error(), "secret")
		}},
		{"a panicking error is not that error", func() error { panic(own) }, func(err error) bool {
			return isPanic(err) && !errors.Is(err, own)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := guard.Call(test.fn); !test.check(err) {
				t.Errorf("Call: %v", err)
			}
			if err := guard.Apart(test.fn); !test.check(err) {
				t.Errorf("Apart: %v", err)
			}
		})
	}
}

func TestApartSurvivesGoexit(t *testing.T) {
	t.Parallel()
	err := guard.Apart(func() error { runtime.Goexit(); return nil })
	if !errors.Is(err, guard.ErrExited) {
		t.Fatalf("got %v, want ErrExited", err)
	}
}

func isPanic(err error) bool {
	var p *guard.PanicError
	return errors.As(err, &p) && len(p.Stack()) > 0
}
