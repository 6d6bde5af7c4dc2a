package fcm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
)

func TestServer_AcceptsAGoodRequest(t *testing.T) {
	t.Parallel()
	for _, h2 := range []bool{true, false} {
		t.Run(fmt.Sprint("http2 ", h2), func(t *testing.T) {
			t.Parallel()
			b := start(t, fcm.Config{})
			b.http = b.client(h2)
			p := b.good()
			got := b.want(p, 200, "")
			if !strings.HasPrefix(got.Name, "projects/demo-project/messages/0:") {
				t.Errorf("name = %q", got.Name)
			}
			if want := map[bool]string{true: "HTTP/2.0", false: "HTTP/1.1"}[h2]; got.Proto != want {
				t.Errorf("protocol = %s, want %s", got.Proto, want)
			}
			if diff := cmp.Diff([]string{got.Name}, b.arrived()); diff != "" {
				t.Error(diff)
			}
			recs, err := b.Wait(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			rec := recs[0]
			if rec.Proto != got.Proto || rec.Account != identity().Email || rec.Priority != "high" || rec.TTL != "3600s" ||
				rec.Target != "token" || rec.Token != b.token || !rec.Stored || rec.Data["text"] != "To <Ann> & Bob" || len(rec.Payload) != rec.Bytes {
				t.Errorf("record = %+v", rec)
			}
		})
	}
}

// receiver keeps what the app got.
type receiver struct{ got chan device.Notification }

func TestServer_HandsTheWholeMessageToTheApp(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	r := receiver{make(chan device.Notification, 1)}
	if err := b.phone.Install(app, appFunc(func(n device.Notification) { r.got <- n })); err != nil {
		t.Fatal(err)
	}
	p := b.good()
	name := b.want(p, 200, "").Name
	payload, err := json.Marshal(p.msg)
	if err != nil {
		t.Fatal(err)
	}
	want := device.Notification{
		ID: name, App: app, Wake: true, Data: map[string]string{"decision": "dec_1", "text": "To <Ann> & Bob"},
		Expires: time.Unix(startUnix+3600, 0).UTC(), Payload: payload,
	}
	if diff := cmp.Diff(want, <-r.got); diff != "" {
		t.Error(diff)
	}
}

func TestServer_ShowsANotificationMessage(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	p := b.good()
	p.msg["notification"] = map[string]any{"title": "Send it?", "body": "general"}
	p.android()["notification"] = map[string]any{
		"body": "To Ann", "tag": "dec_1", "notification_count": 2, "clickAction": "OPEN",
		"event_time": "2026-01-02T03:04:05Z", "vibrate_timings": []any{"0.5s"}, "notification_priority": "PRIORITY_LOW",
	}
	p.android()["data"] = map[string]any{"own": "1"}
	b.want(p, 200, "")
	shown := b.phone.Shown(app)
	if len(shown) != 1 {
		t.Fatalf("shown = %v, want one", shown)
	}
	got := shown[0].Notification
	if got.Title != "Send it?" || got.Body != "To Ann" || got.Tag != "dec_1" || got.Level != device.Passive ||
		got.Category != "OPEN" || b.phone.Badge(app) != 2 || got.Wake {
		t.Errorf("shown = %+v", got)
	}
	if diff := cmp.Diff(map[string]string{"own": "1"}, got.Data); diff != "" {
		t.Errorf("android.data does not override data: %s", diff)
	}
}

// TestServer_B35_EveryMutationIsRefused changes one thing of a request that passes and expects the
// documented answer. A check that is taken out of the server fails its row.
func TestServer_B35_EveryMutationIsRefused(t *testing.T) {
	t.Parallel()
	type change func(*bench, *push)
	header := func(name, value string) change { return func(_ *bench, p *push) { p.header.Set(name, value) } }
	path := func(s string) change { return func(_ *bench, p *push) { p.path = s } }
	raw := func(s string) change { return func(_ *bench, p *push) { p.raw = s } }
	top := func(name string, v any) change { return func(_ *bench, p *push) { p.top[name] = v } }
	msg := func(name string, v any) change { return func(_ *bench, p *push) { p.msg[name] = v } }
	android := func(name string, v any) change { return func(_ *bench, p *push) { p.android()[name] = v } }
	note := func(name string, v any) change { return android("notification", map[string]any{name: v}) }
	data := func(key string, v any) change { return msg("data", map[string]any{key: v}) }
	only := func(name string, v any) change {
		return func(_ *bench, p *push) { delete(p.msg, "token"); p.msg[name] = v }
	}
	stranger := fcm.NewToken()
	foreign := fcm.NewToken()
	const bad = fcm.InvalidArgument

	for _, tc := range []struct {
		name   string
		mutate change
		status int
		code   fcm.ErrorCode
		fields []string
	}{
		{"method GET", func(_ *bench, p *push) { p.method = "GET" }, 404, "", nil},
		{"path of another verb", path("/v1/projects/demo-project/messages:sendAll"), 404, "", nil},
		{"path without project", path("/v1/projects//messages:send"), 404, "", nil},
		{"legacy path", path("/fcm/send"), 404, "", nil},

		{"no access token", func(_ *bench, p *push) { p.header.Del("Authorization") }, 401, "", nil},
		{"another kind of it", func(b *bench, p *push) { p.header.Set("Authorization", "key="+b.access) }, 401, "", nil},
		{"empty bearer", header("Authorization", "Bearer "), 401, "", nil},
		{"unknown access token", header("Authorization", "Bearer ya29.other"), 401, "", nil},
		{"expired access token", func(b *bench, _ *push) { b.clock.advance(time.Hour) }, 401, "", nil},
		{"taken-back access token", func(b *bench, _ *push) { b.ExpireAccessTokens() }, 401, "", nil},
		{"account deleted", func(b *bench, _ *push) { b.RevokeAccount(identity().Email) }, 401, "", nil},
		{"scope of another service", func(b *bench, p *push) {
			c := b.claims()
			c["scope"] = "https://www.googleapis.com/auth/devstorage.full_control"
			p.header.Set("Authorization", "Bearer "+b.exchange(b.assertion(c)).AccessToken)
		}, 403, "", nil},
		{"project that does not exist", path("/v1/projects/nowhere/messages:send"), 404, "", nil},
		{"project of somebody else", path("/v1/projects/other-project/messages:send"), 403, "", nil},

		{"not JSON", raw(`{"message":`), 400, "", nil},
		{"no object", raw(`[]`), 400, "", nil},
		{"text after it", raw(`{} {}`), 400, "", nil},
		{"nested for ever", raw(strings.Repeat(`{"message":`, 1000) + "1" + strings.Repeat("}", 1000)), 400, "", nil},
		{"no message", raw(`{}`), 400, bad, []string{"message"}},
		{"message null", top("message", nil), 400, bad, []string{"message"}},
		{"message no object", top("message", "x"), 400, "", []string{"message"}},
		{"unknown field on top", top("dry_run", true), 400, "", []string{""}},
		{"unknown field", msg("to", "x"), 400, "", []string{"message"}},
		{"unknown android field", android("time_to_live", 3), 400, "", []string{"message.android"}},
		{"unknown notification field", note("buttons", "x"), 400, "", []string{"message.android.notification"}},
		{"two unknown fields", func(_ *bench, p *push) { p.msg["to"], p.android()["x"] = "x", 1 }, 400, "", []string{"message.android", "message"}},
		{"validate_only no flag", top("validate_only", "yes"), 400, "", []string{"validate_only"}},
		{"data number", data("n", 10), 400, "", []string{"message.data[0].value"}},
		{"data object", data("n", map[string]any{}), 400, "", []string{"message.data[0].value"}},
		{"data null", data("n", nil), 400, "", []string{"message.data[0].value"}},
		{"second data value", raw(`{"message":{"data":{"a":"1","b":true}}}`), 400, "", []string{"message.data[1].value"}},
		{"data no object", msg("data", "x"), 400, "", []string{"message.data"}},
		{"android data number", android("data", map[string]any{"n": 1.5}), 400, "", []string{"message.android.data[0].value"}},
		{"priority unknown", android("priority", "urgent"), 400, "", []string{"message.android.priority"}},
		{"priority number", android("priority", 10), 400, "", []string{"message.android.priority"}},
		{"flag as text", android("direct_boot_ok", "true"), 400, "", []string{"message.android.direct_boot_ok"}},
		{"count no integer", note("notification_count", 1.5), 400, "", []string{"message.android.notification.notification_count"}},
		{"args no list", note("body_loc_args", "x"), 400, "", []string{"message.android.notification.body_loc_args"}},
		{"arg no text", note("body_loc_args", []any{"x", 1}), 400, "", []string{"message.android.notification.body_loc_args[1]"}},
		{"time no time", note("event_time", "yesterday"), 400, "", []string{"message.android.notification.event_time"}},
		{"visibility unknown", note("visibility", "HIDDEN"), 400, "", []string{"message.android.notification.visibility"}},
		{"two targets", msg("topic", "news"), 400, "", []string{"message"}},
		{"three targets", func(b *bench, p *push) { p.msg["topic"], p.msg["fid"] = "news", b.fid }, 400, "", []string{"message", "message"}},
		{"TTL as number", android("ttl", 60), 400, "", []string{"message.android.ttl"}},
		{"TTL without unit", android("ttl", "60"), 400, "", []string{"message.android.ttl"}},
		{"TTL in minutes", android("ttl", "1m"), 400, "", []string{"message.android.ttl"}},
		{"TTL above four weeks", android("ttl", "2419200.1s"), 400, bad, []string{"message.android.ttl"}},
		{"TTL below zero", android("ttl", "-1s"), 400, bad, []string{"message.android.ttl"}},

		{"no target", func(_ *bench, p *push) { delete(p.msg, "token") }, 400, bad, []string{"message"}},
		{"empty target", msg("token", ""), 400, bad, []string{"message"}},
		{"reserved from", data("from", "x"), 400, bad, []string{"message.data"}},
		{"reserved message_type", data("message_type", "x"), 400, bad, []string{"message.data"}},
		{"reserved google", data("google.x", "x"), 400, bad, []string{"message.data"}},
		{"reserved gcm", android("data", map[string]any{"gcm.x": "x"}), 400, bad, []string{"message.android.data"}},
		{"4097 bytes", data("k", strings.Repeat("x", 4096)), 400, bad, []string{"message"}},
		{"4097 bytes in many-byte letters", data("kk", strings.Repeat("€", 1365)), 400, bad, []string{"message"}},
		{"notification counts", func(_ *bench, p *push) {
			p.msg["data"] = map[string]any{"k": strings.Repeat("x", 4090)}
			p.msg["notification"] = map[string]any{"title": "123", "body": "456"}
		}, 400, bad, []string{"message"}},
		{"topic malformed", only("topic", "a b"), 400, bad, []string{"message.topic"}},
		{"condition malformed", only("condition", "news"), 400, bad, []string{"message.condition"}},
		{"another package", android("restricted_package_name", "com.other"), 400, bad, []string{"message.android.restricted_package_name"}},

		{"token malformed", msg("token", "abc"), 400, bad, nil},
		{"token with one letter less", func(b *bench, p *push) { p.msg["token"] = b.token[1:] }, 400, bad, nil},
		{"fid malformed", only("fid", "zzz"), 400, bad, nil},
		{"token unknown", msg("token", stranger), 404, fcm.Unregistered, nil},
		{"fid unknown", only("fid", fcm.NewFID()), 404, fcm.Unregistered, nil},
		{"token given up", func(b *bench, _ *push) { b.Unregister(b.token) }, 404, fcm.Unregistered, nil},
		{"token of another project", msg("token", foreign), 403, fcm.SenderIDMismatch, nil},

		{"content type", header("Content-Type", "text/plain"), 400, "", nil},
		{"name twice", func(b *bench, p *push) {
			p.raw = `{"message":{"token":"` + b.token + `","data":{"a":"1","a":"2"}}}`
		}, 400, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, fcm.Config{})
			b.AddProject("other-project")
			b.add(fcm.Registration{Token: foreign, App: app, Project: "other-project", Phone: b.phone})
			p := b.good()
			tc.mutate(b, p)
			got := b.want(p, tc.status, tc.code, tc.fields...)
			recs := b.Requests()
			if len(recs) != 1 || recs[0].Stored || recs[0].Status != tc.status || recs[0].Code != tc.code || !slices.Equal(recs[0].Fields, tc.fields) {
				t.Errorf("records = %+v", recs)
			}
			if ids := b.arrived(); ids != nil {
				t.Errorf("a refused message arrived: %v", ids)
			}
			if strict := strings.Contains(got.Body, "EmulatorStrict"); strict != (len(recs[0].Strict) > 0) {
				t.Errorf("strict in body %v, in record %q", strict, recs[0].Strict)
			}
		})
	}
}

// TestServer_Neighbors are the values next to those refused, which have to pass.
func TestServer_Neighbors(t *testing.T) {
	t.Parallel()
	type change func(*bench, *push)
	ttl := func(s string) change { return func(_ *bench, p *push) { p.android()["ttl"] = s } }
	only := func(name, value string) change {
		return func(_ *bench, p *push) { delete(p.msg, "token"); p.msg[name] = value }
	}
	for name, mutate := range map[string]change{
		"TTL 0":                    ttl("0s"),
		"TTL with a fraction":      ttl("3.5s"),
		"TTL of four weeks":        ttl("2419200s"),
		"no TTL":                   func(_ *bench, p *push) { delete(p.android(), "ttl") },
		"null field":               func(_ *bench, p *push) { p.msg["topic"] = nil },
		"camel case":               func(_ *bench, p *push) { p.android()["collapseKey"] = "sync" },
		"upper case priority":      func(_ *bench, p *push) { p.android()["priority"] = "NORMAL" },
		"4096 bytes":               func(_ *bench, p *push) { p.msg["data"] = map[string]any{"k": strings.Repeat("x", 4095)} },
		"4096 bytes of other text": func(_ *bench, p *push) { p.msg["data"] = map[string]any{"k": strings.Repeat("€", 1365)} },
		"keys like reserved ones":  func(_ *bench, p *push) { p.msg["data"] = map[string]any{"fromage": "x", "a_b": "1", "aB": "2"} },
		"fid":                      func(b *bench, p *push) { delete(p.msg, "token"); p.msg["fid"] = b.fid },
		"topic":                    only("topic", "news"),
		"topic with prefix":        only("topic", "/topics/news"),
		"cloud-platform scope": func(b *bench, p *push) {
			c := b.claims()
			c["scope"] = "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/firebase"
			p.header.Set("Authorization", "Bearer "+b.exchange(b.assertion(c)).AccessToken)
		},
		"content type with charset": func(_ *bench, p *push) { p.header.Set("Content-Type", "application/json; charset=utf-8") },
		"just before the access token ends": func(b *bench, _ *push) {
			b.clock.advance(time.Hour - time.Second)
		},
		"for iOS and web too": func(_ *bench, p *push) {
			p.msg["apns"] = map[string]any{"headers": map[string]any{"apns-priority": "10"}, "payload": map[string]any{"aps": map[string]any{"badge": 1}}}
			p.msg["webpush"] = map[string]any{"notification": map[string]any{"title": "x"}}
			p.msg["fcm_options"] = map[string]any{"analytics_label": "x"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, fcm.Config{})
			p := b.good()
			mutate(b, p)
			b.want(p, 200, "")
			if n := len(b.arrived()); n != 1 {
				t.Errorf("arrived %d, want 1", n)
			}
		})
	}
}

func TestServer_ValidateOnlyDeliversNothing(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	p := b.good()
	p.top["validate_only"] = true
	if got := b.want(p, 200, ""); got.Name != "projects/demo-project/messages/fake_message_id" {
		t.Errorf("name = %q", got.Name)
	}
	p.msg["token"] = "abc"
	b.want(p, 400, fcm.InvalidArgument)
	if ids := b.arrived(); ids != nil || b.Requests()[0].Stored || !b.Requests()[0].ValidateOnly {
		t.Errorf("arrived %v, record %+v", ids, b.Requests()[0])
	}
}

func TestServer_LenientSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{Lenient: true})
	p := b.good()
	p.header.Set("Content-Type", "text/plain")
	b.want(p, 200, "")
	if strict := b.Requests()[0].Strict; len(strict) != 1 {
		t.Errorf("strict = %q", strict)
	}
}

func TestServer_ErrorShape(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	p := b.good()
	p.msg["key"] = "x"
	got := b.send(p)
	want := `{
  "error": {
    "code": 400,
    "message": "Invalid JSON payload received. Unknown name \"key\" at 'message': Cannot find field.",
    "status": "INVALID_ARGUMENT",
    "details": [
      {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [
          {
            "field": "message",
            "description": "Invalid JSON payload received. Unknown name \"key\" at 'message': Cannot find field."
          }
        ]
      }
    ]
  }
}
`
	if diff := cmp.Diff(want, got.Body); diff != "" {
		t.Error(diff)
	}
	for header, want := range map[string]string{"": "CREDENTIALS_MISSING", "Bearer x": "ACCESS_TOKEN_TYPE_UNSUPPORTED"} {
		p := b.good()
		p.header.Set("Authorization", header)
		got := b.send(p)
		if got.Error.Status != "UNAUTHENTICATED" || got.Error.Details[0].Reason != want || got.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%q: %s", header, got.Body)
		}
	}
	p = b.good()
	p.path = "/v1/projects/nowhere/messages:send"
	if got := b.want(p, http.StatusNotFound, ""); got.Error.Status != "NOT_FOUND" || len(got.Error.Details) != 0 {
		t.Errorf("wrong project: %s", got.Body)
	}
}
