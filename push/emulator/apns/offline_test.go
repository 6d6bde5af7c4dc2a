package apns_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

// lost lists the reasons for which a phone did not get what was accepted for it.
func (b *bench) lost() []string {
	var out []string
	for _, e := range b.phone.History().All() {
		if e.Kind == device.Lost {
			out = append(out, e.Reason)
		}
	}
	return out
}

func (b *bench) titles() []string {
	var out []string
	for _, s := range b.phone.Shown(bundle) {
		out = append(out, s.Title)
	}
	return out
}

// titled is a good request with a title, and with a collapse id unless that is "".
func (b *bench) titled(title, collapse string) *push {
	p := b.good()
	delete(p.header, "apns-id")
	delete(p.header, "apns-collapse-id")
	if collapse != "" {
		p.set("apns-collapse-id", collapse)
	}
	p.body = `{"aps":{"alert":{"title":"` + title + `"}}}`
	return p
}

// badged is a titled request that sets the badge.
func (b *bench) badged(title, collapse string, badge int) *push {
	p := b.titled(title, collapse)
	p.body = fmt.Sprintf(`{"aps":{"alert":{"title":%q},"badge":%d}}`, title, badge)
	return p
}

func TestServer_StoresOnePushForAPhoneWithoutNetwork(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) string { return strconv.FormatInt(startUnix+int64(d/time.Second), 10) }
	for name, tc := range map[string]struct {
		send func(*bench, *sender)
		away time.Duration
		want []string // titles on the screen
		lost []string
	}{
		"the newest is kept": {
			send: func(b *bench, s *sender) {
				s.want(b.titled("1", "a"), 200, "")
				s.want(b.titled("2", "b"), 200, "")
			},
			want: []string{"2"}, lost: []string{device.ByNewer},
		},
		"of one collapse id the newest is kept": {
			send: func(b *bench, s *sender) {
				s.want(b.titled("1", "a"), 200, "")
				s.want(b.titled("2", "a"), 200, "")
			},
			want: []string{"2"}, lost: []string{device.ByCollapse},
		},
		"until it expires": {
			send: func(b *bench, s *sender) {
				p := b.titled("1", "a")
				p.set("apns-expiration", in(time.Minute))
				s.want(p, 200, "")
			},
			away: time.Minute, lost: []string{device.ByExpiry},
		},
		"expired when it came": {
			send: func(b *bench, s *sender) {
				p := b.titled("1", "a")
				p.set("apns-expiration", "1")
				s.want(p, 200, "")
			},
			lost: []string{device.ByExpiry},
		},
		"not with expiration 0, which leaves the older one": {
			send: func(b *bench, s *sender) {
				s.want(b.titled("1", "a"), 200, "")
				p := b.titled("2", "a")
				p.set("apns-expiration", "0")
				s.want(p, 200, "")
			},
			want: []string{"1"}, lost: []string{device.ByOffline},
		},
		"for a month without expiration": {
			send: func(b *bench, s *sender) {
				p := b.titled("1", "a")
				delete(p.header, "apns-expiration")
				s.want(p, 200, "")
			},
			away: 29 * 24 * time.Hour, want: []string{"1"},
		},
		"and no longer": {
			send: func(b *bench, s *sender) {
				p := b.titled("1", "a")
				delete(p.header, "apns-expiration")
				s.want(p, 200, "")
			},
			away: 30 * 24 * time.Hour, lost: []string{device.ByExpiry},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, apns.Config{})
			b.phone.SetOnline(false)
			tc.send(b, b.sender())
			if got := b.titles(); got != nil {
				t.Errorf("without network shown = %v", got)
			}
			b.clock.advance(tc.away)
			b.phone.SetOnline(true)
			if diff := cmp.Diff(tc.want, b.titles()); diff != "" {
				t.Error("shown: " + diff)
			}
			if diff := cmp.Diff(tc.lost, b.lost()); diff != "" {
				t.Error("lost: " + diff)
			}
		})
	}
}

// Apple promises no order: what was stored may come behind what was sent later, and
// then its badge is the one that stays.
func TestServer_AStoredPushIsOvertaken(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		then  func(*bench, *sender)
		want  []string
		lost  []string
		badge int
	}{
		"by the next push": {
			then: func(b *bench, s *sender) { s.want(b.badged("2", "b", 2), 200, "") },
			want: []string{"2", "1"}, badge: 1,
		},
		"and replaced by one of its collapse id": {
			then: func(b *bench, s *sender) { s.want(b.badged("2", "a", 2), 200, "") },
			want: []string{"2"}, lost: []string{device.ByCollapse}, badge: 2,
		},
		"by nothing, and comes late": {
			then: func(b *bench, _ *sender) { b.phone.Tick() },
			want: []string{"1"}, badge: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, apns.Config{})
			s := b.sender()
			b.phone.SetReorder(true)
			b.phone.SetOnline(false)
			s.want(b.badged("1", "a", 1), 200, "")
			b.phone.SetOnline(true)
			if got := b.titles(); got != nil {
				t.Errorf("shown = %v before anything overtook it", got)
			}
			tc.then(b, s)
			if n := b.phone.Badge(bundle); n != tc.badge {
				t.Errorf("badge %d, want %d", n, tc.badge)
			}
			s.want(b.titled("3", "c"), 200, "") // the order is as usual again
			if diff := cmp.Diff(append(tc.want, "3"), b.titles()); diff != "" {
				t.Error("shown: " + diff)
			}
			if diff := cmp.Diff(tc.lost, b.lost()); diff != "" {
				t.Error("lost: " + diff)
			}
		})
	}
}

func TestServer_ExpirationZeroReachesAPhoneOnline(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	p := b.titled("1", "a")
	p.set("apns-expiration", "0")
	b.sender().want(p, 200, "")
	if diff := cmp.Diff([]string{"1"}, b.titles()); diff != "" {
		t.Error(diff)
	}
}

func TestServer_BackgroundPushesAreRationed(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	s := b.sender()
	background := func() {
		t.Helper()
		p := b.titled("", "")
		p.set("apns-push-type", "background")
		p.set("apns-priority", "5")
		p.body = `{"aps":{"content-available":1}}`
		s.want(p, 200, "")
	}
	for range 4 {
		background()
	}
	b.clock.advance(time.Hour)
	background()
	b.phone.ForceQuit(bundle)
	background()
	s.want(b.titled("still shown", "a"), 200, "")
	b.phone.Launch(bundle)
	background()
	var got []device.Kind
	for _, e := range b.phone.History().All() {
		got = append(got, e.Kind)
	}
	want := []device.Kind{
		device.Received, device.Received, device.Received, device.Lost,
		device.Received, device.Quit, device.Lost, device.Rang, device.Launched, device.Received,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{device.ByBudget, device.ByForceQuit}, b.lost()); diff != "" {
		t.Error(diff)
	}
}
