package load

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
)

// person is one account with one phone.
type person struct {
	device  policy.Principal
	account string // its id
	key     *ecdsa.PrivateKey
	access  string
	// work is a task of the agent in this account.
	work app.Held
}

// place is a server full of people, and the one agent that works for all.
type place struct {
	*rig

	people []*person
	agent  policy.Principal
	secret string
}

// longLease outlasts a measurement.
const longLease = 300 * time.Second

// settle moves people with their phones and one agent in, before the server
// runs: one that does prints a claim link of its own for an empty store.
func (r *rig) settle(ctx context.Context, n int, phones bool) (*place, error) {
	if !phones {
		return r.settleWith(ctx, n, nil)
	}
	return r.settleWith(ctx, n, func(i int) app.PutAddress {
		return app.PutAddress{Kind: push.KindAPNs, Env: push.EnvSandbox, Topic: topic, Token: deviceToken(i)}
	})
}

// settleWith is settle with the phones that address gives, or none.
func (r *rig) settleWith(ctx context.Context, n int, address func(i int) app.PutAddress) (*place, error) {
	p := &place{rig: r, people: make([]*person, n)}
	err := each(n, crowd, func(i int) error {
		var err error
		p.people[i], err = r.admit(ctx, i, address)
		return err
	})
	if err != nil {
		return nil, err
	}
	owner := p.people[0].device
	made, err := r.app.CreateAgent(ctx, owner, app.CreateAgent{Key: "agent", Name: "Builder"})
	if err != nil {
		return nil, err
	}
	issued, err := r.app.IssueKey(ctx, owner, made.Agent, 0)
	if err != nil {
		return nil, err
	}
	p.agent, p.secret = policy.Principal{Kind: policy.Agent, Agent: made.Agent}, issued.Secret.Reveal()
	return p, each(n, crowd, func(i int) error {
		_, err := r.app.LinkAgent(ctx, p.people[i].device, app.LinkAgent{Agent: made.Agent})
		return err
	})
}

func (r *rig) admit(ctx context.Context, i int, address func(i int) app.PutAddress) (*person, error) {
	link, err := r.app.AddAccount(ctx, operator())
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := proof.MarshalPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	platform := store.PlatformIOS
	if address != nil && address(i).Kind != push.KindAPNs {
		platform = store.PlatformAndroid
	}
	in, err := r.app.ClaimServer(ctx, app.ClaimServer{Secret: credential.NewSecret(link.Secret.Reveal()), Device: app.NewDevice{
		Platform: platform, Label: "Phone", PublicKey: public, Locale: "en",
	}})
	if err != nil {
		return nil, err
	}
	account, _ := store.AccountKey(in.Account)
	p := &person{
		device:  policy.Principal{Kind: policy.Installation, Account: account, Installation: in.Installation.ID},
		account: in.Account, key: key, access: in.Tokens.Access.Reveal(),
	}
	if address != nil {
		_, err = r.app.PutAddress(ctx, p.device, address(i))
	}
	return p, err
}

// begin gives everybody a task in the hands of the agent.
func (p *place) begin(ctx context.Context, name string) error {
	return each(len(p.people), crowd, func(i int) error {
		made, err := p.app.CreateTask(ctx, p.agent, app.CreateTask{
			Key: fmt.Sprintf("%s %d", name, i), Account: p.people[i].account, Title: "Sort the inbox of this week",
			Claim: &app.ClaimOptions{ID: fmt.Sprintf("%s %d", name, i), Length: longLease},
		})
		if err != nil {
			return err
		}
		p.people[i].work = app.Held{Task: made.Task.ID, Lease: made.Claim.Task.Lease.ID}
		return nil
	})
}

// ask puts a small question about one action to a person.
func (p *place) ask(ctx context.Context, who *person, name string) (decision.State, error) {
	return p.app.RequestDecision(ctx, p.agent, app.RequestDecision{
		Held: who.work, Name: name, Kind: decision.ConfirmAction, Title: "Move this mail?", OnExpiry: decision.TellAgent,
		Items: []decision.Item{{ID: "it", Question: "Move this mail?", Action: &decision.Action{
			App: "mail", Operation: "move", Class: new(decision.WriteReversible),
			ArgsJSON: fmt.Appendf(nil, `{"message":%q,"to":"Archive"}`, name),
		}}},
	})
}

// sleep lets a task wait for the answer.
func (p *place) sleep(ctx context.Context, who *person, question string, acks []uint64) error {
	phase, err := p.app.YieldTask(ctx, p.agent, app.YieldTask{
		Held: who.work, Wait: task.Wait{Decisions: []string{question}}, Ack: acks,
	})
	if err == nil && phase != task.Waiting {
		err = fmt.Errorf("a task that sleeps is %v", phase)
	}
	return err
}
