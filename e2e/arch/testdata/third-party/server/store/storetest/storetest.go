// Package storetest is a fixture.
package storetest

import (
	_ "pgregory.net/rapid"
	_ "testing"
)
