// Package httputil is a fixture.
package httputil
