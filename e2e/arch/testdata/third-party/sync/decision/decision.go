// Package decision is a fixture.
package decision

import (
	_ "github.com/gowebpki/jcs"
)
