// Package fcm is a strict stand-in for Firebase Cloud Messaging (HTTP v1) and for
// the endpoint that gives out its access tokens: a provider that passes here has
// been held to Google's rules over real TLS, by HTTP/1.1 or HTTP/2, and what it was
// told is on record. Strict means that anything the rules do not name fails; an
// emulator that lets a mistake pass hides it until production.
//
//	s, err := fcm.Start(ctx, fcm.Config{})
//	credentials, err := s.Issue("")              // a service-account JSON, token_uri here
//	token := fcm.NewToken()
//	err = s.AddDevice(fcm.Registration{Token: token, App: "com.example.app", Phone: phone})
//	… point the provider at s.URL()+"/v1" with s.CAPEM() as its only root …
//	requests, err := s.Wait(ctx, 1)
//
// # A request
//
//	request ─► checks ─► script ─► store ─► record ─► hold, delay ─► answer
//	             │                   │
//	             └─ refused ─────────┴─► record ─► answer
//
// Store hands the message to the phone and the store in front of it
// (device.AcceptFCM); the record is in the log before anything is answered, so
// whoever stops a sender between accept and answer sees both. A scripted
// UNAVAILABLE with Fault.Store is the trap of a message that was delivered and
// answered as failed (firebase/firebase-admin-node#1248).
//
// # Order of the checks
//
// Google documents the codes but not which of two faults is named first. The order
// is a choice; the second column says what supports each check: [D] documentation
// named below, [O] reports of senders, [E] this emulator's choice.
//
//	POST /token: Google, "Using OAuth 2.0 for Server to Server Applications"
//	 1  a form by POST                                  [D]  400 invalid_request
//	 2  grant_type jwt-bearer                           [D]  400 unsupported_grant_type
//	 3  iss is a service account                        [O]  400 invalid_grant
//	 4  RS256 by its key, kid if there is one           [D]  400 invalid_grant
//	 5  no sub but itself                               [D]  400 unauthorized_client
//	 6  aud is this endpoint, or Google's               [D]  400 invalid_grant
//	 7  iat not later than now, exp later, 1 h at most  [D]  400 invalid_grant
//	 8  a scope, of Google's                            [D]  400 invalid_scope
//
//	POST /v1/projects/{project}/messages:send: Firebase, "Method: projects.messages.send"
//	 1  method and path                                 [O]  404, no JSON
//	 2  a bearer token, known, not expired              [D]  401 without FcmError
//	 3  its scopes: firebase.messaging, cloud-platform  [D]  403 without FcmError
//	 4  the project exists                              [O]  404 without FcmError
//	 5  the account may send to it                      [O]  403 without FcmError
//	 6  JSON                                            [O]  400 without details
//	 7  fields and their types, one target              [D]  400 BadRequest, without FcmError
//	 8  a message with a target                         [D]  400 FcmError and BadRequest
//	 9  no reserved data key                            [D]  400 FcmError and BadRequest
//	10  TTL from 0 to 4 weeks                           [D]  400 FcmError and BadRequest
//	11  4096 bytes over data keys and values and the    [D]  400 FcmError and BadRequest
//	    notification's title and body
//	12  the address has the form of one                 [D]  400 FcmError alone
//	13  known, not rotated away, used in 270 days       [D]  404 UNREGISTERED
//	14  of this project                                 [D]  403 SENDER_ID_MISMATCH
//	    (known before of this project, as there is
//	    nothing to compare otherwise)
//	15  restricted_package_name                         [D]  400 FcmError and BadRequest
//	16  JSON content type, no name twice                [E]  400 EmulatorStrict
//	17  240 a minute, 5,000 an hour for one phone       [D]  429 QUOTA_EXCEEDED, QuotaFailure
//
// EmulatorStrict is not Google's: where Google would pass over a mistake in silence
// the emulator refuses and says why in the record; with Config.Lenient it only says
// why. A request with validate_only passes all checks but 17, is answered with the
// name fake_message_id and delivers nothing.
//
// # Where the rules are from
//
//	fields, types, reserved keys           Firebase: "REST Resource: projects.messages"
//	codes, QuotaFailure                    Firebase: "ErrorCode"
//	shape of errors                        Google: AIP-193; Firebase: "FcmError"
//	INVALID_ARGUMENT for a bad payload     eladnava/fcm-v1-http2#5
//	INVALID_ARGUMENT for a bad token       firebase/firebase-admin-java#1064
//	camel case beside snake case, null     Protocol Buffers: "ProtoJSON format"
//	payload size, collapsible messages     Firebase: "About FCM messages"
//	TTL                                    Firebase: "Set the lifespan of a message"
//	expiry after 270 days                  Firebase: "Best practices for FCM registration token management"
//	100 streams on a connection            firebase/firebase-admin-node#2943
//
// The form of tokens and installation IDs is as seen, not documented; so are the
// texts of errors, which senders compare although they should not.
//
// # Not here
//
// The quota of a project (a script can answer it), topics beyond plain delivery,
// conditions (accepted and delivered to nobody), messages for iOS and web clients.
package fcm
