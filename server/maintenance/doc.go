// Package maintenance runs the loops that time asks for. Each loop belongs to
// whoever calls it: it returns when its context ends.
package maintenance
