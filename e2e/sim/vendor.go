package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/worker"
	"github.com/beckon-dev/beckon/server/store"
)

// lane is that of the one vendor here.
const lane = string(push.KindAPNs)

// deliveryLease is how long a push worker holds rows.
const deliveryLease = time.Minute

// vendor is the push worker and the vendor behind it.
type vendor struct {
	// alive are the addresses that could be called after the last step.
	alive []string
	// hands are claimed rows, results what became of some of them. Both are
	// gone when the process dies.
	hands   []push.Delivery
	results []worker.Result
	// leases are the rows' newest leases, as claims gave them out.
	leases map[string]string
	// accepted are rows whose acceptance was stored: they must not be sent
	// again.
	accepted map[string]bool
	// rang are the identities under which a subject was shown at an address.
	rang map[alertKey]identity
	// back are the calls that were taken back on a screen.
	back map[screenKey]bool
	// identities tells that no two subjects share one.
	identities map[string]string
	// quiet are the times at which an address was sent what shows nothing.
	quiet  map[quietKey][]time.Time
	tokens int
}

// identity is what makes a resend replace instead of ring.
type identity struct{ collapse, provider string }

func newVendor() *vendor {
	return &vendor{
		leases: map[string]string{}, accepted: map[string]bool{},
		rang: map[alertKey]identity{}, identities: map[string]string{}, quiet: map[quietKey][]time.Time{}, back: map[screenKey]bool{},
	}
}

// forget is what a dying process does.
func (v *vendor) forget() { v.hands, v.results = nil, nil }

// claimPushes takes due rows.
func (w *world) claimPushes() {
	v := w.vendor
	n := 1 + w.rand.IntN(4)
	var rows []push.Delivery
	w.attempt(call{
		name: "Claim", rule: "R21", text: fmt.Sprintf("push worker claims %d", n),
		do: func() (string, error) {
			var err error
			rows, err = w.app.Outbox().Claim(w.ctx, lane, n, deliveryLease)
			return "ok", err
		},
		judge: func() string {
			w.learnLeases()
			return "ok"
		},
		heard: func() {
			for _, row := range rows {
				w.visits[Cell{"delivery", string(row.State), "Claim"}]++
			}
			v.hands = append(v.hands, rows...)
		},
	})
}

// learnLeases notes who holds which row, also where the claimant never heard
// of it.
func (w *world) learnLeases() {
	w.view(func(tx *store.Read) error {
		rows, err := tx.Deliveries()
		for _, row := range rows {
			if row.State != push.Leased {
				continue
			}
			if w.vendor.accepted[row.ID] {
				w.failf("R21", "row %s was accepted and is given out again", row.ID)
			}
			w.vendor.leases[row.ID] = row.Lease
		}
		return err
	})
}

// sendPush reads one claimed row again and sends it, if it is still worth it.
func (w *world) sendPush(kind func(*world, push.Message) push.Verdict) {
	v := w.vendor
	if len(v.hands) == 0 {
		return
	}
	i := w.rand.IntN(len(v.hands))
	row := v.hands[i]
	v.hands = slices.Delete(v.hands, i, i+1)
	w.engine.begin(0, false)
	m, fresh, err := w.app.Outbox().Fresh(w.ctx, row)
	w.must(err)
	address := w.address(row.Address)
	handled := row.Key() != "" && (w.model.handled(taken(row).kind, row.Key(), w.now()) || w.model.replaced(row))
	reachable := address.State == push.AddressOK || address.State == push.AddressSuspect
	if !fresh.Again.IsZero() {
		w.note("push worker puts "+row.ID+" off", fresh.Reason)
		w.visits[Cell{"delivery", string(row.State), "put off " + fresh.Reason}]++
		v.results = append(v.results, worker.Result{Delivery: row, Released: fresh.Reason, ReleaseAt: fresh.Again})
		return
	}
	if row.Kind == push.Withdraw {
		handled = !handled // it is wanted for as long as its alert is not
	}
	if !fresh.Send() {
		w.note("push worker skips "+row.ID, fresh.Reason)
		w.visits[Cell{"delivery", string(row.State), "skip " + fresh.Reason}]++
		if row.Key() != "" && !handled && reachable && row.ExpiresAt.After(w.now()) && fresh.Reason != notShown {
			w.failf("R21", "%s %s still calls for the person and is skipped as %s", row.Kind, row.Key(), fresh.Reason)
		}
		v.results = append(v.results, worker.Result{Delivery: row, Skip: fresh})
		return
	}
	if handled {
		w.failf("R21", "%s %s is handled and would still be sent", row.Kind, row.Key())
	}
	w.checkMessage(row, m)
	verdict := kind(w, m)
	w.visits[Cell{"delivery", string(row.State), "send " + string(verdict.Class)}]++
	w.note(fmt.Sprintf("push worker sends %s %s to %s", row.Kind, row.Key(), row.Address), string(verdict.Class))
	v.results = append(v.results, worker.Result{Delivery: row, Verdict: verdict, Sent: m.Address, SentAt: w.now()})
}

// notShown is why a withdrawal is not sent whose alert never left; that it did
// not is checked when all is over.
const notShown = "not_shown"

// checkMessage: R20, R21. What is sent carries ids, the absolute badge and one
// identity for its subject.
func (w *world) checkMessage(row push.Delivery, m push.Message) {
	open, unread := w.model.badge()
	if m.Payload.Badge.Count != open+unread {
		w.failf("R26", "a push carries badge %d, want %d", m.Payload.Badge.Count, open+unread)
	}
	if m.Payload.Subject != row.Subject || m.Address.ID != row.Address {
		w.failf("R21", "row %s became a push about %v to %s", row.ID, m.Payload.Subject, m.Address.ID)
	}
	if row.Key() == "" {
		return
	}
	if owner, ok := w.vendor.identities[m.CollapseID]; ok && owner != row.Key() {
		w.failf("R21", "%s and %s share a collapse identity", owner, row.Key())
	}
	w.vendor.identities[m.CollapseID] = row.Key()
}

// show is the phone: the first push of a subject rings, a later one has to
// replace it.
func (w *world) show(m push.Message) {
	v := w.vendor
	switch m.Payload.Kind {
	case push.Withdraw:
		w.takeBack(m)
		return
	case push.Sweep:
		w.sweep(m)
		return
	case push.BadgeOnly:
		w.recount(m)
		return
	default:
	}
	key := alertKey{screenKey{m.Payload.Kind, m.Payload.Key(), m.Address.ID}, m.Payload.Version}
	now := identity{m.CollapseID, m.ProviderID}
	if before, rang := v.rang[key]; rang && before != now {
		w.failf("R21", "%s rings a second time", key)
	}
	v.rang[key] = now
	for _, d := range w.devices {
		if d.Installation == m.Address.Installation {
			d.tray = slices.DeleteFunc(d.tray, func(old push.Message) bool { return old.CollapseID == m.CollapseID })
			d.tray = append(d.tray, m)
		}
	}
}

// takeBack is the phone: what a withdrawal replaces must have been shown, and it
// does not ring.
func (w *world) takeBack(m push.Message) {
	key := taken(push.Delivery{Subject: m.Payload.Subject, Address: m.Address.ID})
	collapse, rang := w.vendor.screen(key)
	if !rang && w.inDoubt(m) {
		w.vendor.back[key] = true
		return // nobody heard whether it had arrived, and it had not
	}
	if !rang || collapse != m.CollapseID {
		w.failf("R22", "%s is taken back and was never shown", key)
	}
	if len(m.Payload.Actions) > 0 {
		w.failf("R22", "what takes back %s has buttons", key)
	}
	w.vendor.back[key] = true
	for _, d := range w.devices {
		if d.Installation == m.Address.Installation {
			d.tray = slices.DeleteFunc(d.tray, func(old push.Message) bool { return old.CollapseID == m.CollapseID })
		}
	}
}

// screen is the identity under which some version of a subject was shown.
func (v *vendor) screen(key screenKey) (collapse string, rang bool) {
	for call, shown := range v.rang {
		if call.screenKey == key {
			return shown.collapse, true
		}
	}
	return "", false
}

// inDoubt reports whether the server cannot know that an alert was not shown.
func (w *world) inDoubt(m push.Message) (doubt bool) {
	w.view(func(tx *store.Read) error {
		rows, err := tx.DeliveriesAbout(m.Payload.Key())
		for _, row := range rows {
			doubt = doubt || row.Kind != push.Withdraw && row.Address == m.Address.ID && row.MaybeSent
		}
		return err
	})
	return doubt
}

// accepts is a vendor on a good day.
func accepts(w *world, m push.Message) push.Verdict {
	w.show(m)
	return push.Verdict{Class: push.OK}
}

// anyDay is a vendor as it comes.
func anyDay(w *world, m push.Message) push.Verdict {
	switch w.rand.IntN(12) {
	case 0:
		return push.Verdict{Class: push.Backoff, Reason: "ServiceUnavailable", RetryAfter: time.Duration(w.rand.IntN(60)) * time.Second}
	case 1:
		return push.Verdict{Class: push.Ambiguous, Reason: "no_answer"}
	case 2:
		w.show(m) // and the answer got lost
		return push.Verdict{Class: push.Ambiguous, Reason: "no_answer"}
	case 3:
		return push.Verdict{Class: push.Cred, Reason: "InvalidProviderToken"}
	case 4:
		if w.chance(4) {
			at := w.now().Add(time.Duration(w.rand.IntN(7200)-3600) * time.Second)
			return push.Verdict{Class: push.Dead, Reason: "Unregistered", DeadAt: at}
		}
		return accepts(w, m)
	default:
		return accepts(w, m)
	}
}

// finishPushes stores results; some are kept for a later batch.
func (w *world) finishPushes() {
	v := w.vendor
	if len(v.results) == 0 {
		return
	}
	batch := v.results
	if v.results = nil; w.chance(4) {
		cut := w.rand.IntN(len(batch))
		batch, v.results = batch[cut:], batch[:cut:cut]
	}
	w.attempt(call{
		name: "Finish", rule: "R21", text: fmt.Sprintf("push worker finishes %d", len(batch)), many: true,
		do: func() (string, error) { return "ok", w.app.Outbox().Finish(w.ctx, batch) },
		judge: func() string {
			for _, r := range batch {
				current := v.leases[r.Delivery.ID] == r.Delivery.Lease
				if current && r.Skip.Send() && r.Verdict.Class == push.OK {
					v.accepted[r.Delivery.ID] = true
				}
			}
			return "ok"
		},
	})
}

// address reads an address as it is.
func (w *world) address(id string) push.Address {
	var a push.Address
	w.view(func(tx *store.Read) error {
		var err error
		a, err = tx.Address(id)
		return err
	})
	return a
}

// registerAgain is an app that starts: a new token under the same address, and
// notifications allowed or not.
func (w *world) registerAgain() {
	id := ""
	w.view(func(tx *store.Read) error {
		all, err := tx.Addresses()
		if err == nil {
			id = pick(w, all).ID
		}
		return err
	})
	v := w.vendor
	v.tokens++
	token, state := fmt.Sprintf("token %d", v.tokens), push.AddressOK
	if w.chance(5) {
		state = push.AddressDenied
	}
	w.attempt(call{
		name: "PutAddress", rule: "R21", text: fmt.Sprintf("app registers %s again as %s, %s", id, token, state),
		do: func() (string, error) {
			_, err := w.store.Update(w.ctx, w.account, func(tx *store.Tx) error {
				a, err := tx.Address(id)
				if err != nil {
					return err
				}
				if err := tx.DeleteAddress(a); err != nil {
					return err
				}
				a.Token, a.State, a.RegisteredAt = token, state, tx.Now()
				_, err = tx.PutAddress(a)
				return err
			})
			return "ok", err
		},
		judge: func() string { return "ok" },
	})
}
