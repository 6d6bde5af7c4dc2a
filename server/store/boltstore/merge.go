package boltstore

import "bytes"

// pair is called for each key of a walk and tells whether to go on.
type pair = func(key, value []byte) bool

// merge walks base and the changes above it as one range in the given order.
// A change hides the base's pair under its key; one with a nil value shows
// nothing.
func merge(base step, order func(a, b []byte) int, changes func(pair), fn pair) {
	key, value := base()
	goOn := true
	changes(func(changed, now []byte) bool {
		for goOn && key != nil && order(key, changed) < 0 {
			goOn = fn(key, value)
			key, value = base()
		}
		if key != nil && bytes.Equal(key, changed) {
			key, value = base()
		}
		if goOn && now != nil {
			goOn = fn(changed, now)
		}
		return goOn
	})
	for goOn && key != nil {
		goOn = fn(key, value)
		key, value = base()
	}
}
