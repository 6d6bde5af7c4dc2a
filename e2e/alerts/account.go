package alerts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/beckon-dev/beckon/e2e/alerts/oracle"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// account is one person with a desk, an agent and what it works on.
type account struct {
	name  string
	key   string // the routing key
	desk  desk
	agent policy.Principal
	tasks []*job
	// threads are all that ever were, in order.
	threads []string
}

// desk is a device without pushes: it pairs phones, answers and reads.
type desk struct {
	policy.Principal
	key *ecdsa.PrivateKey
}

// job is a task in the agent's hands.
type job struct {
	app.Held
	thread string
	asked  []decision.State // maybe closed meanwhile
}

// leaseFor is how long the agent holds tasks; time passes in shorter pieces.
const leaseFor, piece = 300 * time.Second, 200 * time.Second

func (w *world) newAccount(name string) *account {
	key, err := store.NewAccountKey(rand.Reader)
	w.must(err)
	a := &account{name: name, key: key}
	a.desk.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	public, err := proof.MarshalPublicKey(&a.desk.key.PublicKey)
	w.must(err)
	_, err = w.store.Update(w.ctx, key, func(tx *store.Tx) error {
		id, err := store.NewID(store.KindInstallation, key, tx.Now(), rand.Reader)
		if err != nil {
			return err
		}
		a.desk.Principal = policy.Principal{Kind: policy.Installation, Account: key, Installation: id}
		agent, err := store.NewID(store.KindAgent, key, tx.Now(), rand.Reader)
		if err != nil {
			return err
		}
		a.agent = policy.Principal{Kind: policy.Agent, Agent: agent, Key: "key of " + name}
		return settle(tx, a, public)
	})
	w.must(err)
	return a
}

// settle writes the rows of an account with its desk, whose person is always there,
// and an agent that may do everything.
func settle(tx *store.Tx, a *account, public []byte) error {
	for _, put := range []func() error{
		func() error {
			return tx.PutAccountRow(store.AccountRow{Key: a.key, Claimed: true, CreateTime: tx.Now()})
		},
		func() error { return tx.PutSettings(store.Settings{Level: store.LevelFull}) },
		func() error {
			return tx.PutInstallation(store.Installation{
				ID: a.desk.Installation, Label: "desk", Platform: store.PlatformIOS, Locale: "en", PublicKey: public,
				State: store.InstallationActive, Health: store.PushNone, CreateTime: tx.Now(), FullUntil: tx.Now().AddDate(100, 0, 0),
			})
		},
		func() error {
			return tx.PutAgent(store.Agent{ID: a.agent.Agent, Name: "Builder", CreateTime: tx.Now()})
		},
		func() error {
			return tx.PutKey(store.AgentKey{
				ID: a.agent.Key, Agent: a.agent.Agent, Hash: []byte(a.name), CreateTime: tx.Now(), ExpireTime: tx.Now().AddDate(10, 0, 0),
			})
		},
		func() error {
			return tx.PutLink(store.AgentLink{
				Agent: a.agent.Agent, Name: "Builder", CreateTime: tx.Now(), Ceiling: decision.Irreversible, LockScreen: true,
				Scopes: []store.AgentScope{store.ScopeTaskCreate, store.ScopeTaskWork, store.ScopeDecisionRequest, store.ScopeReadOwn},
			})
		},
	} {
		if err := put(); err != nil {
			return err
		}
	}
	return nil
}

// about is a fact of a task.
func (a *account) about(kind oracle.Kind, j *job) oracle.Fact {
	return oracle.Fact{Kind: kind, Account: a.name, Thread: j.thread, Task: j.Task}
}

// job gives one of the agent's tasks, a new one where it has few; half of those
// continue a thread.
func (w *world) job(a *account, n int) *job {
	if len(a.tasks) > 0 && (len(a.tasks) >= 3 || n%3 != 0) {
		return a.tasks[n%len(a.tasks)]
	}
	into := ""
	if len(a.threads) > 0 && n%2 == 0 {
		into = a.threads[n%len(a.threads)]
	}
	name := w.name("task")
	r, err := w.app.CreateTask(w.ctx, a.agent, app.CreateTask{
		Key: name, Title: name, Thread: into, Claim: &app.ClaimOptions{ID: name, Length: leaseFor},
	})
	w.must(err)
	j := &job{Held: app.Held{Task: r.Task.ID, Lease: r.Task.Lease.ID}, thread: r.Task.Thread}
	a.tasks = append(a.tasks, j)
	if into == "" {
		a.threads = append(a.threads, j.thread)
	}
	return j
}

// ask asks a question that joins no other, with or without a deadline, maybe in
// the place of the last one.
func (w *world) ask(a *account, n int, timeout time.Duration, instead bool) {
	j := w.job(a, n)
	name := w.name("question")
	class := decision.WriteReversible
	c := app.RequestDecision{
		Held: j.Held, Name: name, Kind: decision.ConfirmAction, Title: "May I?", Timeout: timeout, OnExpiry: decision.TellAgent, Calls: decision.Calls{Off: true},
		Items: []decision.Item{{ID: "it", Question: "Write it?", Action: &decision.Action{
			App: "files", Operation: "write", ArgsJSON: []byte(`{"name":"` + name + `"}`), Class: &class,
		}}},
	}
	if open := w.openIn(a, j); instead && len(open) > 0 {
		c.Supersedes = open[n%len(open)].ID
	}
	d, err := w.app.RequestDecision(w.ctx, a.agent, c)
	w.must(err)
	j.asked = append(j.asked, d)
	f := a.about(oracle.Asked, j)
	f.Subject, f.Other, f.Until = d.ID, c.Supersedes, d.ExpireTime
	w.tell(f)
}

// openIn lists the questions of a task that wait for an answer.
func (w *world) openIn(a *account, j *job) []decision.State {
	var out []decision.State
	for _, d := range j.asked {
		now, err := w.app.GetDecision(w.ctx, a.desk.Principal, d.ID)
		w.must(err)
		if now.Status == decision.Pending && (now.ExpireTime.IsZero() || now.ExpireTime.After(w.Now())) {
			out = append(out, now)
		}
	}
	j.asked = out
	return out
}

// openOf lists all questions of an account that wait, with their tasks.
func (w *world) openOf(a *account) (jobs []*job, open []decision.State) {
	for _, j := range a.tasks {
		for _, d := range w.openIn(a, j) {
			jobs, open = append(jobs, j), append(open, d)
		}
	}
	return jobs, open
}

// takeBack is the agent that needs no answer any more.
func (w *world) takeBack(a *account, n int) {
	jobs, open := w.openOf(a)
	if len(open) == 0 {
		return
	}
	i := n % len(open)
	_, err := w.app.WithdrawDecision(w.ctx, a.agent, open[i].ID, app.Obsolete)
	w.must(err)
	f := a.about(oracle.TakenBack, jobs[i])
	f.Subject = open[i].ID
	w.tell(f)
}

// answer is the person at the desk.
func (w *world) answer(a *account, n int) {
	jobs, open := w.openOf(a)
	if len(open) == 0 {
		return
	}
	i := n % len(open)
	d, option := open[i], []string{"approve", "deny"}[n%2]
	c := app.AnswerDecision{
		Decision: d.ID, Revision: d.Revision, Asked: d.Asked, Key: w.name("answer"),
		Items:   []decision.AnswerItem{{Item: "it", Options: []string{option}}},
		Surface: decision.SurfaceApp, Interactive: true, Unlocked: true,
	}
	view, err := proof.ViewDigest(d.ID, uint64(d.Revision), nil)
	w.must(err)
	c.View = decision.Digest(view)
	digest, err := proof.AnswerDigest([]proof.AnswerItem{{ItemID: "it", OptionIDs: []string{option}}})
	w.must(err)
	c.Proof, err = proof.SignAnswer(a.desk.key, proof.AnswerTuple{
		ServerID: w.app.ServerID(), Account: store.AccountID(a.key), Installation: a.desk.Installation,
		Decision: c.Decision, Revision: uint64(c.Revision), Asked: proof.Digest(c.Asked), View: view, Answer: digest, AnswerKey: c.Key,
	})
	w.must(err)
	r, err := w.app.AnswerDecision(w.ctx, a.desk.Principal, c)
	w.must(err)
	if r.Outcome != decision.Applied {
		w.must(fmt.Errorf("an answer at the desk met outcome %d", r.Outcome))
	}
	f := a.about(oracle.Answered, jobs[i])
	f.Subject = d.ID
	w.tell(f)
}

// finish ends a task: it failed, or has a result, or has nothing to say.
func (w *world) finish(a *account, n, how int) {
	j := w.job(a, n)
	f := a.about(oracle.Ended, j)
	var err error
	switch how % 3 {
	case 0:
		f.Failed = true
		_, err = w.app.FailTask(w.ctx, a.agent, app.FailTask{Held: j.Held, Failure: task.Failure{Code: "broken", Text: "It broke."}})
	case 1:
		f.Result = true
		_, err = w.app.CompleteTask(w.ctx, a.agent, app.CompleteTask{Held: j.Held, Result: &task.Result{Summary: "Built."}})
	default:
		_, err = w.app.CompleteTask(w.ctx, a.agent, app.CompleteTask{Held: j.Held})
	}
	w.must(err)
	for i, old := range a.tasks {
		if old == j {
			a.tasks = append(a.tasks[:i:i], a.tasks[i+1:]...)
			break
		}
	}
	w.tell(f)
}

// chat is progress, or something that is worth reading and no result.
func (w *world) chat(a *account, n int, notable bool) {
	j := w.job(a, n)
	item := app.ItemDraft{
		ClientID: w.name("item"), Role: thread.RoleAgent, Kind: thread.Message, Notable: notable,
		Parts: []thread.Part{{Text: "Still at it."}},
	}
	_, err := w.app.AppendItems(w.ctx, a.agent, app.AppendItems{Held: j.Held, Items: []app.ItemDraft{item}})
	w.must(err)
	kind := oracle.Chatted
	if notable {
		kind = oracle.Noted
	}
	w.tell(a.about(kind, j))
}

// read is the person at the desk who reads a thread to its end.
func (w *world) read(a *account, n int) {
	if len(a.threads) == 0 {
		return
	}
	id := a.threads[n%len(a.threads)]
	th, err := w.app.GetThread(w.ctx, a.desk.Principal, id)
	w.must(err)
	_, err = w.app.MarkRead(w.ctx, a.desk.Principal, id, thread.ReadMark{Generation: th.Thread.Read.Generation, Position: th.Thread.NotableHead})
	w.must(err)
	w.tell(oracle.Fact{Kind: oracle.Read, Account: a.name, Thread: id})
}

// beat keeps the agent's tasks in its hands.
func (w *world) beat() {
	for _, a := range w.accounts {
		for _, j := range a.tasks {
			_, err := w.app.Heartbeat(w.ctx, a.agent, app.Heartbeat{Held: j.Held})
			w.must(err)
		}
	}
}

// count is the badge as the server has it.
func (w *world) count(a *account) int {
	n := 0
	w.must(w.store.View(w.ctx, a.key, func(tx *store.Read) error {
		n = int(tx.Counters().Badge())
		return nil
	}))
	return n
}
