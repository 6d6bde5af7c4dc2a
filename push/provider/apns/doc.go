// Package apns sends to Apple's push service. Render, Classify and the token
// form are pure; Send adds one HTTP/2 exchange.
//
//	Send ─► Render ─► slot ─► session ─► apns2.Client ─► transport ─► APNs
//	                   │        one provider token and its connections
//	                   └ replaces the session when the token ages or Apple asks
//
// apns2 builds the request; everything it gets wrong is put right one layer
// below, in transport, through a value in the request's context: it would
// escape HTML in the body, cannot send an expiration of zero, loses the status
// of an answer that is not JSON, the Retry-After header and the milliseconds of
// a 410, and signs with one token for all connections. Apple tracks provider
// tokens per connection, so here a token and its connections live and end
// together: no connection ever sees two tokens.
package apns
