// Package worker is a fixture.
package worker

import (
	_ "github.com/sideshow/apns2"
)
