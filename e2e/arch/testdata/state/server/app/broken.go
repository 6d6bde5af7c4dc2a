package app

import (
	"sync"
	"sync/atomic"
)

var counter int

var lock = sync.Mutex{}

var hits = atomic.Int64{}

var cache = map[string]int{}

var list = []int{1}

var taken = [2]int{}

// Open is assignable by everybody.
var Open = []int{1}

// Written is assigned to by another package.
var Written = [...]int{1}

// Shared is a slice under another name.
var Shared = many{1}

type many []int

// ErrLater is no error made once.
var ErrLater error

func init() { counter++ }

func fill() *[2]int {
	cache["a"] = 1
	list = append(list, 2)
	return &taken
}
