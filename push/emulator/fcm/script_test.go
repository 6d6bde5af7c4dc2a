package fcm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
)

func (b *bench) script(m fcm.Match, f fcm.Fault) {
	b.t.Helper()
	if err := b.Script(m, f); err != nil {
		b.t.Fatal(err)
	}
}

// TestServer_ScriptedAnswers has each answer of FCM that a provider has to tell
// apart, in the shape that senders see.
func TestServer_ScriptedAnswers(t *testing.T) {
	t.Parallel()
	date := time.Unix(startUnix+600, 0).UTC().Format(http.TimeFormat)
	for _, tc := range []struct {
		name    string
		fault   fcm.Fault
		status  int
		word    string
		code    fcm.ErrorCode
		fields  []string
		retry   string
		arrives bool
	}{
		{"unregistered", fcm.Fault{Code: fcm.Unregistered}, 404, "NOT_FOUND", fcm.Unregistered, nil, "", false},
		{"wrong project or API off", fcm.Fault{Status: 404}, 404, "NOT_FOUND", "", nil, "", false},
		{"argument: the token", fcm.Fault{Code: fcm.InvalidArgument}, 400, "INVALID_ARGUMENT", fcm.InvalidArgument, nil, "", false},
		{
			"argument: a field", fcm.Fault{Status: 400, Field: "message.data[0].value", Message: "Invalid value"},
			400, "INVALID_ARGUMENT", "", []string{"message.data[0].value"}, "", false,
		},
		{
			"argument: the token, as both", fcm.Fault{Code: fcm.InvalidArgument, Field: "message.token"},
			400, "INVALID_ARGUMENT", fcm.InvalidArgument, []string{"message.token"}, "", false,
		},
		{"sender", fcm.Fault{Code: fcm.SenderIDMismatch}, 403, "PERMISSION_DENIED", fcm.SenderIDMismatch, nil, "", false},
		{"permission", fcm.Fault{Status: 403}, 403, "PERMISSION_DENIED", "", nil, "", false},
		{"credentials of APNs", fcm.Fault{Code: fcm.ThirdPartyAuthError}, 401, "UNAUTHENTICATED", fcm.ThirdPartyAuthError, nil, "", false},
		{"quota", fcm.Fault{Code: fcm.QuotaExceeded, Quota: fcm.ProjectQuota}, 429, "RESOURCE_EXHAUSTED", fcm.QuotaExceeded, nil, "", false},
		{"quota without FcmError", fcm.Fault{Status: 429}, 429, "RESOURCE_EXHAUSTED", "", nil, "", false},
		{"quota, seconds", fcm.Fault{Code: fcm.QuotaExceeded, RetryAfter: "90"}, 429, "RESOURCE_EXHAUSTED", fcm.QuotaExceeded, nil, "90", false},
		{"quota, date", fcm.Fault{Code: fcm.QuotaExceeded, RetryAfter: date}, 429, "RESOURCE_EXHAUSTED", fcm.QuotaExceeded, nil, date, false},
		{"quota, long", fcm.Fault{Code: fcm.QuotaExceeded, RetryAfter: "600"}, 429, "RESOURCE_EXHAUSTED", fcm.QuotaExceeded, nil, "600", false},
		{"unavailable", fcm.Fault{Code: fcm.Unavailable, RetryAfter: "10"}, 503, "UNAVAILABLE", fcm.Unavailable, nil, "10", false},
		{"unavailable after storing", fcm.Fault{Code: fcm.Unavailable, Store: true}, 503, "UNAVAILABLE", fcm.Unavailable, nil, "", true},
		{"internal", fcm.Fault{Code: fcm.Internal}, 500, "INTERNAL", fcm.Internal, nil, "", false},
		{"a proxy", fcm.Fault{Status: 502, Body: []byte("<html>")}, 502, "", "", nil, "", false},
		{"accepted with a broken body", fcm.Fault{Body: []byte(`{"name":`)}, 200, "", "", nil, "", true},
		{"accepted", fcm.Fault{}, 200, "", "", nil, "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, fcm.Config{})
			b.script(fcm.Match{}, tc.fault)
			got := b.want(b.good(), tc.status, tc.code, tc.fields...)
			if got.Error.Status != tc.word || got.Header.Get("Retry-After") != tc.retry {
				t.Errorf("status = %q, retry after = %q, want %q and %q", got.Error.Status, got.Header.Get("Retry-After"), tc.word, tc.retry)
			}
			if tc.fault.Body != nil && got.Body != string(tc.fault.Body) {
				t.Errorf("body = %q", got.Body)
			}
			rec := b.Requests()[0]
			if n := len(b.arrived()); (n == 1) != tc.arrives || rec.Stored != tc.arrives || !rec.Scripted || rec.Status != tc.status {
				t.Errorf("arrived %d, record %+v", n, rec)
			}
			b.want(b.good(), 200, "") // one fault, one request
		})
	}
}

func TestServer_ScriptedEndsOfTheWire(t *testing.T) {
	t.Parallel()
	for _, answer := range []fcm.Answer{fcm.Reset, fcm.Closed} {
		for _, h2 := range []bool{true, false} {
			for _, store := range []bool{true, false} {
				t.Run(fmt.Sprint(answer, h2, store), func(t *testing.T) {
					t.Parallel()
					b := start(t, fcm.Config{})
					b.http = b.client(h2)
					b.script(fcm.Match{}, fcm.Fault{Answer: answer, Store: store})
					if got, err := b.try(t.Context(), b.good()); err == nil {
						t.Errorf("answer = %d, want none", got.Status)
					}
					if rec := b.Requests()[0]; rec.Answer != answer || rec.Stored != store {
						t.Errorf("record = %+v", rec)
					}
					if n := len(b.arrived()); (n == 1) != store {
						t.Errorf("arrived = %d", n)
					}
					b.want(b.good(), 200, "")
				})
			}
		}
	}
}

// TestServer_NoReply is firebase/firebase-admin-go#442: the sender waits for as
// long as it lets itself.
func TestServer_NoReply(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	b.script(fcm.Match{}, fcm.Fault{Answer: fcm.NoReply})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.try(ctx, b.good())
		done <- err
	}()
	if _, err := b.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("answered: %v", err)
	default:
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestServer_ScriptsByTokenAndNumber(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	other := fcm.NewToken()
	b.add(fcm.Registration{Token: other, App: app})
	b.script(fcm.Match{Token: b.token, Nth: 2, Times: 2}, fcm.Fault{Code: fcm.Internal})
	b.script(fcm.Match{Token: other, Times: -1}, fcm.Fault{Code: fcm.Unregistered})
	var got []int
	for range 4 {
		got = append(got, b.send(b.good()).Status)
		p := b.good()
		p.msg["token"] = other
		got = append(got, b.send(p).Status)
		p.msg["token"] = "bad" // not counted
		b.want(p, 400, fcm.InvalidArgument)
	}
	b.ClearScript()
	p := b.good()
	p.msg["token"] = other
	got = append(got, b.send(p).Status)
	if diff := cmp.Diff([]int{200, 404, 500, 404, 500, 404, 200, 404, 200}, got); diff != "" {
		t.Error(diff)
	}
}

func TestServer_ScriptsTheTokenEndpoint(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	b.script(fcm.Match{Endpoint: fcm.TokenEndpoint}, fcm.Fault{Status: 503, Body: []byte("busy")})
	b.want(b.good(), 200, "")
	if got := b.exchange(b.assertion(b.claims())); got.Status != 503 || got.Body != "busy" {
		t.Errorf("answer = %d %s", got.Status, got.Body)
	}
	b.renew()
}

func TestServer_HoldStopsBetweenAcceptAndAnswer(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	h := b.Hold(fcm.Match{})
	done := make(chan reply, 1)
	go func() {
		got, err := b.try(t.Context(), b.good())
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	rec, err := h.Reached(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{rec.Name}, b.arrived()); diff != "" {
		t.Error(diff)
	}
	h.Release()
	if got := <-done; got.Name != rec.Name {
		t.Errorf("name = %q, want %q", got.Name, rec.Name)
	}
}

func TestServer_DelayGoesByTheGivenSleep(t *testing.T) {
	t.Parallel()
	slept := make(chan time.Duration, 1)
	b := start(t, fcm.Config{Sleep: func(_ context.Context, d time.Duration) { slept <- d }})
	b.script(fcm.Match{}, fcm.Fault{Delay: 50 * time.Millisecond})
	b.want(b.good(), 200, "")
	if d := <-slept; d != 50*time.Millisecond {
		t.Errorf("slept %v", d)
	}
}

func TestServer_CloseEndsHeldAndUnansweredRequests(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	b.script(fcm.Match{}, fcm.Fault{Answer: fcm.NoReply})
	h := b.Hold(fcm.Match{Nth: 2})
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := b.try(t.Context(), b.good())
			done <- err
		}()
	}
	if _, err := h.Reached(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	b.Close()
	for range 2 {
		if <-done == nil {
			t.Error("a request was answered by a closed emulator")
		}
	}
	if _, err := b.try(t.Context(), b.good()); err == nil {
		t.Error("a closed emulator answered")
	}
}

func TestServer_RefusesBadFaults(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	for _, f := range []fcm.Fault{{Status: 99}, {Status: 600}, {Status: 200, Code: fcm.Internal}, {Answer: "shout"}} {
		if err := b.Script(fcm.Match{}, f); !errors.Is(err, fcm.ErrBadFault) {
			t.Errorf("Script(%+v) = %v", f, err)
		}
	}
}

func TestServer_LogIsMachineReadable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := start(t, fcm.Config{Log: &out})
	b.want(b.good(), 200, "")
	p := b.good()
	p.raw = "{"
	b.want(p, 400, "")
	b.Close()
	var got []fcm.Record
	for dec := json.NewDecoder(&out); dec.More(); {
		var rec fcm.Record
		if err := dec.Decode(&rec); err != nil {
			t.Fatal(err)
		}
		got = append(got, rec)
	}
	if diff := cmp.Diff(b.Log().All(), got); diff != "" || len(got) != 3 {
		t.Errorf("%d records: %s", len(got), diff)
	}
	if got[0].Endpoint != fcm.TokenEndpoint || string(got[2].Raw) != "{" || strings.Contains(out.String(), b.access) {
		t.Errorf("records = %+v", got)
	}
}

// TestServer_DuplicateTrap is firebase/firebase-admin-node#1248: a sender that
// sends again what was stored makes the app get it twice; the app's tag shows it
// once.
func TestServer_DuplicateTrap(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	shown := make(chan bool, 2)
	if err := b.phone.Install(app, appFunc(func(n device.Notification) {
		shown <- b.phone.Notify(device.Notification{App: app, ID: n.ID, Tag: n.Data["decision"]})
	})); err != nil {
		t.Fatal(err)
	}
	b.script(fcm.Match{}, fcm.Fault{Code: fcm.Unavailable, Store: true})
	b.want(b.good(), 503, fcm.Unavailable)
	b.want(b.good(), 200, "")
	for range 2 {
		<-shown
	}
	if len(b.phone.Shown(app)) != 1 || b.phone.Rings(app) != 1 {
		t.Errorf("shown %d, rings %d, want one each", len(b.phone.Shown(app)), b.phone.Rings(app))
	}
}
