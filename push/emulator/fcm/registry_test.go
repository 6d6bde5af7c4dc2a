package fcm_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
)

func TestServer_RotationKeepsTheOldTokenForAWhile(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	next := fcm.NewToken()
	if err := b.Rotate(b.token, next, 30*time.Minute); err != nil {
		t.Fatal(err)
	}
	with := func(token string) *push {
		p := b.good()
		p.msg["token"] = token
		return p
	}
	b.want(with(b.token), 200, "")
	b.want(with(next), 200, "")
	b.clock.advance(30*time.Minute - 1)
	b.want(with(b.token), 200, "")
	b.clock.advance(1)
	b.want(with(b.token), 404, fcm.Unregistered)
	b.want(with(next), 200, "")
	if n := len(b.arrived()); n != 4 {
		t.Errorf("arrived %d, want 4", n)
	}
	for _, err := range []error{b.Rotate(fcm.NewToken(), next, 0), b.Rotate(next, "x", 0)} {
		if !errors.Is(err, fcm.ErrBadRegistration) {
			t.Errorf("Rotate = %v", err)
		}
	}
}

func TestServer_TokensExpireAfter270Days(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		live func(*bench) // what the phone does meanwhile
		code fcm.ErrorCode
	}{
		"unless the phone is connected": {func(b *bench) { b.clock.advance(271 * day) }, ""},
		"up to the last day": {func(b *bench) {
			b.phone.SetOnline(false)
			b.clock.advance(270 * day)
		}, ""},
		"of a phone that stays away": {func(b *bench) {
			b.phone.SetOnline(false)
			b.clock.advance(270*day + 1)
		}, fcm.Unregistered},
		"unless the app registers again": {func(b *bench) {
			b.phone.SetOnline(false)
			b.clock.advance(200 * day)
			b.add(fcm.Registration{Token: b.token, App: app, Phone: b.phone})
			b.clock.advance(200 * day)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, fcm.Config{})
			tc.live(b)
			b.renew()
			status := 200
			if tc.code != "" {
				status = 404
			}
			b.want(b.good(), status, tc.code)
		})
	}
}

func TestServer_DeviceRateIsAQuota(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	for range 240 {
		b.want(b.good(), 200, "")
	}
	got := b.want(b.good(), 429, fcm.QuotaExceeded)
	if d := got.Error.Details; len(d) != 2 || len(d[1].Violations) != 1 || d[1].Violations[0].Description != "Device message rate exceeded" {
		t.Errorf("body = %s", got.Body)
	}
	if rec := b.Requests()[240]; rec.Stored || rec.Status != 429 || rec.Name != "" {
		t.Errorf("record = %+v", rec)
	}
	b.clock.advance(time.Minute)
	b.want(b.good(), 200, "")
}

// TestServer_StoresForAPhoneOutOfReach goes the whole way from the wire: TTL,
// collapse keys, Doze.
func TestServer_StoresForAPhoneOutOfReach(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	send := func(id, priority, ttl, key string) {
		t.Helper()
		p := b.good()
		p.msg["data"] = map[string]any{"id": id}
		p.msg["android"] = map[string]any{"priority": priority, "ttl": ttl, "collapse_key": key}
		b.want(p, 200, "")
	}
	b.phone.SetOnline(false)
	send("now or never", "high", "0s", "")
	send("short", "high", "3.5s", "")
	send("long", "high", "3.501s", "")
	send("nudge 1", "normal", "60s", "sync")
	send("nudge 2", "normal", "60s", "sync")
	b.clock.advance(3500 * time.Millisecond)
	b.phone.SetDoze(true)
	b.phone.SetOnline(true)
	got := func() (ids []string) {
		stored := map[string]bool{}
		for _, n := range b.phone.Stored(app) {
			stored[n.Data["id"]] = true
		}
		for _, rec := range b.Requests() {
			for _, id := range b.arrived() {
				if id == rec.Name {
					ids = append(ids, rec.Data["id"])
				}
			}
			if id := rec.Data["id"]; stored[id] {
				ids = append(ids, id+" waits")
			}
		}
		return ids
	}
	if diff := cmp.Diff([]string{"long", "nudge 2 waits"}, got()); diff != "" {
		t.Error(diff)
	}
	b.phone.SetDoze(false)
	if diff := cmp.Diff([]string{"long", "nudge 2"}, got()); diff != "" {
		t.Error(diff)
	}
}

// TestServer_NotificationMessagesCollapse: without a key of its own a notification
// message has the package's.
func TestServer_NotificationMessagesCollapse(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	b.phone.SetOnline(false)
	for _, title := range []string{"1", "2"} {
		p := b.good()
		p.msg["notification"] = map[string]any{"title": title}
		b.want(p, 200, "")
	}
	b.phone.SetOnline(true)
	if shown := b.phone.Shown(app); len(shown) != 1 || shown[0].Title != "2" {
		t.Errorf("shown = %v, want the second alone", shown)
	}
}

func TestServer_TopicsReachEachAppOnce(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	other := device.New(device.Config{System: device.Android, Now: b.clock.now})
	defer other.Close()
	if err := other.Install(app, nil); err != nil {
		t.Fatal(err)
	}
	b.add(fcm.Registration{FID: fcm.NewFID(), App: app, Topics: []string{"news", "more"}, Phone: other})
	for _, topic := range []string{"news", "more", "nothing"} {
		p := b.good()
		delete(p.msg, "token")
		p.msg["topic"] = topic
		b.want(p, 200, "")
	}
	p := b.good()
	delete(p.msg, "token")
	p.msg["condition"] = "'news' in topics"
	b.want(p, 200, "")
	if n, m := len(b.arrived()), other.History().Len(); n != 1 || m != 2 {
		t.Errorf("arrived %d and %d, want 1 and 2", n, m)
	}
}

func TestServer_RefusesBadRegistrations(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	for name, r := range map[string]fcm.Registration{
		"no address":     {App: app},
		"no app":         {Token: fcm.NewToken()},
		"bad token":      {Token: "abc", App: app},
		"bad fid":        {FID: "abc", App: app},
		"fid in capital": {FID: strings.ToUpper(fcm.NewFID()), App: app},
	} {
		if err := b.AddDevice(r); !errors.Is(err, fcm.ErrBadRegistration) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.Unregister(fcm.NewToken()) {
		t.Error("an unknown token was known")
	}
}

func TestStart_Refuses(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]fcm.Config{
		"an address others can reach": {Addr: "0.0.0.0:0"},
		"an address that is none":     {Addr: "nowhere"},
		"a CA that is not there":      {CACertFile: filepath.Join(t.TempDir(), "ca.pem"), CAKeyFile: "ca.key"},
	} {
		if s, err := fcm.Start(context.Background(), cfg); err == nil {
			s.Close()
			t.Errorf("%s: started", name)
		}
	}
}
