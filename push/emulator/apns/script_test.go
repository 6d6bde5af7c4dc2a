package apns_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

func (b *bench) fault(m apns.Match, f apns.Fault) {
	b.t.Helper()
	if err := b.Script(m, f); err != nil {
		b.t.Fatal(err)
	}
}

func TestScript_Answers(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_800_000_000_789)
	for name, tc := range map[string]struct {
		fault  apns.Fault
		want   reply // Header is compared by the names in it only
		header string
		stored bool
	}{
		"503 with Retry-After": {
			fault:  apns.Fault{Reason: apns.ServiceUnavailable, Header: map[string]string{"Retry-After": "7"}},
			want:   reply{Status: 503, Body: `{"reason":"ServiceUnavailable"}`, Reason: apns.ServiceUnavailable},
			header: "7",
		},
		"503 of a proxy": {
			fault: apns.Fault{Status: 503, Body: []byte("<html>busy</html>")},
			want:  reply{Status: 503, Body: "<html>busy</html>"},
		},
		"503 although stored": {
			fault:  apns.Fault{Reason: apns.ServiceUnavailable, Store: true},
			want:   reply{Status: 503, Body: `{"reason":"ServiceUnavailable"}`, Reason: apns.ServiceUnavailable},
			stored: true,
		},
		"403": {
			fault: apns.Fault{Reason: apns.InvalidProviderToken},
			want:  reply{Status: 403, Body: `{"reason":"InvalidProviderToken"}`, Reason: apns.InvalidProviderToken},
		},
		"410 with its time": {
			fault: apns.Fault{Reason: apns.Unregistered, Timestamp: at},
			want: reply{
				Status: 410, Body: `{"reason":"Unregistered","timestamp":1800000000789}`,
				Reason: apns.Unregistered, Timestamp: at.UnixMilli(),
			},
		},
		"500 with a reason of our own": {
			fault: apns.Fault{Status: 500, Reason: "SomethingNew"},
			want:  reply{Status: 500, Body: `{"reason":"SomethingNew"}`, Reason: "SomethingNew"},
		},
		"nothing changed": {want: reply{Status: 200}, stored: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, apns.Config{})
			b.fault(apns.Match{}, tc.fault)
			s := b.sender()
			got := s.send(b.good())
			if h := got.Header.Get("Retry-After"); h != tc.header {
				t.Errorf("Retry-After = %q, want %q", h, tc.header)
			}
			got.Header = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if shown := len(b.phone.Shown(bundle)) == 1; shown != tc.stored {
				t.Errorf("shown = %v, want %v", shown, tc.stored)
			}
			if rec := b.Requests()[0]; rec.Stored != tc.stored || !rec.Scripted || rec.Status != tc.want.Status {
				t.Errorf("record = %+v", rec)
			}
			s.want(b.good(), 200, "") // the fault was for one request
		})
	}
}

func TestScript_PicksByTokenEnvAndCount(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	other := strings.Repeat("ab", 32)
	b.add(apns.Registration{Token: other, Topic: bundle, Env: apns.Sandbox})
	b.fault(apns.Match{Token: strings.ToUpper(token), Nth: 2, Times: 2}, apns.Fault{Reason: apns.ServiceUnavailable})
	b.fault(apns.Match{Token: other, Nth: 3, Times: -1}, apns.Fault{Reason: apns.InternalServerError})
	b.fault(apns.Match{Env: apns.Production}, apns.Fault{Reason: apns.Shutdown})
	s := b.sender()
	faulty := b.good()
	faulty.set("apns-priority", "7")
	send := func(token string, want ...int) {
		t.Helper()
		for n, status := range want {
			p := b.good()
			p.path = "/3/device/" + token
			if got := s.send(p); got.Status != status {
				t.Errorf("push %d to %s… = %d, want %d", n+1, token[:4], got.Status, status)
			}
			s.want(faulty, 400, apns.BadPriority) // not counted
		}
	}
	send(token, 200, 503, 503, 200)
	send(other, 200, 200, 500, 500, 500)
	b.ClearScript()
	send(other, 200)
}

func TestScript_LostAnswers(t *testing.T) {
	t.Parallel()
	for _, answer := range []apns.Answer{apns.Closed, apns.Reset, apns.NoReply, apns.BlackHoled} {
		for _, stored := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s stored %v", answer, stored), func(t *testing.T) {
				t.Parallel()
				b := start(t, apns.Config{})
				b.fault(apns.Match{}, apns.Fault{Answer: answer, Store: stored})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				lost := make(chan error, 1)
				s := b.sender()
				p := b.good()
				go func() {
					_, err := s.try(ctx, p)
					lost <- err
				}()
				recs, err := b.Wait(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
				if answer == apns.NoReply || answer == apns.BlackHoled {
					cancel()
				}
				if err := <-lost; err == nil {
					t.Error("the sender got an answer")
				}
				if recs[0].Answer != answer || recs[0].Stored != stored || len(b.phone.Shown(bundle)) == 1 != stored {
					t.Errorf("record = %s stored %v, shown %d", recs[0].Answer, recs[0].Stored, len(b.phone.Shown(bundle)))
				}
				// The sender tries again under the same identity, elsewhere.
				b.sender().want(b.good(), 200, "")
				want := []device.Kind{device.Rang}
				if stored {
					want = append(want, device.Replaced)
				}
				var got []device.Kind
				for _, e := range b.phone.History().All() {
					if e.Kind == device.Rang || e.Kind == device.Replaced {
						got = append(got, e.Kind)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestScript_BlackHoleAnswersNoPings(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	h := b.Hold(apns.Match{})
	b.fault(apns.Match{Nth: 2}, apns.Fault{Answer: apns.BlackHoled})
	w := b.dial()
	p := b.good()
	w.want(oneStream)
	w.headers(1, p, false)
	w.must(w.framer.WriteData(1, true, []byte(p.body)))
	w.want(manyStreams)
	if _, err := h.Reached(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.headers(3, p, false)
	w.must(w.framer.WriteData(3, true, []byte(p.body)))
	if _, err := b.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	h.Release() // what else was under way falls silent as well
	w.headers(5, p, false)
	w.must(w.framer.WriteData(5, true, []byte(p.body)))
	w.must(w.framer.WritePing(false, [8]byte{}))
	w.must(w.nc.SetReadDeadline(time.Now().Add(300 * time.Millisecond)))
	f, err := w.framer.ReadFrame()
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("read %v, %v; want silence", f, err)
	}
	if n := len(b.Requests()); n != 2 {
		t.Errorf("%d requests were judged, want none after the black hole", n)
	}
}

func TestScript_DelayPassesBetweenStoreAndAnswer(t *testing.T) {
	t.Parallel()
	asked, release := make(chan time.Duration, 1), make(chan struct{})
	b := start(t, apns.Config{Sleep: func(ctx context.Context, d time.Duration) {
		asked <- d
		select {
		case <-release:
		case <-ctx.Done():
		}
	}})
	b.fault(apns.Match{}, apns.Fault{Delay: 9 * time.Second})
	done := make(chan reply, 1)
	s, p := b.sender(), b.good()
	go func() {
		got, err := s.try(t.Context(), p)
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	if d := <-asked; d != 9*time.Second {
		t.Errorf("delay = %v", d)
	}
	if len(b.phone.Shown(bundle)) != 1 || len(done) != 0 {
		t.Errorf("shown %d, answered %d; want the alert shown and no answer yet", len(b.phone.Shown(bundle)), len(done))
	}
	close(release)
	if got := <-done; got.Status != 200 {
		t.Errorf("status = %d", got.Status)
	}
}

func TestHold_StopsBetweenAcceptAndAnswer(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	s := b.sender()
	s.want(b.good(), 200, "")
	h := b.Hold(apns.Match{Token: token, Times: -1})
	var wg sync.WaitGroup
	answers := make(chan int, 2)
	for _, id := range []string{"a", "b"} {
		p := b.good()
		p.set("apns-collapse-id", id)
		wg.Go(func() {
			got, err := s.try(t.Context(), p)
			if err != nil {
				t.Error(err)
			}
			answers <- got.Status
		})
	}
	seen := map[string]bool{}
	for range 2 {
		rec, err := h.Reached(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen[rec.CollapseID] = true
	}
	if !seen["a"] || !seen["b"] || len(answers) != 0 || len(b.phone.Shown(bundle)) != 3 || len(b.Requests()) != 3 {
		t.Errorf("held %v, answered %d, shown %d, recorded %d", seen, len(answers), len(b.phone.Shown(bundle)), len(b.Requests()))
	}
	h.Release()
	h.Release()
	wg.Wait()
	if one, two := <-answers, <-answers; one != 200 || two != 200 {
		t.Errorf("answers = %d, %d", one, two)
	}
}

func TestHold_EndsWithTheServer(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	h := b.Hold(apns.Match{})
	s, p := b.sender(), b.good()
	lost := make(chan error, 1)
	go func() {
		_, err := s.try(t.Context(), p)
		lost <- err
	}()
	if _, err := h.Reached(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if err := <-lost; err == nil {
		t.Error("the sender got an answer")
	}
}

func TestScript_RefusesContradictions(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	for name, f := range map[string]apns.Fault{
		"status":      {Status: 99},
		"answer":      {Answer: "maybe"},
		"body length": {Status: 503, Body: make([]byte, 20<<10)},
		"then":        {Then: "dances"},
		"unseen":      {Answer: apns.Unseen},
		"lie":         {Answer: apns.Refused, Store: true},
	} {
		if err := b.Script(apns.Match{}, f); !errors.Is(err, apns.ErrBadFault) {
			t.Errorf("%s: error = %v, want ErrBadFault", name, err)
		}
	}
}

func TestLog_OneLineARequest(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := start(t, apns.Config{Log: &out})
	s := b.sender()
	p := b.good()
	s.want(p, 200, "")
	broken := b.good()
	broken.body = "\xff<not json>"
	s.want(broken, 400, apns.EmulatorStrict)
	b.Close()

	var got []apns.Record
	for line := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\n"), "\n") {
		var rec apns.Record
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		got = append(got, rec)
	}
	now := time.Unix(startUnix, 0).UTC()
	want := apns.Record{
		Time: now, Env: apns.Sandbox, Conn: 1, Stream: 1, Method: "POST", Path: "/3/device/" + token, Token: token,
		Topic: bundle, PushType: "alert", Priority: "10", Expiration: "1800003600", CollapseID: "decision-1",
		ID: p.header["apns-id"][0], KeyID: keyID, IssuedAt: &now,
		Bytes: len(p.body), Payload: json.RawMessage(p.body), Status: 200, Answer: apns.Replied, Stored: true,
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Error(diff)
	}
	if len(got) != 2 || string(got[1].Raw) != broken.body || got[1].Payload != nil || got[1].Bytes != len(broken.body) {
		t.Errorf("records = %+v", got)
	}
}
