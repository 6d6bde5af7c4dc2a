package script_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/push/emulator/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// to picks the requests of one name, and all with "".
func to(name string, nth, times int) script.When[string] {
	return script.When[string]{Is: func(s string) bool { return name == "" || s == name }, Nth: nth, Times: times}
}

func TestScript_CountsAndOrders(t *testing.T) {
	t.Parallel()
	var s script.Script[string, string, int]
	s.Fault(to("a", 2, 2), "second and third a")
	s.Fault(to("", 0, 0), "first of all")
	s.Fault(to("b", 2, -1), "all b from the second")
	var got []string
	for _, request := range []string{"a", "b", "a", "b", "a", "a", "b"} {
		fault, hold := s.Next(request)
		if hold != nil {
			t.Error("a fault held a request")
		}
		if fault == nil {
			fault = new(string)
		}
		got = append(got, *fault)
	}
	want := []string{
		"first of all", "", "second and third a", "all b from the second", "second and third a", "", "all b from the second",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	h := s.Hold(to("a", 0, 0))
	if n := s.Drop(func(f string) bool { return f == "all b from the second" }); n != 1 {
		t.Errorf("dropped %d", n)
	}
	if fault, _ := s.Next("b"); fault != nil {
		t.Errorf("%q was dropped", *fault)
	}
	if _, hold := s.Next("a"); hold != h {
		t.Error("a hold was dropped")
	}
	s.Clear()
	if fault, hold := s.Next("b"); fault != nil || hold != nil {
		t.Error("a rule stayed")
	}
}

func TestScript_AHoldAndAFaultGoTogether(t *testing.T) {
	t.Parallel()
	var s script.Script[string, string, int]
	h := s.Hold(to("a", 0, -1))
	s.Fault(to("a", 0, 0), "late")
	fault, hold := s.Next("a")
	if fault == nil || *fault != "late" || hold != h {
		t.Errorf("fault %v, hold %v", fault, hold)
	}
	done := make(chan struct{})
	go func() { hold.Wait(t.Context(), 7); close(done) }()
	if rec, err := h.Reached(t.Context()); rec != 7 || err != nil {
		t.Errorf("%d, %v", rec, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Reached(over); err == nil {
		t.Error("a request was returned twice")
	}
	select {
	case <-done:
		t.Error("the hold let go by itself")
	default:
	}
	s.Clear()
	<-done
	h.Release()
	h.Wait(over, 8) // released once is released for all
}
