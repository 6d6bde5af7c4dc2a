package decision_test

import (
	_ "github.com/google/go-cmp/cmp"
	_ "testing"
)
