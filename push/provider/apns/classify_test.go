package apns_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/provider/apns"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestClassify_EveryReason(t *testing.T) {
	t.Parallel()
	rows := []struct {
		status  int
		reasons string
		want    push.Class
	}{
		{400, "BadCollapseId BadExpirationDate BadMessageId BadPriority BadTopic MissingTopic MissingDeviceToken PayloadEmpty InvalidPushType DuplicateHeaders", push.Bug},
		{404, "BadPath", push.Bug},
		{405, "MethodNotAllowed", push.Bug},
		{413, "PayloadTooLarge", push.Bug},
		{400, "IdleTimeout", push.Backoff},
		{500, "InternalServerError", push.Backoff},
		{503, "ServiceUnavailable Shutdown", push.Backoff},
		{400, "BadDeviceToken DeviceTokenNotForTopic", push.Suspect},
		{400, "TopicDisallowed", push.Cred},
		{403, "InvalidProviderToken MissingProviderToken BadCertificate BadCertificateEnvironment Forbidden UnrelatedKeyIdInToken BadEnvironmentKeyInToken BadEnvironmentKeyIdInToken ExpiredProviderToken", push.Cred},
		{429, "TooManyProviderTokenUpdates", push.SlowAll},
		{429, "TooManyRequests", push.SlowDevice},
		// Reasons nobody knows yet are judged by their status.
		{400, "SomethingNew", push.Bug},
		{401, "SomethingNew", push.Cred},
		{403, "SomethingNew", push.Cred},
		{410, "SomethingNew", push.Suspect},
		{429, "SomethingNew", push.SlowDevice},
		{500, "SomethingNew", push.Backoff},
		{302, "SomethingNew", push.Backoff},
	}
	for _, row := range rows {
		for reason := range strings.FieldsSeq(row.reasons) {
			got := apns.Classify(apns.Answer{Status: row.status, Body: fmt.Appendf(nil, `{"reason":%q}`, reason), ID: "x"}, t0)
			want := push.Verdict{Class: row.want, Reason: reason, ProviderID: "x"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d %s (-want +got):\n%s", row.status, reason, diff)
			}
		}
	}
}

func TestClassify_GoneNeedsItsTime(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"Unregistered", "ExpiredToken"} {
		got := apns.Classify(apns.Answer{Status: 410, Body: fmt.Appendf(nil, `{"reason":%q,"timestamp":1700000000123}`, reason)}, t0)
		if got.Class != push.Dead || got.DeadAt.UnixMilli() != 1700000000123 {
			t.Errorf("%s: %+v", reason, got)
		}
		got = apns.Classify(apns.Answer{Status: 410, Body: fmt.Appendf(nil, `{"reason":%q}`, reason)}, t0)
		if got.Class != push.Suspect {
			t.Errorf("%s without a time condemned the address: %+v", reason, got)
		}
	}
}

func TestClassify_AnswersThatAreNotApples(t *testing.T) {
	t.Parallel()
	tests := []struct {
		answer apns.Answer
		want   push.Verdict
	}{
		{apns.Answer{Status: 200, ID: "x"}, push.Verdict{Class: push.OK, ProviderID: "x"}},
		{apns.Answer{Status: 200, Body: []byte("nonsense")}, push.Verdict{Class: push.OK}},
		{apns.Answer{Status: 503, Body: []byte("<html>busy</html>"), RetryAfter: "120"}, push.Verdict{Class: push.Backoff, Reason: "http_503", RetryAfter: 2 * time.Minute}},
		{apns.Answer{Status: 502}, push.Verdict{Class: push.Backoff, Reason: "http_502"}},
		{apns.Answer{Status: 410, Body: []byte("gone")}, push.Verdict{Class: push.Suspect, Reason: "http_410"}},
		{apns.Answer{Status: 400, Body: []byte(`{"reason":"` + strings.Repeat("x", 65) + `"}`)}, push.Verdict{Class: push.Bug, Reason: "http_400"}},
		{apns.Answer{Status: 503, Body: []byte(`{"reason":"Shutdown"}`), RetryAfter: "Fri, 02 Jan 2026 03:05:05 GMT"}, push.Verdict{Class: push.Backoff, Reason: "Shutdown", RetryAfter: time.Minute}},
		{apns.Answer{Status: 503, RetryAfter: "Fri, 02 Jan 2026 03:03:05 GMT"}, push.Verdict{Class: push.Backoff, Reason: "http_503"}},
		{apns.Answer{Status: 503, RetryAfter: "-5"}, push.Verdict{Class: push.Backoff, Reason: "http_503"}},
		{apns.Answer{Status: 503, RetryAfter: "soon"}, push.Verdict{Class: push.Backoff, Reason: "http_503"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, apns.Classify(tt.answer, t0)); diff != "" {
			t.Errorf("%d %q (-want +got):\n%s", tt.answer.Status, tt.answer.Body, diff)
		}
	}
}

func FuzzClassify_NeverCondemnsWithoutATime(f *testing.F) {
	f.Add(410, []byte(`{"reason":"Unregistered","timestamp":1}`), "5")
	f.Add(503, []byte("<html>"), "Fri, 02 Jan 2026 03:05:05 GMT")
	f.Add(400, []byte(`{"reason":1}`), "99999999999999999999")
	f.Add(0, []byte(nil), "9223372036854775807")
	f.Fuzz(func(t *testing.T, status int, body []byte, retry string) {
		v := apns.Classify(apns.Answer{Status: status, Body: body, RetryAfter: retry}, t0)
		switch {
		case v.Class == "":
			t.Error("no class")
		case v.RetryAfter < 0:
			t.Errorf("retry after %v", v.RetryAfter)
		case v.Class == push.Dead && v.DeadAt.IsZero():
			t.Error("dead without a time")
		case len(v.Reason) > 64:
			t.Errorf("reason of %d bytes", len(v.Reason))
		case (v.Class == push.OK) != (status == 200):
			t.Errorf("status %d is %s", status, v.Class)
		}
	})
}
