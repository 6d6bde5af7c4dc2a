package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

// Answers is one way to answer.
type Answers struct {
	// Waiting workers, each blocked in a call of its own; as many tasks sleep.
	Waiting int
	// Rate is answers a second; 0 answers as fast as AtOnce people can.
	Rate, AtOnce int
	// Samples is how many answers at least.
	Samples int
}

// name is what the table says.
func (a Answers) name() string {
	how := fmt.Sprintf("at %d/s", a.Rate)
	switch {
	case a.Rate == 0 && a.AtOnce == 1:
		how = "one after the other"
	case a.Rate == 0:
		how = fmt.Sprintf("%d at once", a.AtOnce)
	}
	return fmt.Sprintf("answer to claimed, %d waiting, %s", a.Waiting, how)
}

// AnswerToClaim measures from sending AnswerDecision to the answer of the
// ClaimTask that brings the task to a waiting worker, all over HTTP. All
// workers are of one agent and stand in one line; each task is in an account
// of its own. A worker that got a task goes back to waiting.
func AnswerToClaim(ctx context.Context, folder string, a Answers) (Result, error) {
	rig, err := openRig(ctx, folder, nil, 0)
	if err != nil {
		return Result{}, err
	}
	defer rig.close()
	p, err := rig.settle(ctx, a.Waiting, false)
	if err != nil {
		return Result{}, err
	}
	if err := p.begin(ctx, "work"); err != nil {
		return Result{}, err
	}
	rig.run(ctx)
	w := newWaiting(p, a)
	defer w.end()
	w.start(ctx)
	return w.measureAll(ctx)
}

// waiting is workers, and what they were given.
type waiting struct {
	*place
	Answers

	line, handed *wire
	phones       []services

	stop    context.CancelFunc
	running sync.WaitGroup
	claims  chan claimed
}

// claimed is one answer of ClaimTask.
type claimed struct {
	at    time.Time
	claim *v1.Claim
	err   error
}

func newWaiting(p *place, a Answers) *waiting {
	w := &waiting{
		place: p, Answers: a,
		line: openWire(p.server.URL(), a.Waiting), handed: openWire(p.server.URL(), max(a.AtOnce, perConnection)),
		claims: make(chan claimed, 2*a.Waiting),
	}
	for i, who := range p.people {
		w.phones = append(w.phones, w.handed.services(i, who.access))
	}
	return w
}

func (w *waiting) start(ctx context.Context) {
	ctx, w.stop = context.WithCancel(ctx)
	for i := range w.Waiting {
		agent := w.line.services(i, w.secret)
		w.running.Go(func() { w.work(ctx, i, agent) })
	}
}

func (w *waiting) end() {
	w.stop()
	w.running.Wait()
	w.line.close()
	w.handed.close()
}

// longestWait is what a worker asks for.
const longestWait = 60 * time.Second

// work claims for ever.
func (w *waiting) work(ctx context.Context, i int, agent services) {
	for n := 0; ctx.Err() == nil; n++ {
		got, err := agent.ClaimTask(ctx, &v1.ClaimTaskRequest{
			Claim: &v1.ClaimOptions{ClaimId: fmt.Sprintf("worker %d %d", i, n), LeaseDuration: durationpb.New(longLease)},
			Wait:  durationpb.New(longestWait),
		})
		at := time.Now()
		if ctx.Err() != nil {
			return
		}
		if err != nil || got.GetClaim() != nil {
			w.claims <- claimed{at: at, claim: got.GetClaim(), err: err}
		}
		if err != nil {
			return
		}
	}
}

// asked is a question that waits for its answer.
type asked struct {
	decision decision.State
	request  *v1.AnswerDecisionRequest
	sent     time.Time
}

// measureAll goes through rounds of one answer to every sleeping task until
// there are enough.
func (w *waiting) measureAll(ctx context.Context) (Result, error) {
	var took []time.Duration
	var rounds []Result
	for round := 0; len(took) < w.Samples; round++ {
		questions, err := w.prepare(ctx, round)
		if err != nil {
			return Result{}, err
		}
		if err := w.quiet(ctx, w.Waiting); err != nil {
			return Result{}, err
		}
		span := w.measure(ctx)
		more, err := w.answerAll(ctx, questions)
		rounds = append(rounds, span.end(w.name(), len(more)))
		if err != nil {
			return Result{}, err
		}
		took = append(took, more...)
	}
	r := Median(rounds)
	r.P50, r.P99 = Percentile(took, 0.5), Percentile(took, 0.99)
	return r, nil
}

// prepare asks a question in every task, signs its answer, and lets the task
// sleep.
func (w *waiting) prepare(ctx context.Context, round int) ([]*asked, error) {
	questions := make([]*asked, len(w.people))
	return questions, each(len(questions), crowd, func(i int) error {
		who := w.people[i]
		d, err := w.ask(ctx, who, fmt.Sprintf("q%d", round))
		if err != nil {
			return err
		}
		questions[i] = &asked{decision: d}
		if questions[i].request, err = w.sign(who, d); err != nil {
			return err
		}
		var acks []uint64
		if round > 0 {
			acks = []uint64{uint64(round)} // each answer was one signal
		}
		return w.sleep(ctx, who, d.ID, acks)
	})
}

// sign makes the answer of a person who allows it.
func (w *waiting) sign(who *person, d decision.State) (*v1.AnswerDecisionRequest, error) {
	view, err := proof.ViewDigest(d.ID, uint64(d.Revision), nil)
	if err != nil {
		return nil, err
	}
	option := ""
	for _, o := range d.Items[0].Options {
		if o.Kind == decision.AllowOnce {
			option = o.ID
		}
	}
	digest, err := proof.AnswerDigest([]proof.AnswerItem{{ItemID: d.Items[0].ID, OptionIDs: []string{option}}})
	if err != nil {
		return nil, err
	}
	signature, err := proof.SignAnswer(who.key, proof.AnswerTuple{
		ServerID: w.app.ServerID(), Account: who.account, Installation: who.device.Installation,
		Decision: d.ID, Revision: uint64(d.Revision), Asked: proof.Digest(d.Asked), View: view, Answer: digest, AnswerKey: d.ID,
	})
	return &v1.AnswerDecisionRequest{
		DecisionId: d.ID, Revision: d.Revision, AskedDigest: d.Asked[:], ViewDigest: view[:], AnswerKey: d.ID,
		Items: []*v1.AnswerItem{{ItemId: d.Items[0].ID, OptionIds: []string{option}}},
		Proof: signature, Surface: v1.Surface_SURFACE_APP,
	}, err
}

// answerAll answers every question and takes every claim: one for each task,
// with the signal that says why.
func (w *waiting) answerAll(ctx context.Context, questions []*asked) ([]time.Duration, error) {
	byTask := make(map[string]int, len(questions))
	for i, q := range questions {
		byTask[q.decision.Task] = i
	}
	answered := make(chan error, 1)
	go func() { answered <- w.send(ctx, questions) }()
	claims := make([]claimed, 0, len(questions))
	// When send has ended, what it noted may be read.
	for sent := false; !sent || len(claims) < len(questions); {
		select {
		case c := <-w.claims:
			claims = append(claims, c)
		case err := <-answered:
			if err != nil {
				return nil, err
			}
			sent = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	took := make([]time.Duration, 0, len(claims))
	for _, c := range claims {
		if c.err != nil {
			return nil, c.err
		}
		i, open := byTask[c.claim.GetTask().GetId()]
		if !open {
			return nil, errors.New("a task was claimed twice, or never asked")
		}
		delete(byTask, c.claim.GetTask().GetId())
		signals := c.claim.GetSignals()
		if len(signals) != 1 || signals[0].GetDecision().GetId() != questions[i].decision.ID {
			return nil, fmt.Errorf("claimed with %d signals, want that of the answer", len(signals))
		}
		w.people[i].work = app.Held{Task: c.claim.GetTask().GetId(), Lease: c.claim.GetLeaseId()}
		took = append(took, c.at.Sub(questions[i].sent))
	}
	return took, nil
}

// send answers at the rate, or as fast as so many people can.
func (w *waiting) send(ctx context.Context, questions []*asked) error {
	answer := func(i int) error {
		q := questions[i]
		q.sent = time.Now()
		got, err := w.phones[i].AnswerDecision(ctx, q.request)
		if err == nil && got.GetOutcome() != v1.AnswerOutcome_ANSWER_OUTCOME_APPLIED {
			err = fmt.Errorf("an answer met %v", got.GetOutcome())
		}
		return err
	}
	if w.Rate == 0 {
		return each(len(questions), w.AtOnce, answer)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	err := paced(ctx, len(questions), w.Rate, func(i int) {
		all.Go(func() {
			if err := answer(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			}
		})
	})
	all.Wait()
	return errors.Join(err, failed)
}
