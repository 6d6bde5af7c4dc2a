// Package push is a fixture.
package push

type Bare struct{}

func (Bare) Method() {}

func (b *Bare) Other() {}

type hidden struct{}

func (hidden) Method() {}

func Free() {}

// Grouped speaks for both.
const (
	One = 1
	Two = 2
)

const (
	Three = 3 // Three has a comment beside it.
	Four  = 4
)

type List[T any] []T

func (l List[T]) Len() int { return len(l) }
