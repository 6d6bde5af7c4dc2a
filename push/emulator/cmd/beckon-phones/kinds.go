package main

import (
	"slices"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
)

// kind is a vendor's fault under a name, so that the usual ones need no more than
// that. What a call says beside the name stands in the place of what the name
// says.
type kind struct {
	name, help string
	// apns and fcm are the fault at each vendor; nil where a vendor has none.
	apns, fcm *order
}

func both(name, help string, o order) kind { return kind{name, help, &o, &o} }

func reasons(name, help string, apple apns.Reason, google fcm.ErrorCode) kind {
	return kind{name, help, &order{Reason: string(apple)}, &order{Reason: string(google)}}
}

// kinds are the faults with names. A "-stored" one hands the push to the phone
// all the same: the sender cannot know, and must not ring twice.
func kinds() []kind {
	return slices.Concat([]kind{
		reasons("unregistered", "the app was deleted: 410 with a timestamp, or UNREGISTERED", apns.Unregistered, fcm.Unregistered),
		reasons("bad-token", "not an address of this vendor", apns.BadDeviceToken, fcm.InvalidArgument),
		reasons("wrong-app", "the address is of another app or sender", apns.DeviceTokenNotForTopic, fcm.SenderIDMismatch),
		{
			"credentials", "the server's own credentials are refused",
			&order{Reason: string(apns.ExpiredProviderToken)}, &order{Status: 401},
		},
		{
			"too-many", "429 with Retry-After",
			&order{Reason: string(apns.TooManyRequests), RetryAfter: "10"},
			&order{Reason: string(fcm.QuotaExceeded), Quota: string(fcm.DeviceQuota), RetryAfter: "10"},
		},
		reasons("unavailable", "503", apns.ServiceUnavailable, fcm.Unavailable),
		{
			"unavailable-stored", "503, but the phone gets it",
			&order{Reason: string(apns.ServiceUnavailable), Store: true}, &order{Reason: string(fcm.Unavailable), Store: true},
		},
		reasons("internal", "500", apns.InternalServerError, fcm.Internal),
		both("proxy", "502 with the page of a proxy instead of JSON", order{Status: 502, Body: "<html><body>Bad gateway</body></html>"}),
	}, wires(), ofApple(), ofGoogle())
}

// wires are the faults of the connection.
func wires() []kind {
	return []kind{
		both("slow", "the answer takes 5 s", order{Delay: "5s"}),
		both("silent", "no answer, the request stays open", order{Answer: string(apns.NoReply)}),
		both("silent-stored", "no answer, but the phone gets it", order{Answer: string(apns.NoReply), Store: true}),
		both("reset", "the stream is reset", order{Answer: string(apns.Reset)}),
		both("reset-stored", "the stream is reset, but the phone gets it", order{Answer: string(apns.Reset), Store: true}),
		both("closed", "the connection is closed", order{Answer: string(apns.Closed)}),
		both("closed-stored", "the connection is closed, but the phone gets it", order{Answer: string(apns.Closed), Store: true}),
	}
}

func ofApple() []kind {
	of := func(name, help string, o order) kind { return kind{name, help, &o, nil} }
	return []kind{
		of("black-hole", "the connection answers nothing any more, pings neither", order{Answer: string(apns.BlackHoled)}),
		of("expired-token", "410 ExpiredToken with a timestamp", order{Reason: string(apns.ExpiredToken)}),
		of("too-large", "413", order{Reason: string(apns.PayloadTooLarge)}),
		of("shutdown", "503 Shutdown", order{Reason: string(apns.Shutdown)}),
		of("goaway", "GOAWAY, then the answer, then the connection ends", order{GoAway: string(apns.Shutdown)}),
		of("goaway-unseen", "GOAWAY below the request: it was not looked at", order{GoAway: string(apns.Shutdown), Answer: string(apns.Unseen)}),
		of("refused-stream", "REFUSED_STREAM: it was not looked at", order{Answer: string(apns.Refused)}),
		of("one-stream", "the connection admits one stream at a time from then on", order{Streams: 1}),
		of("answer-and-close", "the answer, and the connection is closed behind it", order{Then: string(apns.ThenCloses)}),
		of("answer-and-silence", "the answer, and nothing after it, to pings neither", order{Then: string(apns.ThenSilence)}),
	}
}

func ofGoogle() []kind {
	of := func(name, help string, o order) kind { return kind{name, help, nil, &o} }
	return []kind{
		of("bad-field", "INVALID_ARGUMENT about a field, not the token", order{Reason: string(fcm.InvalidArgument), Field: "message.android.ttl"}),
		of("quota", "429 for the whole project, Retry-After a minute", order{Reason: string(fcm.QuotaExceeded), Quota: string(fcm.ProjectQuota), RetryAfter: "60"}),
		of("third-party-auth", "THIRD_PARTY_AUTH_ERROR", order{Reason: string(fcm.ThirdPartyAuthError)}),
		of("no-project", "404 that is not about the token", order{Status: 404}),
		of("broken-body", "200 with a body that is no JSON", order{Status: 200, Body: `{"name":`}),
		of("no-access", "no access token is given out: 503 at the token endpoint", order{Endpoint: string(fcm.TokenEndpoint), Status: 503}),
	}
}

// of gives the fault of a kind at a vendor; false where it has none.
func (k kind) of(v phone.Vendor) (order, bool) {
	o := k.apns
	if v == phone.FCM {
		o = k.fcm
	}
	if o == nil {
		return order{}, false
	}
	return *o, true
}
