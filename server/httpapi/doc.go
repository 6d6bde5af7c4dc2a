// Package httpapi is the doors of the server that do not speak Connect: health,
// metrics, and the buttons of notifications, whose phone may have nothing but
// an HTTP client at hand.
package httpapi
