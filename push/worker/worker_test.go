package worker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/worker"
)

// run starts a worker in the bubble and returns it with what stops it and waits.
func run(t *testing.T, q worker.Queue, p push.Provider, change ...func(*worker.Config)) (*worker.Worker, func()) {
	t.Helper()
	c := worker.Config{Lane: "apns", Queue: q, Provider: p}
	for _, f := range change {
		f(&c)
	}
	w, err := worker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	return w, func() { cancel(); running.Wait() }
}

// pass lets fake time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func wantStates(t *testing.T, q *fakeQueue, want map[push.State]int) {
	t.Helper()
	if diff := cmp.Diff(want, q.states()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestRun_SendsEveryRowOnceInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := newQueue(1000), takes(50*time.Millisecond)
		_, stop := run(t, q, p)
		pass(2 * time.Second)
		stop()
		wantStates(t, q, map[push.State]int{push.Accepted: 1000})
		if p.count() != 1000 || p.most != 50 {
			t.Errorf("%d sends, %d at once", p.count(), p.most)
		}
		if len(q.finishes) > 250 || len(q.claims) > 250 {
			t.Errorf("%d claims and %d finishes for 1,000 rows", len(q.claims), len(q.finishes))
		}
		for _, n := range append(q.claims, q.finishes...) {
			if n > 50 {
				t.Errorf("a batch of %d with 50 senders", n)
			}
		}
	})
}

func TestRun_ABatchNeverExceedsItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(100)
		_, stop := run(t, q, always(push.OK), func(c *worker.Config) { c.Batch = 7 })
		pass(time.Second)
		stop()
		wantStates(t, q, map[push.State]int{push.Accepted: 100})
		for _, n := range append(q.claims, q.finishes...) {
			if n > 7 {
				t.Errorf("a batch of %d", n)
			}
		}
	})
}

func TestRun_AnIdleLaneStoresAVerdictAtOnceAndSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := newQueue(0), takes(50*time.Millisecond)
		w, stop := run(t, q, p)
		defer stop()
		pass(time.Second)
		before := len(q.claims)
		q.add(1)
		w.Wake()
		pass(50 * time.Millisecond)
		wantStates(t, q, map[push.State]int{push.Accepted: 1})
		pass(29 * time.Second)
		if n := len(q.claims) - before; n > 3 {
			t.Errorf("%d claims for one row", n)
		}
	})
}

func TestRun_ALostWakeCostsTimeNotTheRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(0)
		_, stop := run(t, q, always(push.OK))
		defer stop()
		pass(time.Second)
		q.add(1)
		pass(30 * time.Second)
		wantStates(t, q, map[push.State]int{push.Accepted: 1})
	})
}

func TestRun_RetryAfterIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		p := &fakeProvider{answer: func(_ context.Context, n int, _ push.Message) push.Verdict {
			if n == 1 {
				return push.Verdict{Class: push.Backoff, Reason: "ServiceUnavailable", RetryAfter: 90 * time.Second}
			}
			return push.Verdict{Class: push.OK}
		}}
		_, stop := run(t, q, p)
		defer stop()
		pass(89 * time.Second)
		if p.count() != 1 {
			t.Errorf("%d sends before the vendor's minimum", p.count())
		}
		pass(5 * time.Second)
		wantStates(t, q, map[push.State]int{push.Accepted: 1})
		if d := q.row(0); d.Attempt != 2 {
			t.Errorf("%d attempts", d.Attempt)
		}
	})
}

func TestRun_ReadsAgainRightBeforeTheSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(3)
		p := &fakeProvider{answer: func(context.Context, int, push.Message) push.Verdict {
			// Handled while the first is on its way; the others are claimed already.
			q.set(func(q *fakeQueue) { q.handled["dlv_0001"], q.handled["dlv_0002"] = true, true })
			return push.Verdict{Class: push.OK}
		}}
		_, stop := run(t, q, p, func(c *worker.Config) { c.Senders = 1 })
		pass(time.Second)
		stop()
		wantStates(t, q, map[push.State]int{push.Accepted: 1, push.Superseded: 2})
		if p.count() != 1 {
			t.Errorf("%d sends", p.count())
		}
	})
}

func TestRun_RefusedCredentialsPauseTheLaneAndCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(200)
		broken := true
		var mu sync.Mutex
		p := &fakeProvider{answer: func(context.Context, int, push.Message) push.Verdict {
			mu.Lock()
			defer mu.Unlock()
			if broken {
				return push.Verdict{Class: push.Cred, Reason: "InvalidProviderToken"}
			}
			return push.Verdict{Class: push.OK}
		}}
		w, stop := run(t, q, p)
		defer stop()
		pass(time.Second)
		first := p.count()
		if first > 50 || w.Circuit().Closed() {
			t.Errorf("%d sends before the lane paused: %+v", first, w.Circuit())
		}
		pass(10 * time.Minute)
		if probes := p.count() - first; probes < 2 || probes > 10 {
			t.Errorf("%d probes in 10 minutes", probes)
		}
		wantStates(t, q, map[push.State]int{push.Pending: 200})
		for i := range 200 {
			if d := q.row(i); d.Attempt != 0 {
				t.Fatalf("row %d lost %d attempts", i, d.Attempt)
			}
		}
		if q.address.State != "" {
			t.Errorf("the address was judged: %q", q.address.State)
		}
		mu.Lock()
		broken = false
		mu.Unlock()
		pass(6 * time.Minute)
		wantStates(t, q, map[push.State]int{push.Accepted: 200})
		if !w.Circuit().Closed() {
			t.Error("the lane is still paused")
		}
	})
}

func TestRun_TheOtherEnvironmentIsTriedOnceAndRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2)
		p := &fakeProvider{answer: func(_ context.Context, _ int, m push.Message) push.Verdict {
			if m.Address.Env == push.EnvProduction {
				return push.Verdict{Class: push.OK}
			}
			return push.Verdict{Class: push.Suspect, Reason: "BadDeviceToken"}
		}}
		_, stop := run(t, q, p, func(c *worker.Config) { c.Senders = 1 })
		pass(time.Second)
		stop()
		wantStates(t, q, map[push.State]int{push.Accepted: 2})
		if q.address.Env != push.EnvProduction {
			t.Errorf("the answer was not stored: %q", q.address.Env)
		}
		if p.count() > 4 {
			t.Errorf("%d sends", p.count())
		}
	})
}

func TestRun_AVendorThatNeverAnswersHoldsAttemptsToTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := newQueue(500), takes(time.Hour)
		_, stop := run(t, q, p)
		start := time.Now()
		pass(10*time.Second - time.Millisecond)
		if p.count() != 50 {
			t.Errorf("%d sends in the first ten seconds, want the 50 senders", p.count())
		}
		pass(5 * time.Second)
		if p.count() != 100 || p.most != 50 {
			t.Errorf("%d sends, %d at once", p.count(), p.most)
		}
		if d := q.row(0); !d.MaybeSent || d.State != push.Retry {
			t.Errorf("%+v", d)
		}
		stop()
		if took := time.Since(start); took > 26*time.Second {
			t.Errorf("drained after %v", took)
		}
		if q.states()[push.Leased] != 0 {
			t.Errorf("%d rows left leased", q.states()[push.Leased])
		}
	})
}

func TestRun_AStopFinishesSendsAndGivesTheRestBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := newQueue(10), takes(5*time.Second)
		var stopped func()
		claimed := make(chan struct{})
		_, stopped = run(t, q, p, func(c *worker.Config) {
			c.Senders = 4
			c.Hooks.Claimed = func() {
				select {
				case <-claimed:
				default:
					close(claimed)
				}
			}
		})
		<-claimed
		pass(time.Second)
		stopped()
		wantStates(t, q, map[push.State]int{push.Accepted: 4, push.Pending: 6})
		for i := range 10 {
			if d := q.row(i); d.State == push.Pending && d.Attempt != 0 {
				t.Errorf("an unsent row lost an attempt: %+v", d)
			}
		}
	})
}

func TestRun_AStoreThatFailsIsTriedAgainWithoutSendingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := newQueue(20), always(push.OK)
		q.finishErr = errors.New("disk full")
		_, stop := run(t, q, p)
		defer stop()
		pass(10 * time.Second)
		if p.count() != 20 {
			t.Fatalf("%d sends", p.count())
		}
		q.set(func(q *fakeQueue) { q.finishErr = nil })
		pass(time.Second)
		wantStates(t, q, map[push.State]int{push.Accepted: 20})
		if p.count() != 20 {
			t.Errorf("%d sends for 20 rows", p.count())
		}
	})
}

func TestRun_VerdictsLostWithTheStoreAreResentUnderTheSameIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := newQueue(1), always(push.OK)
		q.finishErr = errors.New("disk full")
		_, stop := run(t, q, p)
		defer stop()
		pass(61 * time.Second)
		q.set(func(q *fakeQueue) { q.finishErr = nil })
		pass(61 * time.Second)
		wantStates(t, q, map[push.State]int{push.Accepted: 1})
		sent := p.messages()
		if len(sent) != 2 || sent[0].ProviderID != sent[1].ProviderID || sent[0].CollapseID != sent[1].CollapseID {
			t.Errorf("%+v", sent)
		}
	})
}

func TestRun_AStopDoesNotWaitForAStoreThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(5)
		q.finishErr = errors.New("closed")
		_, stop := run(t, q, always(push.OK))
		pass(time.Second)
		start := time.Now()
		stop()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("stopped after %v", took)
		}
	})
}

func TestRun_FailingReadsGiveRowsBackUncounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := newQueue(3), always(push.OK)
		q.freshErr = errors.New("store busy")
		_, stop := run(t, q, p)
		defer stop()
		pass(5 * time.Second)
		if p.count() != 0 || q.row(0).Attempt != 0 {
			t.Errorf("%d sends, %+v", p.count(), q.row(0))
		}
		if n := len(q.claims); n > 30 {
			t.Errorf("%d claims in five seconds of failing reads", n)
		}
		q.set(func(q *fakeQueue) { q.freshErr = nil })
		pass(2 * time.Second)
		wantStates(t, q, map[push.State]int{push.Accepted: 3})
	})
}

func TestRun_FailingClaimsDoNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := newQueue(3), always(push.OK)
		q.claimErr = errors.New("closed")
		_, stop := run(t, q, p)
		defer stop()
		pass(10 * time.Second)
		q.set(func(q *fakeQueue) { q.claimErr = nil })
		pass(time.Second)
		wantStates(t, q, map[push.State]int{push.Accepted: 3})
	})
}

// A lapsed lease of a worker that died is found without any wake.
func TestRun_TakesOverRowsOfADeadWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := newQueue(2), always(push.OK)
		if _, err := q.Claim(t.Context(), "apns", 2, time.Minute); err != nil {
			t.Fatal(err)
		}
		_, stop := run(t, q, p)
		defer stop()
		pass(59 * time.Second)
		if p.count() != 0 {
			t.Errorf("%d sends under another's lease", p.count())
		}
		pass(2 * time.Second)
		wantStates(t, q, map[push.State]int{push.Accepted: 2})
	})
}

func TestRun_HooksStandBetweenTheLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := newQueue(1), always(push.OK)
		var trace []string
		_, stop := run(t, q, p, func(c *worker.Config) {
			c.Hooks.Claimed = func() { trace = append(trace, "claimed "+string(q.row(0).State)) }
			c.Hooks.Accepted = func() { trace = append(trace, "accepted "+string(q.row(0).State)) }
		})
		pass(time.Second)
		stop()
		if diff := cmp.Diff([]string{"claimed leased", "accepted leased"}, trace); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestRun_ASlowDownPausesEverybodyAtLeastAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(100)
		p := &fakeProvider{answer: func(_ context.Context, n int, _ push.Message) push.Verdict {
			if n == 1 {
				return push.Verdict{Class: push.SlowAll, Reason: "TooManyProviderTokenUpdates"}
			}
			return push.Verdict{Class: push.OK}
		}}
		_, stop := run(t, q, p, func(c *worker.Config) { c.Senders = 1 })
		defer stop()
		pass(59 * time.Second)
		if p.count() != 1 {
			t.Errorf("%d sends within the minute", p.count())
		}
		pass(2 * time.Minute)
		wantStates(t, q, map[push.State]int{push.Accepted: 100})
		if gap := p.at(1).Sub(p.at(0)); gap < time.Minute {
			t.Errorf("paused for %v", gap)
		}
	})
}

// Between claim and send anything may have happened.
func TestRun_ARowClaimedTooLateIsGivenBackUnsent(t *testing.T) {
	tests := map[string]struct {
		class  push.Class
		stop   bool
		reason string
	}{
		"lane paused meanwhile":  {push.Cred, false, worker.ReleasedPaused},
		"told to stop meanwhile": {push.OK, true, worker.ReleasedStopping},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(1)
				p := &fakeProvider{answer: func(context.Context, int, push.Message) push.Verdict {
					<-time.After(500 * time.Millisecond)
					return push.Verdict{Class: tt.class, Reason: "Said"}
				}}
				w, stop := run(t, q, p)
				pass(time.Millisecond)
				q.set(func(q *fakeQueue) { q.claimTakes = time.Second })
				q.add(1)
				w.Wake()
				pass(10 * time.Millisecond)
				if tt.stop {
					stop()
				} else {
					pass(1100 * time.Millisecond)
					defer stop()
				}
				if p.count() != 1 {
					t.Errorf("%d sends", p.count())
				}
				if d := q.row(1); d.State != push.Pending || d.Attempt != 0 || d.Reason != tt.reason {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

func TestRun_ALeaseThatIsTooShortIsNotSentUnder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := newQueue(1), always(push.OK)
		q.leaseFor = 15 * time.Second
		_, stop := run(t, q, p)
		defer stop()
		pass(10 * time.Second)
		if d := q.row(0); p.count() != 0 || d.Reason != worker.ReleasedLeaseShort {
			t.Errorf("%d sends, %+v", p.count(), d)
		}
		if n := len(q.claims); n > 40 {
			t.Errorf("%d claims in ten seconds", n)
		}
	})
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	good := worker.Config{Lane: "apns", Queue: &fakeQueue{}, Provider: always(push.OK)}
	for name, breakIt := range map[string]func(*worker.Config){
		"no lane":     func(c *worker.Config) { c.Lane = "" },
		"no queue":    func(c *worker.Config) { c.Queue = nil },
		"no provider": func(c *worker.Config) { c.Provider = nil },
		"short lease": func(c *worker.Config) { c.Lease = 39 * time.Second },
	} {
		c := good
		breakIt(&c)
		if _, err := worker.New(c); !errors.Is(err, worker.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
