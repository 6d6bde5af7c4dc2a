package sim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"fmt"
	"io"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

// agent is a program that works in the account.
type agent struct {
	policy.Principal
	ceiling decision.Class
	// optedIn: its questions may be approved on a notification.
	optedIn bool
}

// process is one worker of an agent. It remembers leases long after they were
// lost, as a process does that was cut off.
type process struct {
	name   string
	agent  *agent
	labels string
	claims []string
	held   []*holding
}

// holding is a task in a worker's hands, as far as the worker knows.
type holding struct {
	task  *mTask
	lease string
	check uint64
	heard []uint64
}

// device is one installation of the person.
type device struct {
	policy.Principal
	label         string
	key, approval *ecdsa.PrivateKey
	terminal      bool
	// tray holds the notifications that were shown here and not taken back.
	tray []push.Message
}

// settle moves everybody in: three devices, two agents with four workers.
func (w *world) settle() error {
	w.vendor = newVendor()
	_, err := w.store.Update(w.ctx, w.account, func(tx *store.Tx) error {
		if err := tx.PutAccountRow(store.AccountRow{Key: w.account, Claimed: true, CreateTime: tx.Now()}); err != nil {
			return err
		}
		if err := tx.PutSettings(store.Settings{Level: store.LevelFull}); err != nil {
			return err
		}
		for i, label := range []string{"phone", "tablet", "terminal"} {
			if err := w.settleDevice(tx, i, label); err != nil {
				return err
			}
		}
		for i, name := range []string{"Builder", "Clerk"} {
			if err := w.settleAgent(tx, i, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, labels := range []string{"linux", "", "mac", "linux"} {
		w.workers = append(w.workers, &process{name: fmt.Sprintf("w%d", i), agent: w.agents[i/2], labels: labels})
	}
	for range 2 {
		w.clients = append(w.clients, newClient())
	}
	w.checkHeaders(false)
	return nil
}

func (w *world) settleDevice(tx *store.Tx, n int, label string) error {
	id, err := store.NewID(store.KindInstallation, w.account, tx.Now(), w.random)
	if err != nil {
		return err
	}
	d := &device{
		Principal: policy.Principal{Kind: policy.Installation, Account: w.account, Installation: id},
		label:     label, terminal: label == "terminal",
	}
	inst := store.Installation{
		ID: id, Label: label, Platform: store.PlatformIOS, App: "app", Locale: "en",
		State: store.InstallationActive, Health: store.PushNone, CreateTime: tx.Now(),
	}
	if d.terminal {
		inst.Platform = store.PlatformTerminal
	}
	if d.key, inst.PublicKey, err = w.newKey(); err != nil {
		return err
	}
	if n == 0 {
		inst.FullUntil = tx.Now().AddDate(100, 0, 0) // its person is always there
		if d.approval, inst.ApprovalKey, err = w.newKey(); err != nil {
			return err
		}
	}
	w.devices = append(w.devices, d)
	if err := tx.PutInstallation(inst); err != nil || d.terminal {
		return err
	}
	address, err := store.NewID(store.KindAddress, w.account, tx.Now(), w.random)
	if err != nil {
		return err
	}
	_, err = tx.PutAddress(push.Address{
		ID: address, Account: w.account, Installation: id, App: "app", Kind: push.KindAPNs, Env: push.EnvProduction,
		Token: "token of " + label, Topic: "dev.beckon.app", AccountTag: "tag", RegisteredAt: tx.Now(),
		State: push.AddressOK, Locale: "en", Level: push.LevelFull,
	})
	return err
}

// newKey draws a P-256 key from the seed; ecdsa.GenerateKey would not.
func (w *world) newKey() (*ecdsa.PrivateKey, []byte, error) {
	raw := make([]byte, 32)
	if _, err := io.ReadFull(w.random, raw); err != nil {
		return nil, nil, err
	}
	raw[0] = 0 // below the order of the curve
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, nil, err
	}
	public, err := proof.MarshalPublicKey(&key.PublicKey)
	return key, public, err
}

func (w *world) settleAgent(tx *store.Tx, n int, name string) error {
	id, err := store.NewID(store.KindAgent, w.account, tx.Now(), w.random)
	if err != nil {
		return err
	}
	a := &agent{
		Principal: policy.Principal{Kind: policy.Agent, Agent: id, Key: "key " + name},
		ceiling:   decision.Irreversible, optedIn: n == 0,
	}
	if n == 1 {
		a.ceiling = decision.WriteReversible
	}
	w.agents = append(w.agents, a)
	if err := tx.PutAgent(store.Agent{ID: id, Name: name, CreateTime: tx.Now()}); err != nil {
		return err
	}
	if err := tx.PutKey(store.AgentKey{
		ID: a.Key, Agent: id, Hash: []byte(name), CreateTime: tx.Now(), ExpireTime: tx.Now().AddDate(10, 0, 0),
	}); err != nil {
		return err
	}
	return tx.PutLink(store.AgentLink{
		Agent: id, Name: name, Ceiling: a.ceiling, LockScreen: a.optedIn, CreateTime: tx.Now(),
		Scopes: []store.AgentScope{store.ScopeTaskCreate, store.ScopeTaskWork, store.ScopeDecisionRequest, store.ScopeReadOwn, store.ScopeEffectWrite},
	})
}
