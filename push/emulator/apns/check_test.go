package apns_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

func TestServer_AcceptsAGoodRequest(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	p := b.good()
	got := b.sender().want(p, 200, "")
	if got.Body != "" {
		t.Errorf("body of a 200 = %q, want it empty", got.Body)
	}
	if id := got.Header.Get("apns-id"); id != p.header["apns-id"][0] {
		t.Errorf("apns-id = %q, want the one sent", id)
	}
	if got.Header.Get("apns-unique-id") == "" {
		t.Error("the sandbox did not answer apns-unique-id")
	}
	shown := b.phone.Shown(bundle)
	if len(shown) != 1 {
		t.Fatalf("shown = %v, want one alert", shown)
	}
	two := 2
	want := device.Shown{Key: "decision-1", At: b.clock.now(), Notification: device.Notification{
		ID: p.header["apns-id"][0], App: bundle, Tag: "decision-1", Alert: true,
		Title: "Send it?", Body: "To <Ann> & Bob", Sound: "default", Category: "DECISION", Thread: "t",
		Level: device.TimeSensitive, Badge: &two, Mutable: true,
		Expires: time.Unix(startUnix+3600, 0).UTC(), Payload: []byte(p.body),
	}}
	if diff := cmp.Diff(want, shown[0]); diff != "" {
		t.Error(diff)
	}
}

func TestServer_GeneratesAnID(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	other := strings.Repeat("ef", 40)
	b.add(apns.Registration{Token: other, Topic: bundle, Env: apns.Production, Phone: b.phone})
	p := b.good()
	delete(p.header, "apns-id")
	p.env, p.path = apns.Production, "/3/device/"+other
	got := b.sender().want(p, 200, "")
	lower := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if id := got.Header.Get("apns-id"); !lower.MatchString(id) {
		t.Errorf("apns-id = %q, want a lower-case UUID", id)
	}
	if id := got.Header.Get("apns-unique-id"); id != "" {
		t.Errorf("production answered apns-unique-id %q", id)
	}
}

// TestServer_B35_EveryMutationIsRefused changes one thing of a request that passes and expects the
// documented answer. A check that is taken out of the server fails its row.
func TestServer_B35_EveryMutationIsRefused(t *testing.T) {
	t.Parallel()
	voip := strings.Repeat("0b", 32)
	other := strings.Repeat("ab", 32)
	setup := func(t *testing.T) *bench {
		b := start(t, apns.Config{})
		b.add(apns.Registration{Token: voip, Topic: bundle + ".voip", Env: apns.Sandbox, Phone: b.phone})
		b.add(apns.Registration{Token: other, Topic: bundle, Env: apns.Production, Phone: b.phone})
		b.add(apns.Registration{Token: strings.Repeat("cd", 80), Topic: bundle, Env: apns.Sandbox})
		b.add(apns.Registration{Token: strings.Repeat("ce", 32), Topic: bundle, Env: apns.Sandbox})
		b.Unregister(strings.Repeat("ce", 32), time.UnixMilli(1_799_999_999_123))
		b.add(apns.Registration{Token: strings.Repeat("cf", 32), Topic: bundle, Env: apns.Sandbox})
		b.ExpireToken(strings.Repeat("cf", 32), time.UnixMilli(1_799_999_998_456))
		return b
	}
	set := func(name, value string) func(*bench, *push) { return func(_ *bench, p *push) { p.set(name, value) } }
	without := func(name string) func(*bench, *push) { return func(_ *bench, p *push) { delete(p.header, name) } }
	path := func(path string) func(*bench, *push) { return func(_ *bench, p *push) { p.path = path } }
	body := func(body string) func(*bench, *push) { return func(_ *bench, p *push) { p.body = body } }
	aps := func(aps string) func(*bench, *push) { return body(`{"aps":` + aps + `}`) }
	claims := func(change func(b *bench, c jwt.MapClaims)) func(*bench, *push) {
		return func(b *bench, p *push) {
			c := jwt.MapClaims{"iss": teamID, "iat": b.clock.now().Unix()}
			change(b, c)
			p.set("authorization", b.sign(b.key, keyID, c))
		}
	}
	asVoIP := func(p *push, size int) {
		p.path = "/3/device/" + voip
		p.set("apns-topic", bundle+".voip")
		p.set("apns-push-type", "voip")
		p.body = sized(size)
	}
	background := func(p *push) {
		p.set("apns-push-type", "background")
		p.set("apns-priority", "5")
		p.body = `{"aps":{"content-available":1}}`
	}

	for _, tc := range []struct {
		name   string
		mutate func(*bench, *push)
		status int
		reason apns.Reason
	}{
		{"method GET", func(_ *bench, p *push) { p.method, p.body = "GET", "" }, 405, apns.MethodNotAllowed},
		{"method PUT", func(_ *bench, p *push) { p.method = "PUT" }, 405, apns.MethodNotAllowed},
		{"path of another version", path("/2/device/" + token), 404, apns.BadPath},
		{"path without device", path("/"), 404, apns.BadPath},
		{"header twice", func(_ *bench, p *push) { p.header["apns-topic"] = []string{bundle, bundle} }, 400, apns.DuplicateHeaders},

		{"no authorization", without("authorization"), 403, apns.MissingProviderToken},
		{"authorization of another kind", set("authorization", "basic abc"), 403, apns.MissingProviderToken},
		{"empty bearer", set("authorization", "bearer "), 403, apns.MissingProviderToken},
		{"garbage bearer", set("authorization", "bearer abc.def.ghi"), 403, apns.InvalidProviderToken},
		{"signature broken", func(_ *bench, p *push) {
			jws := []byte(p.header["authorization"][0])
			i := len(jws) - 20
			if jws[i] == 'A' {
				jws[i] = 'B'
			} else {
				jws[i] = 'A'
			}
			p.set("authorization", string(jws))
		}, 403, apns.InvalidProviderToken},
		{"signed by another key", func(b *bench, p *push) {
			stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				b.t.Fatal(err)
			}
			p.set("authorization", b.sign(stranger, keyID, jwt.MapClaims{"iss": teamID, "iat": b.clock.now().Unix()}))
		}, 403, apns.InvalidProviderToken},
		{"HS256", func(b *bench, p *push) {
			p.set("authorization", b.signWith(jwt.SigningMethodHS256, []byte("secret"), keyID,
				jwt.MapClaims{"iss": teamID, "iat": b.clock.now().Unix()}))
		}, 403, apns.InvalidProviderToken},
		{"alg none", func(b *bench, p *push) {
			p.set("authorization", b.signWith(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, keyID,
				jwt.MapClaims{"iss": teamID, "iat": b.clock.now().Unix()}))
		}, 403, apns.InvalidProviderToken},
		{"unknown kid", func(b *bench, p *push) {
			p.set("authorization", b.sign(b.key, "OTHERKEY99", jwt.MapClaims{"iss": teamID, "iat": b.clock.now().Unix()}))
		}, 403, apns.InvalidProviderToken},
		{"no kid", func(b *bench, p *push) {
			p.set("authorization", b.sign(b.key, "", jwt.MapClaims{"iss": teamID, "iat": b.clock.now().Unix()}))
		}, 403, apns.InvalidProviderToken},
		{"another team's iss", claims(func(_ *bench, c jwt.MapClaims) { c["iss"] = "TEAM999999" }), 403, apns.InvalidProviderToken},
		{"no iss", claims(func(_ *bench, c jwt.MapClaims) { delete(c, "iss") }), 403, apns.InvalidProviderToken},
		{"no iat", claims(func(_ *bench, c jwt.MapClaims) { delete(c, "iat") }), 403, apns.InvalidProviderToken},
		{"iat as text", claims(func(b *bench, c jwt.MapClaims) { c["iat"] = fmt.Sprint(b.clock.now().Unix()) }), 403, apns.InvalidProviderToken},
		{"iat an hour ago", claims(func(b *bench, c jwt.MapClaims) { c["iat"] = b.clock.now().Unix() - 3600 }), 200, ""},
		{"iat more than an hour ago", claims(func(b *bench, c jwt.MapClaims) { c["iat"] = b.clock.now().Unix() - 3601 }), 403, apns.ExpiredProviderToken},
		{"iat in the future", claims(func(b *bench, c jwt.MapClaims) { c["iat"] = b.clock.now().Unix() + 1 }), 403, apns.InvalidProviderToken},
		{"key of production", func(b *bench, p *push) {
			key := b.register(apns.Key{ID: "PRODKEY123", TeamID: teamID, Envs: []apns.Env{apns.Production}})
			p.set("authorization", b.sign(key, "PRODKEY123", jwt.MapClaims{"iss": teamID, "iat": b.clock.now().Unix()}))
		}, 403, apns.BadEnvironmentKeyIDInToken},
		{"key of another topic", func(b *bench, p *push) {
			key := b.register(apns.Key{ID: "TOPICKEY12", TeamID: teamID, Topics: []string{"com.example.other"}})
			p.set("authorization", b.sign(key, "TOPICKEY12", jwt.MapClaims{"iss": teamID, "iat": b.clock.now().Unix()}))
		}, 400, apns.TopicDisallowed},
		{"key of this topic and environment", func(b *bench, p *push) {
			key := b.register(apns.Key{ID: "TOPICKEY12", TeamID: teamID, Topics: []string{bundle}, Envs: []apns.Env{apns.Sandbox}})
			p.set("authorization", b.sign(key, "TOPICKEY12", jwt.MapClaims{"iss": teamID, "iat": b.clock.now().Unix()}))
		}, 200, ""},

		{"apns-id not a UUID", set("apns-id", "42"), 400, apns.BadMessageID},
		{"apns-id without dashes", set("apns-id", strings.Repeat("a", 36)), 400, apns.BadMessageID},
		{"no apns-id", without("apns-id"), 200, ""},
		{"expiration 0", set("apns-expiration", "0"), 200, ""},
		{"expiration text", set("apns-expiration", "tomorrow"), 400, apns.BadExpirationDate},
		{"expiration negative", set("apns-expiration", "-1"), 400, apns.BadExpirationDate},
		{"expiration a fraction", set("apns-expiration", "1800003600.5"), 400, apns.BadExpirationDate},
		{"priority 1", set("apns-priority", "1"), 200, ""},
		{"priority 7", set("apns-priority", "7"), 400, apns.BadPriority},
		{"priority text", set("apns-priority", "high"), 400, apns.BadPriority},
		{"no priority", without("apns-priority"), 200, ""},
		{"collapse-id of 64 bytes", set("apns-collapse-id", strings.Repeat("x", 64)), 200, ""},
		{"collapse-id of 65 bytes", set("apns-collapse-id", strings.Repeat("x", 65)), 400, apns.BadCollapseID},
		{"collapse-id of 32 letters, 64 bytes", set("apns-collapse-id", strings.Repeat("é", 32)), 200, ""},
		{"collapse-id of 33 letters, 66 bytes", set("apns-collapse-id", strings.Repeat("é", 33)), 400, apns.BadCollapseID},
		{"no topic", without("apns-topic"), 400, apns.MissingTopic},
		{"topic malformed", set("apns-topic", "com example"), 400, apns.BadTopic},
		{"topic of another app", set("apns-topic", "com.example.other"), 400, apns.DeviceTokenNotForTopic},

		{"no push type", without("apns-push-type"), 400, apns.InvalidPushType},
		{"push type unknown", set("apns-push-type", "banner"), 400, apns.InvalidPushType},
		{"background with priority 5", func(_ *bench, p *push) { background(p) }, 200, ""},
		{"background with priority 10", func(_ *bench, p *push) { background(p); p.set("apns-priority", "10") }, 400, apns.BadPriority},
		{"background with the default priority", func(_ *bench, p *push) { background(p); delete(p.header, "apns-priority") }, 400, apns.BadPriority},
		{"voip", func(_ *bench, p *push) { asVoIP(p, 100) }, 200, ""},
		{"voip type on a plain topic", set("apns-push-type", "voip"), 400, apns.DeviceTokenNotForTopic},
		{"alert type on a voip topic", func(_ *bench, p *push) { asVoIP(p, 100); p.set("apns-push-type", "alert") }, 400, apns.InvalidPushType},
		{"liveactivity without its suffix", set("apns-push-type", "liveactivity"), 400, apns.DeviceTokenNotForTopic},

		{"no device token", path("/3/device/"), 400, apns.MissingDeviceToken},
		{"device token not hex", path("/3/device/zz" + token[2:]), 400, apns.BadDeviceToken},
		{"device token of odd length", path("/3/device/" + token[1:]), 400, apns.BadDeviceToken},
		{"device token with a query", path("/3/device/" + token + "?x=1"), 400, apns.BadDeviceToken},
		{"device token unknown", path("/3/device/" + strings.Repeat("00", 32)), 400, apns.BadDeviceToken},
		{"device token of production", path("/3/device/" + other), 400, apns.BadDeviceToken},
		{"device token in upper case", path("/3/device/" + strings.ToUpper(token)), 200, ""},
		{"device token of 160 characters", path("/3/device/" + strings.Repeat("cd", 80)), 200, ""},
		{"device token given up", path("/3/device/" + strings.Repeat("ce", 32)), 410, apns.Unregistered},
		{"device token expired", path("/3/device/" + strings.Repeat("cf", 32)), 410, apns.ExpiredToken},

		{"empty body", body(""), 400, apns.PayloadEmpty},
		{"body of 4096 bytes", body(sized(4096)), 200, ""},
		{"body of 4097 bytes", body(sized(4097)), 413, apns.PayloadTooLarge},
		{"body far too large", body(sized(300_000)), 413, apns.PayloadTooLarge},
		{"voip body of 5120 bytes", func(_ *bench, p *push) { asVoIP(p, 5120) }, 200, ""},
		{"voip body of 5121 bytes", func(_ *bench, p *push) { asVoIP(p, 5121) }, 413, apns.PayloadTooLarge},

		{"unknown apns header", set("apns-urgency", "high"), 400, apns.EmulatorStrict},
		{"unknown other header", set("x-trace", "1"), 200, ""},
		{"empty collapse-id", set("apns-collapse-id", ""), 400, apns.EmulatorStrict},
		{"body not JSON", body("hello"), 400, apns.EmulatorStrict},
		{"body an array", body(`[1]`), 400, apns.EmulatorStrict},
		{"body with more behind it", body(`{"aps":{"alert":"a"}}{}`), 400, apns.EmulatorStrict},
		{"no aps", body(`{"id":"dec_1"}`), 400, apns.EmulatorStrict},
		{"aps null", aps(`null`), 400, apns.EmulatorStrict},
		{"aps key unknown", aps(`{"alert":"a","urgency":1}`), 400, apns.EmulatorStrict},
		{"alert as text", aps(`{"alert":"a"}`), 200, ""},
		{"alert as number", aps(`{"alert":1}`), 400, apns.EmulatorStrict},
		{"alert key unknown", aps(`{"alert":{"titel":"a"}}`), 400, apns.EmulatorStrict},
		{"alert localised", aps(`{"alert":{"loc-key":"DECISION","loc-args":["Ann"]}}`), 200, ""},
		{"badge alone", aps(`{"badge":3}`), 200, ""},
		{"badge as text", aps(`{"alert":"a","badge":"3"}`), 400, apns.EmulatorStrict},
		{"badge negative", aps(`{"alert":"a","badge":-1}`), 400, apns.EmulatorStrict},
		{"sound critical", aps(`{"alert":"a","sound":{"critical":1,"name":"default","volume":0.5}}`), 200, ""},
		{"sound of unknown shape", aps(`{"alert":"a","sound":{"nam":"default"}}`), 400, apns.EmulatorStrict},
		{"interruption-level unknown", aps(`{"alert":"a","interruption-level":"urgent"}`), 400, apns.EmulatorStrict},
		{"mutable-content true", aps(`{"alert":"a","mutable-content":true}`), 400, apns.EmulatorStrict},
		{"relevance-score", aps(`{"alert":"a","relevance-score":1}`), 200, ""},
		{"alert type with nothing to show", aps(`{"mutable-content":1}`), 400, apns.EmulatorStrict},
		{"background type with an alert", func(_ *bench, p *push) {
			background(p)
			p.body = `{"aps":{"content-available":1,"alert":"a"}}`
		}, 400, apns.EmulatorStrict},
		{"background type without content-available", func(_ *bench, p *push) {
			background(p)
			p.body = `{"aps":{}}`
		}, 400, apns.EmulatorStrict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			p := b.good()
			tc.mutate(b, p)
			got := b.sender().want(p, tc.status, tc.reason)
			if got.Header.Get("apns-id") == "" {
				t.Error("no apns-id in the answer")
			}
			rec := b.Requests()[0]
			if rec.Status != tc.status || rec.Reason != tc.reason || rec.Stored != (tc.status == 200) {
				t.Errorf("record = %d %q stored %v", rec.Status, rec.Reason, rec.Stored)
			}
			if events := b.phone.History().Len(); tc.status != 200 && events != 0 {
				t.Errorf("a refused push did %d things on the phone", events)
			}
			if (tc.reason == apns.EmulatorStrict) != (len(rec.Strict) > 0) {
				t.Errorf("strict = %q", rec.Strict)
			}
		})
	}
}

// sized is a valid payload of exactly n bytes, with characters that an encoder may
// be tempted to escape.
func sized(n int) string {
	const head, tail = `{"aps":{"alert":"<&>`, `"}}`
	return head + strings.Repeat("&", n-len(head)-len(tail)) + tail
}

func TestServer_GoneCarriesMilliseconds(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	at := time.UnixMilli(1_799_999_999_123)
	if b.Unregister(strings.Repeat("00", 32), at) {
		t.Error("an unknown token was unregistered")
	}
	if !b.Unregister(token, at) {
		t.Fatal("the token was not known")
	}
	s := b.sender()
	if got := s.want(b.good(), 410, apns.Unregistered); got.Timestamp != at.UnixMilli() {
		t.Errorf("timestamp = %d, want %d", got.Timestamp, at.UnixMilli())
	}
	b.add(apns.Registration{Token: token, Topic: bundle, Env: apns.Sandbox, Phone: b.phone})
	s.want(b.good(), 200, "")
}

func TestServer_ChecksComeInTheDocumentedOrder(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	p := &push{
		env: apns.Sandbox, method: "PUT", path: "/2/device/",
		header: map[string][]string{
			"apns-id": {"x"}, "apns-expiration": {"x"}, "apns-priority": {"x"}, "x-twice": {"1", "2"},
			"apns-collapse-id": {strings.Repeat("x", 65)}, "apns-push-type": {"x"}, "apns-extra": {"x"},
		},
	}
	s := b.sender()
	for _, step := range []struct {
		reason apns.Reason
		mend   func()
	}{
		{apns.MethodNotAllowed, func() { p.method = "POST" }},
		{apns.BadPath, func() { p.path = "/3/device/" }},
		{apns.DuplicateHeaders, func() { delete(p.header, "x-twice") }},
		{apns.MissingProviderToken, func() { p.set("authorization", b.bearer(-time.Second)+"x") }},
		{apns.InvalidProviderToken, func() { p.set("authorization", b.bearer(0)) }},
		{apns.BadMessageID, func() { delete(p.header, "apns-id") }},
		{apns.BadExpirationDate, func() { delete(p.header, "apns-expiration") }},
		{apns.BadPriority, func() { delete(p.header, "apns-priority") }},
		{apns.BadCollapseID, func() { delete(p.header, "apns-collapse-id") }},
		{apns.MissingTopic, func() { p.set("apns-topic", "a b") }},
		{apns.BadTopic, func() { p.set("apns-topic", "com.example.other") }},
		{apns.InvalidPushType, func() { p.set("apns-push-type", "alert") }},
		{apns.MissingDeviceToken, func() { p.path += strings.Repeat("00", 32) }},
		{apns.BadDeviceToken, func() { p.path = "/3/device/" + token }},
		{apns.DeviceTokenNotForTopic, func() { p.set("apns-topic", bundle) }},
		{apns.PayloadEmpty, func() { p.body = strings.Repeat("x", 4097) }},
		{apns.PayloadTooLarge, func() { p.body = "x" }},
		{apns.EmulatorStrict, func() { p.body = `{"aps":{"alert":"a"}}`; delete(p.header, "apns-extra") }},
	} {
		s.want(p, step.reason.Status(), step.reason)
		step.mend()
	}
	s.want(p, 200, "")
}

func TestServer_LenientSaysItOnlyInTheRecord(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{Lenient: true})
	p := b.good()
	p.set("apns-urgency", "high")
	p.body = `{"aps":{"alert":"a","urgency":1}}`
	b.sender().want(p, 200, "")
	want := []string{"there is no header apns-urgency", `aps has no key "urgency"`}
	if diff := cmp.Diff(want, b.Requests()[0].Strict); diff != "" {
		t.Error(diff)
	}
	if len(b.phone.Shown(bundle)) != 1 {
		t.Error("the alert was not shown")
	}
}
