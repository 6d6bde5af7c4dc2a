package scenario_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/store"
)

// number reads an environment variable that may be unset.
func number(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(name, err)
	}
	return n
}

// B28: pushes that wait in memory are lost when their server ends. Here the
// server kills itself between commit and send, again and again, with other
// questions of the same moment anywhere on their way: each of them rings, once.
// BECKON_SCENARIO_KILLS is how often, BECKON_SCENARIO_SEED chooses the moments.
func TestKilled_B28_BetweenCommitAndSendAgainAndAgain(t *testing.T) {
	t.Parallel()
	kills := number(t, "BECKON_SCENARIO_KILLS", 10)
	seed := number(t, "BECKON_SCENARIO_SEED", uint64(time.Now().UnixNano()))
	fmt.Printf("BECKON_SCENARIO_SEED=%d BECKON_SCENARIO_KILLS=%d\n", seed, kills)
	rnd := rand.New(rand.NewPCG(seed, 28))
	const limits = "BECKON_LIMITS=bench" // more questions than a person gets
	h := newHouse(t, limits)
	asked, unsent := 0, 0
	for range kills {
		h.server.Stop()
		questions := 1 + rnd.IntN(6)
		h.server.Start(limits, fmt.Sprintf("BECKON_FAILPOINT=decision.committed:%d", 1+rnd.IntN(questions)))
		w := h.started("Vet the packages")
		ids := make([]string, questions)
		var all sync.WaitGroup
		for i := range questions {
			all.Go(func() {
				req := writeReport(fmt.Sprintf("write %d", i))
				req.Items[0].Action.ArgsJson = fmt.Appendf(nil, `{"path":"report %d.md"}`, i) // the same action would be the same question
				d, err := w.Ask(h.ctx(), req)
				if err != nil {
					t.Errorf("question %d: %v", asked+i, err)
				}
				ids[i] = d.GetId()
			})
		}
		h.dead(func(r *store.Read) {
			here := rows(r)
			now := here[push.Pending] + here[push.Leased]
			if now == 0 {
				t.Errorf("the server died after the send: rows %v", here)
			}
			unsent += now
		})
		h.server.Restart(limits)
		all.Wait()
		asked += questions
		h.exactly(asked)
		// It sleeps, so that it is nobody's to lose.
		_, err := w.Yield(h.ctx(), &v1.WaitSet{DecisionIds: ids}, nil)
		h.check(err)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d questions, of which %d were committed and not known as sent when the server died", asked, unsent)
}
