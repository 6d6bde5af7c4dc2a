// Package fcm is a fixture.
package fcm

import (
	_ "firebase.google.com/go/v4/messaging"
	_ "github.com/golang-jwt/jwt/v5"
)
