// Package proof is a fixture.
package proof

import (
	_ "github.com/gowebpki/jcs"
	_ "golang.org/x/sync/errgroup"
)
