package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
)

// newAddress registers a push endpoint of a device.
func (h *harness) newAddress(d device, token string) push.Address {
	h.t.Helper()
	var a push.Address
	h.update(d.Account, func(tx *store.Tx) error {
		var err error
		a, err = tx.PutAddress(push.Address{
			ID: "adr_" + d.Installation, Account: d.Account, Installation: d.Installation, App: "app",
			Kind: push.KindAPNs, Env: push.EnvProduction, Token: token, Topic: "dev.beckon", AccountTag: "tag " + d.Account,
			RegisteredAt: tx.Now(), State: push.AddressOK, Locale: "en",
		})
		return err
	})
	return a
}

// task reads a task as it is stored.
func (h *harness) task(id string) task.State {
	h.t.Helper()
	var s task.State
	h.view(h.account, func(tx *store.Read) error {
		var err error
		s, err = tx.Task(id)
		return err
	})
	return s
}

// decision reads a decision as it is stored.
func (h *harness) decision(id string) decision.State {
	h.t.Helper()
	var d decision.State
	h.view(h.account, func(tx *store.Read) error {
		var err error
		d, err = tx.Decision(id)
		return err
	})
	return d
}

// signals reads what a task has not acknowledged.
func (h *harness) signals(id string) []task.Signal {
	h.t.Helper()
	var out []task.Signal
	h.view(h.account, func(tx *store.Read) error {
		var err error
		out, _, err = tx.Signals(id, 0, 1<<20)
		return err
	})
	return out
}

// claim takes work for the harness's agent at once.
func (h *harness) claim(id string) app.Claim {
	h.t.Helper()
	c, found, err := h.app.ClaimTask(h.t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: id}})
	check(h.t, err)
	if !found {
		h.t.Fatalf("claim %q found nothing", id)
	}
	return c
}

func heldBy(c app.Claim) app.Held { return app.Held{Task: c.Task.ID, Lease: c.Task.Lease.ID} }

// link changes what lets the harness's agent work.
func (h *harness) link(change func(*store.AgentLink)) {
	h.t.Helper()
	h.update(h.account, func(tx *store.Tx) error {
		l, err := tx.Link(h.agent.Agent)
		if err != nil {
			return err
		}
		change(&l)
		return tx.PutLink(l)
	})
}

// reply is an answer to every item of a decision with one option, as an
// unlocked phone gives it in its app; it is not signed.
func reply(t *testing.T, d decision.State, option string) app.AnswerDecision {
	t.Helper()
	c := app.AnswerDecision{
		Decision: d.ID, Revision: d.Revision, Asked: d.Asked, Key: "answer " + option,
		Surface: decision.SurfaceApp, Interactive: true, Unlocked: true,
	}
	for _, it := range d.Items {
		c.Items = append(c.Items, decision.AnswerItem{Item: it.ID, Options: []string{option}})
	}
	view, err := proof.ViewDigest(d.ID, uint64(d.Revision), nil)
	check(t, err)
	c.View = decision.Digest(view)
	return c
}

// digested is an answer to an item as a device signs it.
func (h *harness) digested(id string, it decision.AnswerItem) proof.AnswerItem {
	h.t.Helper()
	out := proof.AnswerItem{ItemID: it.Item, OptionIDs: it.Options, Text: it.Text}
	if len(it.Content) > 0 {
		out.Content, _ = proof.ObjectDigest(it.Content)
	}
	if len(it.EditedArgs) == 0 {
		return out
	}
	for _, asked := range h.decision(id).Items {
		if asked.ID != it.Item {
			continue
		}
		act := asked.Action
		out.EditedArgs, _ = proof.ActionDigest(act.App, act.Connection, act.Operation, it.EditedArgs, act.TargetJSON)
	}
	return out
}

// tupleOf is what a device signs for an answer.
func (h *harness) tupleOf(d device, c app.AnswerDecision) proof.AnswerTuple {
	h.t.Helper()
	var items []proof.AnswerItem
	for _, it := range c.Items {
		items = append(items, h.digested(c.Decision, it))
	}
	digest, err := proof.AnswerDigest(items)
	check(h.t, err)
	return proof.AnswerTuple{
		ServerID: h.app.ServerID(), Account: store.AccountID(d.Account), Installation: d.Installation,
		Decision: c.Decision, Revision: uint64(c.Revision), Asked: proof.Digest(c.Asked), View: proof.Digest(c.View),
		Answer: digest, AnswerKey: c.Key,
	}
}

// signed is an answer with a device's proof.
func (h *harness) signed(d device, asked decision.State, option string) app.AnswerDecision {
	h.t.Helper()
	c := reply(h.t, asked, option)
	var err error
	c.Proof, err = proof.SignAnswer(d.key, h.tupleOf(d, c))
	check(h.t, err)
	return c
}

// give hands an answer in.
func (h *harness) give(d device, c app.AnswerDecision) app.AnswerResult {
	h.t.Helper()
	r, err := h.app.AnswerDecision(context.Background(), d.Principal, c)
	check(h.t, err)
	return r
}

// giveSigned signs an answer with the phone's key and hands it in.
func (h *harness) giveSigned(d decision.State, c app.AnswerDecision) app.AnswerResult {
	h.t.Helper()
	var err error
	c.Proof, err = proof.SignAnswer(h.phone.key, h.tupleOf(h.phone, c))
	check(h.t, err)
	r := h.give(h.phone, c)
	if r.Outcome != decision.Applied {
		h.t.Fatalf("the answer to %s met %v", d.ID, r.Outcome)
	}
	return r
}

// say sends a message of the person.
func (h *harness) say(thread, text string) app.SendMessageResult {
	h.t.Helper()
	r, err := h.app.SendMessage(context.Background(), h.phone.Principal, app.SendMessage{Key: "say " + text, Thread: thread, Text: text})
	check(h.t, err)
	return r
}

// sleep yields a held task.
func (h *harness) sleep(held app.Held, w task.Wait, acks ...uint64) task.Phase {
	h.t.Helper()
	p, err := h.app.YieldTask(context.Background(), h.agent, app.YieldTask{Held: held, Wait: w, Ack: acks})
	check(h.t, err)
	return p
}

// due does what time alone brings about.
func (h *harness) due() time.Time {
	h.t.Helper()
	next, err := h.app.ProcessDue(context.Background())
	check(h.t, err)
	return next
}
