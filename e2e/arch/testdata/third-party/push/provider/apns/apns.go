// Package apns is a fixture.
package apns

import (
	_ "firebase.google.com/go/v4"
	_ "github.com/sideshow/apns2/token"
)
