// Package auth is a fixture.
package auth

import (
	_ "github.com/golang-jwt/jwt/v5"
)
