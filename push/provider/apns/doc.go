// Package apns sends to Apple's push service. Render, Classify and the token
// form are pure; Send adds one HTTP/2 exchange.
//
//	Send ─► Render ─► slot ─► session ─► apns2.Client ─► transport ─► pool ─► APNs
//	                   │        one provider token      its connection and who
//	                   │        and its connections     waits for room on it ┘
//	                   └ replaces the session when the token ages, Apple asks, or
//	                     a whole attempt heard nothing
//
// apns2 builds the request; everything it gets wrong is put right one layer
// below, in transport, through a value in the request's context: it would
// escape HTML in the body, cannot send an expiration of zero, loses the status
// of an answer that is not JSON, the Retry-After header and the milliseconds of
// a 410, and signs with one token for all connections. Apple tracks provider
// tokens per connection, so here a token and its connections live and end
// together: no connection ever sees two tokens.
//
// # When a connection fails
//
//	refused stream, GOAWAY below ours     sent again at once, nobody has looked at it
//	waiting for room                      goes to the next connection, unsent so far
//	GOAWAY at ours, with its answer       the answer counts
//	  or closed, reset, silent without    Ambiguous: the outbox sends it again under
//	                                      the same identity
//	no connection, or too many of late    Backoff with the wait
//
// A dead connection is found by a ping after 10 s of silence and 5 s without its
// answer, or by an attempt on which nothing came back at all.
//
// # What an answer means
//
// Package push says what each class leads to.
//
//	class        reasons
//	bug          BadCollapseId BadExpirationDate BadMessageId BadPriority BadTopic
//	             MissingTopic MissingDeviceToken PayloadEmpty InvalidPushType
//	             DuplicateHeaders BadPath MethodNotAllowed PayloadTooLarge
//	backoff      IdleTimeout InternalServerError ServiceUnavailable Shutdown
//	suspect      BadDeviceToken DeviceTokenNotForTopic
//	cred         TopicDisallowed InvalidProviderToken MissingProviderToken
//	             BadCertificate BadCertificateEnvironment Forbidden
//	             ExpiredProviderToken UnrelatedKeyIdInToken
//	             BadEnvironmentKeyInToken BadEnvironmentKeyIdInToken
//	dead         Unregistered ExpiredToken
//	slow_all     TooManyProviderTokenUpdates
//	slow_device  TooManyRequests
//
// Dead needs the time that Apple gives; without it, it is suspect. After
// ExpiredProviderToken the attempt is made once more with a new token on a new
// connection, and after InternalServerError and TooManyProviderTokenUpdates the
// connection is replaced. A reason that is not listed is judged by its status:
// 401 and 403 cred, 410 suspect, 429 slow_device, any other 4xx bug, the rest
// backoff. Without an answer, a request that went out is ambiguous and any other
// backoff.
package apns
