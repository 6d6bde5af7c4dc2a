// Package httpapi is a fixture.
package httpapi

import "github.com/beckon-dev/beckon/server/app"

func spoil() { app.Written[0] = app.States[1] }
