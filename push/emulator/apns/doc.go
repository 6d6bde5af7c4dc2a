// Package apns is a strict stand-in for Apple's push service: a provider that
// passes here has been held to Apple's rules over real TLS and HTTP/2, and what it
// was told is on record. Strict means that anything the rules do not name fails;
// an emulator that lets a mistake pass hides it until production.
//
//	s, err := apns.Start(ctx, apns.Config{})
//	key, p8, err := apns.NewProviderKey("KEY1234567", "TEAM123456")
//	err = s.RegisterKey(key)
//	err = s.AddDevice(apns.Registration{Token: token, Topic: "com.example.app", Env: apns.Sandbox, Phone: phone})
//	… point the provider at s.URL(apns.Sandbox) with s.CAPEM() as its only root …
//	requests, err := s.Wait(ctx, 1)
//
// # A request
//
//	HEADERS, DATA ─► checks ─► script ─► store ─► record ─► hold, delay ─► answer
//	                   │                  │
//	                   └─ refused ────────┴─► record ─► answer
//
// Store hands the push to the phone or, while that has no network, keeps the newest
// one for it (device.AcceptAPNs); the record is in the log before anything is
// answered, so whoever stops a sender between accept and answer sees both.
//
// # Order of the checks
//
// Apple documents the reasons ("Handling notification responses from APNs") but
// not which of two faults is named first. The order here is a choice; the second
// column says what supports it: [D] Apple's documentation, [P] the order in
// pushy's mock server, [O] reports of senders, [E] this emulator's choice.
//
//	 #  check                                           from  answer
//	 1  method is POST                                  [P]   405 MethodNotAllowed
//	 2  path is /3/device/…                             [E]   404 BadPath
//	 3  no header twice                                 [E]   400 DuplicateHeaders
//	 4  the connection never saw an expired token       [O]   403 ExpiredProviderToken
//	 5  a bearer token is there                         [D]   403 MissingProviderToken
//	 6  ES256 by a registered key, kid, iss, number iat [D]   403 InvalidProviderToken
//	 7  the key is of this environment                  [D]   403 BadEnvironmentKeyIdInToken
//	 8  same team as the connection's first token       [P]   403 InvalidProviderToken
//	    and, within it, a key of the same scope         [D]   403 UnrelatedKeyIdInToken
//	 9  iat not in the future                           [E]   403 InvalidProviderToken
//	    iat at most an hour ago                         [D]   403 ExpiredProviderToken
//	10  no second token within 20 minutes               [D]   429 TooManyProviderTokenUpdates
//	11  apns-id is a UUID                               [D]   400 BadMessageId
//	12  apns-expiration is a number of seconds          [D]   400 BadExpirationDate
//	13  apns-priority is 10, 5 or 1                     [D]   400 BadPriority
//	14  apns-collapse-id has at most 64 bytes           [D]   400 BadCollapseId
//	15  apns-topic is there, and well formed            [D]   400 MissingTopic, BadTopic
//	16  apns-push-type is there and known               [D]   400 InvalidPushType
//	    a topic with a suffix has the suffix's type     [O]   400 InvalidPushType
//	    a type that needs a suffix has it               [O]   400 DeviceTokenNotForTopic
//	    background has priority 5 (the default is 10)   [D]   400 BadPriority
//	17  the key may push to the topic                   [D]   400 TopicDisallowed
//	18  the path ends in a device token                 [D]   400 MissingDeviceToken
//	    hex, known, and of this environment             [D]   400 BadDeviceToken
//	    not given up                                    [P]   410 Unregistered, ExpiredToken
//	    of this topic                                   [P]   400 DeviceTokenNotForTopic
//	19  a body, of at most 4096 bytes (voip 5120)       [P]   400 PayloadEmpty, 413 PayloadTooLarge
//	20  no unknown apns- header, no empty one; a body   [E]   400 EmulatorStrict
//	    in the shape of "Generating a remote
//	    notification"
//
// EmulatorStrict is the one reason Apple does not have. Where Apple would drop or
// misread a push in silence, the emulator refuses and says why in the record; with
// Config.Lenient it only says why.
//
// # A connection
//
// It is told it may open one stream, and 1,000 (Config.Streams) once a request on
// it passed checks 4 to 10. A script may change the number in mid-life. More streams
// than that are refused with REFUSED_STREAM as soon as the limit was acknowledged.
//
//	turned away   closed before TLS: too many came within a minute (Config.Connects)
//	open          ─ Fault.GoAway ─► leaving: answers what it looked at, ignores streams
//	              above the last one it named, and ends behind the last answer
//	              ─ Closed, ThenCloses ─► ended, without or with its answer
//	              ─ BlackHoled, ThenSilence ─► reads on and never writes again
//
// # Not here yet
//
// TooManyRequests by load (a script can answer it), broadcast channels.
package apns
