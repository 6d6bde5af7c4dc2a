package outage_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/beckon-dev/beckon/push"
	google "github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/server/app"
)

// B31: what Google does not answer is given up in time and made again later, by
// one attempt each.
func TestOutage_B31_NoAnswerIsGivenUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, false)
		p.answering()
		p.silent(push.LaneFCM)
		d := p.ask()
		time.Sleep(10*time.Second + 10*time.Millisecond)
		row := p.rows(push.LaneFCM)[d.ID]
		if row.State != push.Retry || row.Attempt != 1 || !row.MaybeSent || time.Until(row.DueAt) > 5*time.Second {
			t.Errorf("the row is %s after %d attempts, due in %v", row.State, row.Attempt, time.Until(row.DueAt))
		}
		if n := p.took[push.LaneFCM].requests(); n != 1 {
			t.Errorf("%d requests in one attempt", n)
		}
		p.stopLane()
	})
}

// B9: Google says unavailable for what it delivered. Each attempt is one request,
// and both are the same to the phone.
func TestOutage_B9_UnavailableAfterDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, false)
		check(t, p.google.Script(google.Match{}, google.Fault{Code: google.Unavailable, Store: true}))
		d := p.ask()
		time.Sleep(9 * time.Second)
		if n := p.took[push.LaneFCM].requests(); n != 1 {
			t.Errorf("%d requests before the ten seconds that Google asks for", n)
		}
		time.Sleep(10 * time.Second)
		row, got := p.rows(push.LaneFCM)[d.ID], p.took[push.LaneFCM].of(d.ID)
		if row.State != push.Accepted || row.Attempt != 2 || p.took[push.LaneFCM].requests() != 2 || len(got.identities) != 1 {
			t.Errorf("the row is %s after %d attempts, %d requests, delivered as %+v", row.State, row.Attempt, p.took[push.LaneFCM].requests(), got)
		}
		p.stopLane()
	})
}

// B14: another person logs in on the phone between claim and send. The push of
// the one before is not sent there.
func TestOutage_B14_AnotherPersonOnTheSamePhone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, false)
		next := p.person()
		p.queues[push.LaneAPNs].onceClaimed(func() {
			_, err := p.app.PutAddress(t.Context(), next, app.PutAddress{Kind: push.KindAPNs, Env: push.EnvSandbox, Topic: topic, Token: deviceToken()})
			check(t, err)
		})
		d := p.ask()
		time.Sleep(time.Minute)
		row := p.rows(push.LaneAPNs)[d.ID]
		if row.State != push.DeadAddress || row.Reason != outbox.ReasonMoved {
			t.Errorf("the row is %s (%s)", row.State, row.Reason)
		}
		if n := p.took[push.LaneAPNs].requests(); n != 0 {
			t.Errorf("%d pushes reached the phone of another person", n)
		}
		if got := p.took[push.LaneFCM].of(d.ID); got.n != 1 {
			t.Errorf("the other phone got %+v", got)
		}
		p.stopLane()
	})
}

// B36: a phone that dozes gets a question at once; taking it back may wait.
func TestOutage_B36_AQuestionWakesAPhoneThatDozes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, false)
		p.answering()
		p.pixel.SetDoze(true)
		d := p.ask()
		time.Sleep(2 * time.Second)
		if got := p.took[push.LaneFCM].of(d.ID); got.n != 1 || len(p.pixel.Stored(topic)) != 0 {
			t.Errorf("delivered as %+v, and %d wait for the phone to wake", got, len(p.pixel.Stored(topic)))
		}
		p.withdraw(d.ID)
		time.Sleep(2 * time.Second)
		if n := len(p.pixel.Stored(topic)); n != 1 {
			t.Errorf("%d wait for the phone to wake, want what takes the question back", n)
		}
		p.pixel.SetDoze(false)
		time.Sleep(2 * time.Second)
		if n := len(p.pixel.Stored(topic)); n != 0 {
			t.Errorf("%d still wait", n)
		}
		p.stopLane()
	})
}
