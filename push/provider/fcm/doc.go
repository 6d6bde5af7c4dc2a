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
// The kit is heavy (it links Firestore, Storage and gRPC), so nothing but the
// wiring of the server imports this package.
package fcm
