package phone_test

import (
	"context"
	"errors"
	"testing"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
)

// reports waits for n reports of presence.
func (b *bench) reports(n int) []*v1.ReportPresenceRequest {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	all, err := b.presence.Wait(ctx, n)
	b.check(err)
	return all
}

func TestPresence_IsReportedWhileAThreadIsOpen(t *testing.T) {
	t.Parallel()
	b := paired(t, func(c *phone.Config) { c.Repeat = time.Millisecond })
	b.push(b.ask())
	b.wait(phone.Arrived)
	if b.presence.Len() != 0 {
		t.Error("an alert on a locked screen is no presence")
	}
	_, err := b.app.Tap(t.Context(), "dec/1")
	b.check(err)
	for _, r := range b.reports(3) {
		if r.GetThreadId() != "thr" || !r.GetForeground() {
			t.Errorf("reported %v", r)
		}
	}
	if b.app.Looking() != "thr" || len(b.acknowledged) != 1 || b.acknowledged[0] != "dec" {
		t.Errorf("looks at %q with the cards %q open", b.app.Looking(), b.acknowledged)
	}
	if !b.app.Leave(t.Context()) || b.app.Leave(t.Context()) {
		t.Error("a thread is left once")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = b.presence.Find(ctx, func(r *v1.ReportPresenceRequest) bool { return !r.GetForeground() })
	b.check(err)
	if _, open := b.app.Opened(); open || b.app.Looking() != "" {
		t.Error("the card is still open")
	}
	if _, err := b.app.Answer(t.Context(), []string{"approve"}, ""); !errors.Is(err, phone.ErrNotOpen) {
		t.Errorf("answered a card that was closed: %v", err)
	}
}

func TestPresence_EndsWhenTheScreenLocksByItself(t *testing.T) {
	t.Parallel()
	b := paired(t, func(c *phone.Config) { c.Lock = time.Millisecond })
	b.push(b.ask())
	b.wait(phone.Arrived)
	_, err := b.app.Tap(t.Context(), "dec/1")
	b.check(err)
	if all := b.reports(2); !all[0].GetForeground() || all[1].GetForeground() {
		t.Errorf("reported %v", all)
	}
	if e := b.wait(phone.Left); e.Why != "the screen locked by itself" || e.Thread != "thr" {
		t.Errorf("told %+v", e)
	}
}

func TestPresence_OfAnEndedAppIsNotTakenBack(t *testing.T) {
	t.Parallel()
	b := paired(t)
	b.push(b.ask())
	b.wait(phone.Arrived)
	_, err := b.app.Tap(t.Context(), "dec/1")
	b.check(err)
	b.app.Vanish()
	b.wait(phone.Left)
	if b.presence.Len() != 1 {
		t.Errorf("%d reports", b.presence.Len())
	}
}

func TestThreads_OpenFromTheList(t *testing.T) {
	t.Parallel()
	b := paired(t)
	b.mu.Lock()
	b.put(v1.EntityKind_ENTITY_KIND_THREAD_HEADER, "", "thr", &v1.Thread{Id: "thr", Title: "Reports", Unread: 1})
	b.mu.Unlock()
	b.ask()
	b.check(b.app.Sync(t.Context()))
	list := b.app.Threads()
	if len(list) != 1 || list[0].Title != "Reports" || list[0].Unread != 1 {
		t.Fatalf("lists %+v", list)
	}
	card, err := b.app.OpenThread(t.Context(), "thr")
	b.check(err)
	if card.Decision != "dec" || b.app.Looking() != "thr" {
		t.Errorf("opened %+v, looks at %q", card, b.app.Looking())
	}
	if _, err := b.app.OpenThread(t.Context(), "other"); !errors.Is(err, phone.ErrGone) {
		t.Errorf("a thread that is not there: %v, want ErrGone", err)
	}
	result, err := b.app.Answer(t.Context(), []string{"deny"}, "")
	b.check(err)
	if result.Outcome != "APPLIED" {
		t.Errorf("met %+v", result)
	}
}

func TestClaim_MakesTheFirstDevice(t *testing.T) {
	t.Parallel()
	b := unpaired(t)
	for _, link := range []string{"", "bk_own_x", b.url + "/claim", b.url + "/other#bk_own_x", "http://example.com/claim#bk_own_x"} {
		if err := b.app.Claim(t.Context(), link, ""); !errors.Is(err, phone.ErrLink) && !errors.Is(err, phone.ErrServer) {
			t.Errorf("%q: %v", link, err)
		}
	}
	b.check(b.app.Claim(t.Context(), b.url+"/claim#bk_own_x", ""))
	if s := b.app.State(); s.Installation != "ins" || s.Account != "acc" || s.Server != b.url || b.claimed.GetSecret() != "bk_own_x" {
		t.Errorf("claimed %v as %+v", b.claimed, s)
	}
	if len(b.addresses) != 1 {
		t.Errorf("registered %v", b.addresses)
	}
}

func TestOffline_TheAppReachesNobody(t *testing.T) {
	t.Parallel()
	b := paired(t)
	b.device.SetOnline(false)
	if err := b.app.Sync(t.Context()); !errors.Is(err, phone.ErrOffline) {
		t.Errorf("read without a network: %v", err)
	}
	b.device.SetOnline(true)
	b.check(b.app.Sync(t.Context()))
}

func TestMoved_TellsTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address string
		kind    v1.AddressKind
	}{
		{"c" + deviceToken[:21] + ":APA91b-more", v1.AddressKind_ADDRESS_KIND_FCM_TOKEN},
		{"c" + deviceToken[:21], v1.AddressKind_ADDRESS_KIND_FCM_FID},
	} {
		b := paired(t, android)
		b.check(b.app.Moved(t.Context(), c.address))
		if got := b.addresses[len(b.addresses)-1]; got.GetToken() != c.address || got.GetKind() != c.kind || len(b.addresses) != 2 {
			t.Errorf("registered %v", b.addresses)
		}
	}
}

func TestWipe_LeavesNothingBehind(t *testing.T) {
	t.Parallel()
	b := paired(t)
	b.push(b.ask())
	b.wait(phone.Arrived)
	b.device.Uninstall(topic)
	b.check(b.app.Wipe())
	stored, err := b.store.Load()
	b.check(err)
	if stored.Paired() || stored.InstallKey != nil || len(b.app.Threads()) != 0 || len(b.app.Screen()) != 0 {
		t.Errorf("kept %+v", stored)
	}
	if err := b.app.Sync(t.Context()); !errors.Is(err, phone.ErrNotPaired) {
		t.Errorf("read after the end: %v", err)
	}
	b.check(b.app.Install("aabb"))
	b.check(b.app.Pair(t.Context(), b.url, "", code, func(string) {}))
	if got := b.addresses[len(b.addresses)-1].GetToken(); got != "aabb" {
		t.Errorf("registered %q", got)
	}
}

// A page token that the server does not know any more begins the bootstrap again;
// one that is refused for ever ends it.
func TestSync_RefusedPageBeginsAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		refuse int
		pages  []string
		fails  bool
	}{
		{0, []string{"", "page-2"}, false},
		{1, []string{"", "page-2", "", "page-2"}, false},
		{-1, []string{"", "page-2", "", "page-2", "", "page-2", "", "page-2"}, true},
	} {
		b := unpaired(t)
		b.paged, b.refusePages = true, c.refuse
		d := b.ask()
		err := b.app.Pair(t.Context(), b.url, "", code, func(string) {})
		if (err != nil) != c.fails {
			t.Errorf("refused %d times: %v", c.refuse, err)
		}
		var pages []string
		for _, r := range b.boots {
			pages = append(pages, string(r.GetPage()))
		}
		if len(pages) != len(c.pages) {
			t.Errorf("refused %d times: asked for %q, want %q", c.refuse, pages, c.pages)
		}
		if c.fails {
			continue
		}
		b.push(d)
		b.wait(phone.Arrived)
		b.check(b.app.Sync(t.Context()))
		if len(b.app.Screen()) != 1 {
			t.Error("the open question was not read")
		}
	}
}
