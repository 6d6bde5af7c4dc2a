// Package fcm sends to Firebase Cloud Messaging. Render and Classify are pure;
// Send adds one HTTP exchange.
//
//	Send ─► Render ─► messaging.Client ─► transport ─► FCM
//	  └───► tokens (one access token for all sends) ─► token endpoint
//
// The vendor's kit checks and encodes the message; everything it gets wrong is
// put right one layer below, in transport, through a value in the request's
// context. Left alone it would send a message up to five times in seven seconds
// whenever FCM answers 503 or a connection breaks, although FCM has answered 503
// for messages it delivered; it loses the answer when a deadline falls into
// those repeats, and calls a message failed whose acceptance it cannot parse.
// Here an attempt is one request: the outbox owns the repeats.
//
// # What an answer means
//
// Package push says what each class leads to. The first row that fits decides.
//
//	class        answer
//	ok           2xx
//	dead         404 UNREGISTERED
//	cred         404
//	suspect      400 UNREGISTERED
//	suspect      400 INVALID_ARGUMENT about the address alone
//	bug          400
//	cred         401 THIRD_PARTY_AUTH_ERROR
//	cred         401
//	suspect      403 SENDER_ID_MISMATCH
//	cred         403
//	slow_device  429 of one device
//	slow_all     429
//	backoff      408, 5xx, redirect
//	bug          other 4xx
//
// Backoff waits ten seconds at least and slow_all a minute, or what FCM asks for
// (Retry-After, RetryInfo) if that is longer. A 401 that is about our access
// token is met once with a new one in the same attempt. Without an answer, a
// request that went out is ambiguous and any other backoff.
//
// The kit is heavy (it links Firestore, Storage and gRPC), so nothing but the
// wiring of the server imports this package.
package fcm
