package task

import (
	"reflect"
	"testing"
)

// A field that is added to a result or a failure has to be compared when the
// worker repeats itself.
func TestRepeated_ComparesEveryField(t *testing.T) {
	t.Parallel()
	if n := reflect.TypeFor[Result]().NumField(); n != 5 {
		t.Errorf("Result has %d fields, sameResult compares 5", n)
	}
	if n := reflect.TypeFor[Failure]().NumField(); n != 4 {
		t.Errorf("Failure has %d fields, sameFailure compares 4", n)
	}
}
