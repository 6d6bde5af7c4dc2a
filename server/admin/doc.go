// Package admin is the operator's door: a Unix socket that only the user of the
// server can open. Whoever reaches it is the operator. It serves plain HTTP with
// JSON, and this package holds both of its ends, so that they agree.
package admin
