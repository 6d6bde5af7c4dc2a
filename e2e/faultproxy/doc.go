// Package faultproxy is a bad network on demand, for tests of clients and
// servers in any language. It imports nothing of ours: command beckon-faults
// runs it as a process of its own, driven by JSON over HTTP.
//
// [Proxy] carries the bytes of TCP connections and does to each one what its
// [Fault] says. [HTTP] stands before a server as a reverse proxy does, ends TLS,
// and does to each request what the first fitting [Rule] says. One can stand
// behind the other.
//
//	kind        what happens to a connection
//	"" (none)   its bytes pass, late by latency_ms and a random part of jitter_ms,
//	            and no faster than bytes_per_second
//	reset       RST to both ends
//	truncate    FIN to both ends, in the middle of whatever it was
//	black_hole  taken; nothing passes in either direction, nobody is told
//	half_open   as black_hole, but the server was reached before: it holds a
//	            peer that is gone without FIN, and so does the client
//	idle_cut    FIN to both ends once nothing has passed for idle_ms, or with
//	            silent as half_open
//
// All but the last happen after that many bytes of the server ("after"), which
// is at once for 0. With a "way" a fault is about one direction. Beside them
// stands [Proxy.Refuse]: nobody listens.
//
//	field        what happens to a request
//	status       answered with it (502, 503, 429 …); the server hears nothing
//	copies       the server gets it so often, one answer is delivered; -1 is
//	             one to three times
//	together     the copies at the same time, not one after another
//	drop_answer  the server carries it out, the connection ends without an answer
//	buffer       the answer is held back until its end
//	truncate_body
//	             the connection ends after so many bytes of the body ("after")
//	cache        answered from an earlier answer, unless that was no-store
//
// What is random comes from the seed, by the number of a connection or the
// number of a request among those of its path: the same run meets the same
// faults. Close of either waits for every goroutine of it.
//
// Time is that of package time and [Serve] takes any network, so in a bubble of
// testing/synctest a minute of silence passes at once. README.md has what a test
// runner in another language needs.
package faultproxy
