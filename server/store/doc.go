// Package store keeps everything Beckon knows: one typed transaction over an
// ordered keyspace, so that a back end is only an [Engine] of a few methods and
// each record, index and pointer is written in one place.
package store
