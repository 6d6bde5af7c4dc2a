// Package outage plays what takes too long to wait for: a vendor that is out of
// reach for ten minutes. Outbox, database, workers, providers and the strict
// stand-ins of both vendors are the real ones, speaking TLS and HTTP/2; the
// network between them is in memory and the clock is that of a bubble
// (testing/synctest), so ten minutes pass in seconds and every wait is exact.
package outage
