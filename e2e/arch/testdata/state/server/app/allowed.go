// Package app is a fixture.
package app

import (
	_ "embed"
	"encoding/base32"
	"errors"
	"regexp"
)

// Errors are compared with.
var (
	ErrGone  = errors.New("gone")
	errShape = &shape{}
)

type shape struct{}

func (*shape) Error() string { return "shape" }

var _ error = (*shape)(nil)

//go:embed allowed.go
var source string

var table = map[string]int{"a": 1}

var pattern = regexp.MustCompile("a+")

var alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

var bucket = []byte("name")

// States lists all of them.
var States = [...]int{1, 2}

// Nowhere is a constant of several fields.
var Nowhere = place{}

type place struct{ x, y int }
