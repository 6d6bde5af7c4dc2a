package alerts

import (
	"errors"
	"time"

	"github.com/beckon-dev/beckon/e2e/alerts/oracle"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
)

// presenceLife is how long a report of presence proves anything.
const presenceLife = 30 * time.Second

// onScreen chooses among what a phone shows that passes.
func (w *world) onScreen(h *handset, n int, pass func(phone.Alert) bool) (phone.Alert, bool) {
	var all []phone.Alert
	for _, a := range h.app.Screen() {
		if pass(a) {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return phone.Alert{}, false
	}
	return all[n%len(all)], true
}

// tap opens an alert: a result is read by that, a question maybe answered.
func (w *world) tap(h *handset, n, c int) {
	alert, ok := w.onScreen(h, n, func(a phone.Alert) bool { return a.Push == "decision" || a.Push == "result" })
	if !ok || h.offline {
		return
	}
	card, err := h.app.Tap(w.ctx, alert.Key)
	w.must(err)
	if h.quit {
		h.quit = false
		w.tell(oracle.Fact{Kind: oracle.Launched, Phone: h.name})
	}
	// The app reports what it shows, and after that its timers are out of the story.
	w.tell(oracle.Fact{Kind: oracle.Present, Phone: h.name, Thread: card.Thread, Subject: card.Decision, Until: w.Now().Add(presenceLife)})
	if alert.Push == "result" {
		w.tell(oracle.Fact{Kind: oracle.Read, Phone: h.name, Account: h.owner.name, Thread: card.Thread})
		return
	}
	if card.State != "PENDING" || c%3 == 0 {
		return
	}
	choices := make([]string, len(card.Items))
	for i := range choices {
		choices[i] = []string{phone.Approve, phone.Deny}[c%2]
	}
	result, err := h.app.Answer(w.ctx, choices, "")
	w.answered(h, card.Decision, card.Thread, card.Task, result, err)
}

// press taps a button on the lock screen.
func (w *world) press(h *handset, n, c int) {
	alert, ok := w.onScreen(h, n, func(a phone.Alert) bool { return len(a.Buttons) > 0 })
	if !ok || h.offline {
		return
	}
	result, err := h.app.Press(w.ctx, alert.Key, alert.Buttons[c%len(alert.Buttons)])
	w.answered(h, alert.Decision, alert.Thread, alert.Task, result, err)
}

// answered writes down an answer that counted; one that came too late is none.
func (w *world) answered(h *handset, decision, thread, task string, result phone.Result, err error) {
	var refused *phone.RefusedError
	if err != nil && !errors.As(err, &refused) {
		w.must(err)
	}
	if result.Counted() {
		w.tell(oracle.Fact{Kind: oracle.Answered, Phone: h.name, Account: h.owner.name, Subject: decision, Thread: thread, Task: task})
	}
}

func (w *world) dismiss(h *handset, n int) {
	if alert, ok := w.onScreen(h, n, func(phone.Alert) bool { return true }); ok {
		w.must(h.device.Dismiss(topic, alert.Key))
	}
}

func (w *world) setOnline(h *handset, on bool) {
	if h.offline == !on {
		return
	}
	h.offline = !on
	kind := oracle.Online
	if h.offline {
		kind = oracle.Offline
	}
	w.tell(oracle.Fact{Kind: kind, Phone: h.name})
	h.device.SetOnline(on)
	w.observe()
}

func (w *world) setDoze(h *handset, on bool) {
	if !h.android || h.dozes == on {
		return
	}
	h.dozes = on
	kind := oracle.Woke
	if on {
		kind = oracle.Dozed
	}
	w.tell(oracle.Fact{Kind: kind, Phone: h.name})
	h.device.SetDoze(on)
	w.observe()
}

func (w *world) quit(h *handset) {
	if h.quit {
		return
	}
	h.quit = true
	w.tell(oracle.Fact{Kind: oracle.Quit, Phone: h.name})
	h.device.ForceQuit(topic)
}

// mute is the person's switch for the app's notifications.
func (w *world) mute(h *handset) {
	on := !h.device.NotificationsAllowed(topic)
	kind := oracle.Muted
	if on {
		kind = oracle.Unmuted
	}
	w.tell(oracle.Fact{Kind: kind, Phone: h.name})
	h.device.SetNotifications(topic, on)
}

// rotate is a vendor that hands out a new token; the app tells its server at once,
// and the old token goes on working.
func (w *world) rotate(h *handset) {
	if h.offline || h.quit || h.killed {
		return
	}
	w.renew(h)
	w.must(h.app.Register(w.ctx))
	w.tell(oracle.Fact{Kind: oracle.Registered, Phone: h.name})
}

// killToken is a vendor that gives a token up, of which the app hears at its next
// start.
func (w *world) killToken(h *handset) {
	if h.killed {
		return
	}
	w.pass(time.Second) // later than its registration
	h.killed = true
	if h.android {
		w.fcm.Unregister(h.token)
	} else {
		w.apns.Unregister(h.token, w.Now())
	}
	w.tell(oracle.Fact{Kind: oracle.Killed, Phone: h.name})
}

// switchAccount logs the phone in on the other account, or anew on its own.
func (w *world) switchAccount(h *handset, n int) {
	if h.offline {
		return
	}
	a := w.accounts[0]
	if h.owner == a && n%4 != 0 || h.owner != a && n%4 == 0 {
		a = w.accounts[1]
	}
	w.logIn(h, a)
}
