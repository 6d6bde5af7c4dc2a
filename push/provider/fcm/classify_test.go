package fcm_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/provider/fcm"
)

type object = map[string]any

// body is an error as Google's services write them.
func body(status, message string, details ...object) []byte {
	b, err := json.Marshal(object{"error": object{"code": 1, "status": status, "message": message, "details": details}})
	if err != nil {
		panic(err)
	}
	return b
}

func fcmError(code string) object {
	return object{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}
}

func badField(fields ...string) object {
	var list []object
	for _, f := range fields {
		list = append(list, object{"field": f, "description": "Invalid value"})
	}
	return object{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": list}
}

func quota(subjects ...string) object {
	var list []object
	for _, s := range subjects {
		list = append(list, object{"subject": s, "description": "exceeded"})
	}
	return object{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": list}
}

func TestClassify_EveryRow(t *testing.T) {
	t.Parallel()
	const badToken = "The registration token is not a valid FCM registration token"
	for name, tt := range map[string]struct {
		status int
		body   []byte
		class  push.Class
		reason string
		least  time.Duration
	}{
		"unregistered":                    {404, body("NOT_FOUND", "Requested entity was not found.", fcmError("UNREGISTERED")), push.Dead, "UNREGISTERED", 0},
		"404 without FcmError":            {404, body("NOT_FOUND", "Requested entity was not found."), push.Cred, "NOT_FOUND", 0},
		"404 of somebody else":            {404, []byte("<html>"), push.Cred, "http_404", 0},
		"unregistered as 400":             {400, body("INVALID_ARGUMENT", "x", fcmError("UNREGISTERED")), push.Suspect, "UNREGISTERED", 0},
		"field violation":                 {400, body("INVALID_ARGUMENT", "Invalid JSON payload", badField("message.data[0].value")), push.Bug, "INVALID_ARGUMENT", 0},
		"field violation with FcmError":   {400, body("INVALID_ARGUMENT", badToken, fcmError("INVALID_ARGUMENT"), badField("message.token", "message.android.ttl")), push.Bug, "INVALID_ARGUMENT", 0},
		"token named":                     {400, body("INVALID_ARGUMENT", badToken, fcmError("INVALID_ARGUMENT")), push.Suspect, "INVALID_ARGUMENT", 0},
		"token named and its field":       {400, body("INVALID_ARGUMENT", badToken, fcmError("INVALID_ARGUMENT"), badField("message.token")), push.Suspect, "INVALID_ARGUMENT", 0},
		"fid named":                       {400, body("INVALID_ARGUMENT", "The Firebase Installation ID is not valid", fcmError("INVALID_ARGUMENT"), badField("message.fid")), push.Suspect, "INVALID_ARGUMENT", 0},
		"token named without FcmError":    {400, body("INVALID_ARGUMENT", badToken, badField("message.token")), push.Bug, "INVALID_ARGUMENT", 0},
		"FcmError that names no token":    {400, body("INVALID_ARGUMENT", "Message too big", fcmError("INVALID_ARGUMENT")), push.Bug, "INVALID_ARGUMENT", 0},
		"other 400":                       {400, body("FAILED_PRECONDITION", "x"), push.Bug, "FAILED_PRECONDITION", 0},
		"400 of somebody else":            {400, []byte("bad"), push.Bug, "http_400", 0},
		"401":                             {401, body("UNAUTHENTICATED", "Request had invalid authentication credentials."), push.Cred, "UNAUTHENTICATED", 0},
		"Apple's key inside Firebase":     {401, body("UNAUTHENTICATED", "Auth error from APNS", fcmError("THIRD_PARTY_AUTH_ERROR")), push.Cred, "THIRD_PARTY_AUTH_ERROR", 0},
		"sender mismatch":                 {403, body("PERMISSION_DENIED", "SenderId mismatch", fcmError("SENDER_ID_MISMATCH")), push.Suspect, "SENDER_ID_MISMATCH", 0},
		"403":                             {403, body("PERMISSION_DENIED", "API not enabled"), push.Cred, "PERMISSION_DENIED", 0},
		"quota":                           {429, body("RESOURCE_EXHAUSTED", "Quota exceeded", fcmError("QUOTA_EXCEEDED"), quota("project:demo")), push.SlowAll, "QUOTA_EXCEEDED", time.Minute},
		"quota without details":           {429, body("RESOURCE_EXHAUSTED", "x"), push.SlowAll, "RESOURCE_EXHAUSTED", time.Minute},
		"device quota":                    {429, body("RESOURCE_EXHAUSTED", "x", fcmError("QUOTA_EXCEEDED"), quota("Device message rate")), push.SlowDevice, "QUOTA_EXCEEDED", 0},
		"device and project quota":        {429, body("RESOURCE_EXHAUSTED", "x", fcmError("QUOTA_EXCEEDED"), quota("Device message rate", "project:demo")), push.SlowAll, "QUOTA_EXCEEDED", time.Minute},
		"internal":                        {500, body("INTERNAL", "x", fcmError("INTERNAL")), push.Backoff, "INTERNAL", 10 * time.Second},
		"unavailable":                     {503, body("UNAVAILABLE", "x", fcmError("UNAVAILABLE")), push.Backoff, "UNAVAILABLE", 10 * time.Second},
		"gateway":                         {502, []byte("<html>"), push.Backoff, "http_502", 10 * time.Second},
		"timeout":                         {408, nil, push.Backoff, "http_408", 10 * time.Second},
		"redirect":                        {302, nil, push.Backoff, "http_302", 10 * time.Second},
		"too large":                       {413, nil, push.Bug, "http_413", 0},
		"server error never kills":        {503, body("UNAVAILABLE", "x", fcmError("UNREGISTERED")), push.Backoff, "UNREGISTERED", 10 * time.Second},
		"a code that is no word":          {404, body("not a word", "x", fcmError("UNREGISTERED of token abc")), push.Cred, "http_404", 0},
		"retry info":                      {503, body("UNAVAILABLE", "x", object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "33.5s"}), push.Backoff, "UNAVAILABLE", 33500 * time.Millisecond},
		"details of types nobody expects": {500, []byte(`{"error":{"status":"INTERNAL","details":[{"@type":7}]}}`), push.Backoff, "http_500", 10 * time.Second},
	} {
		got := fcm.Classify(fcm.Answer{Status: tt.status, Body: tt.body}, t0)
		if diff := cmp.Diff(push.Verdict{Class: tt.class, Reason: tt.reason, RetryAfter: tt.least}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestClassify_RetryAfterIsALeastWait(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"120": 2 * time.Minute, "600": 10 * time.Minute, "3": 10 * time.Second, "-5": 10 * time.Second, "soon": 10 * time.Second,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute,
		"Fri, 02 Jan 2026 03:03:05 GMT": 10 * time.Second,
	} {
		if got := fcm.Classify(fcm.Answer{Status: 503, RetryAfter: header}, t0).RetryAfter; got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
	if got := fcm.Classify(fcm.Answer{Status: 429, RetryAfter: "5"}, t0).RetryAfter; got != time.Minute {
		t.Errorf("quota: %v", got)
	}
}

func TestClassify_ASuccessNeedsNoBody(t *testing.T) {
	t.Parallel()
	for text, id := range map[string]string{
		`{"name":"projects/p/messages/0:1"}`: "projects/p/messages/0:1",
		"":                                   "", "{": "", `{"name":7}`: "", `{"name":"elsewhere"}`: "", "<html>": "",
	} {
		got := fcm.Classify(fcm.Answer{Status: 200, Body: []byte(text)}, t0)
		if diff := cmp.Diff(push.Verdict{Class: push.OK, ProviderID: id}, got); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
}

func FuzzClassify_CondemnsOnlyOnFCMsOwnWord(f *testing.F) {
	f.Add(404, body("NOT_FOUND", "x", fcmError("UNREGISTERED")), "5")
	f.Add(404, []byte(`{"error":{"details":[{"errorCode":"UNREGISTERED"}]}}`), "")
	f.Add(503, []byte("<html>"), "Fri, 02 Jan 2026 03:05:05 GMT")
	f.Add(429, body("x", "x", quota("device")), "99999999999999999999")
	f.Add(200, []byte(`{"name":"projects/p/messages/1"}`), "")
	f.Fuzz(func(t *testing.T, status int, raw []byte, retry string) {
		v := fcm.Classify(fcm.Answer{Status: status, Body: raw, RetryAfter: retry}, t0)
		switch {
		case v.Class == "":
			t.Error("no class")
		case v.RetryAfter < 0:
			t.Errorf("retry after %v", v.RetryAfter)
		case v.Class == push.Dead && (status != 404 || v.Reason != "UNREGISTERED"):
			t.Errorf("dead by %d %s", status, v.Reason)
		case len(v.Reason) > 64 || len(v.ProviderID) > 220:
			t.Error("a stranger's text in the row")
		case (v.Class == push.OK) != (status >= 200 && status < 300):
			t.Errorf("status %d is %s", status, v.Class)
		}
	})
}
