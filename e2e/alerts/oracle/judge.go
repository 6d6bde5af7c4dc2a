package oracle

import (
	"fmt"
	"slices"
)

// Judge returns everything that is wrong, in the order in which it shows.
func Judge(facts []Fact, rows []Row) []Finding {
	s := newStory()
	s.facts = facts
	for i, f := range facts {
		s.now = f.Time
		switch f.Kind {
		case Sent, Unsure, Rang, Appeared, Replaced, Gone, Lost:
			s.see(i, f)
		case Screen, Settled, Synced:
			s.look(i, f, rows)
		default:
			s.take(i, f)
			s.recount(i)
		}
	}
	s.judgeRows(rows)
	s.judgeCalls(rows)
	return s.findings
}

func (s *story) findf(rule string, at int, format string, args ...any) {
	s.findings = append(s.findings, Finding{Rule: rule, At: at, Text: fmt.Sprintf(format, args...)})
}

// see judges one thing that a vendor or a phone did.
func (s *story) see(i int, f Fact) {
	p, x := s.phone(f.Phone), s.subjects[f.Subject]
	if f.Quiet {
		if f.Kind == Sent {
			s.seeAnySent(i, f, p, f.Account)
		}
		return
	}
	if x == nil || !x.needed {
		if f.Kind == Sent || f.Kind == Rang || f.Kind == Appeared {
			s.findf("R20", i, "%s: %s about %s, which calls for nobody", p.name, f.Kind, short(f.Subject))
		}
		return
	}
	t := p.about(x.id)
	switch f.Kind {
	case Sent:
		s.seeSent(i, f, p, x, t)
	case Unsure:
		t.unsure = true
	case Rang, Appeared, Replaced:
		s.seeShown(i, f, p, x, t)
	case Gone:
		s.seeGone(i, f, p, x, t)
	case Lost:
		if f.Withdraw {
			t.lostBack = append(t.lostBack, f.Reason)
		} else {
			t.lost = append(t.lost, f.Reason)
		}
	default:
	}
}

// seeAnySent judges what holds for every push, by what its sender could know.
func (s *story) seeAnySent(i int, f Fact, p *phone, account string) {
	if now := p.accountBefore(f.Since); now != account && !f.Stale {
		s.findf("B14", i, "%s belongs to %s and is sent %q of %s", p.name, now, short(f.Subject), account)
	}
	if want := s.countBefore(account, f.Since); f.Badge != want {
		s.findf("R26", i, "%s: a push about %q carries badge %d, want %d", p.name, short(f.Subject), f.Badge, want)
	}
}

// seeSent judges an alert, or what takes one back.
func (s *story) seeSent(i int, f Fact, p *phone, x *subject, t *told) {
	s.seeAnySent(i, f, p, x.account)
	if f.Withdraw {
		t.sentBack++
		if !x.handledBefore(f.Since) {
			s.findf("R22", i, "%s: %s is taken back and nobody has handled it", p.name, short(x.id))
		}
		return
	}
	if t.sent++; t.firstSince < 0 {
		t.firstSince = f.Since
	}
	if x.handledBefore(f.Since) {
		s.findf("R22", i, "%s: %s is sent and was handled before, at #%d", p.name, short(x.id), x.closed)
	}
	if until, ok := x.held[p.name]; ok && f.Time.Before(until) {
		s.findf("R22", i, "%s: %s does not wait out the grace of who has it in hand", p.name, short(x.id))
	}
}

// seeShown judges what comes up on a screen.
func (s *story) seeShown(i int, f Fact, p *phone, x *subject, t *told) {
	p.shows[x.id] = !f.Withdraw
	if f.Withdraw {
		if f.Kind == Rang {
			s.findf("R22", i, "%s rings to take %s back", p.name, short(x.id))
		}
		if x.open() {
			s.findf("R22", i, "%s: %s is still open and was replaced", p.name, short(x.id))
		}
		return
	}
	t.shown++
	if t.firstSince < 0 || x.handledBefore(t.firstSince) {
		s.findf("R22", i, "%s shows %s, which nobody sent while it was open", p.name, short(x.id))
	}
	if f.Kind != Rang {
		return
	}
	t.rings++
	if t.rings > 1 && (!t.gone || !t.unsure) {
		s.findf("R21", i, "%s rings again for %s", p.name, short(x.id))
	}
	t.gone = false
}

// seeGone judges what goes from a screen: an app takes away only what is handled.
func (s *story) seeGone(i int, f Fact, p *phone, x *subject, t *told) {
	delete(p.shows, x.id)
	t.gone = true
	if x.open() && p.account == x.account && (f.Reason == "app" || f.Reason == "badge") {
		s.findf("R22", i, "%s: %s is still open and was taken away by %s", p.name, short(x.id), f.Reason)
	}
}

// look judges a screen at rest.
func (s *story) look(i int, f Fact, rows []Row) {
	p := s.phone(f.Phone)
	for _, on := range f.Shown {
		x := s.subjects[on.Subject]
		switch {
		case x == nil:
			s.findf("R20", i, "%s shows %s, which calls for nobody", p.name, short(on.Subject))
		case x.account != p.account && p.account != "":
			s.findf("B14", i, "%s belongs to %s and shows %s of %s", p.name, p.account, short(x.id), x.account)
		case x.open():
		case f.Kind == Synced:
			s.findf("R22", i, "%s shows %s after a sync; it was handled at #%d", p.name, short(x.id), x.closed)
		case f.Kind == Settled && !on.Withdraw && !p.offline && !p.doze:
			s.judgeLeft(i, p, x, rows)
		}
	}
	if f.Kind != Synced {
		return
	}
	if want := s.countBefore(p.account, i); f.Badge != want || f.Count != want {
		s.findf("R26", i, "%s has badge %d after a sync and the server counts %d, want %d", p.name, f.Badge, f.Count, want)
	}
}

// judgeLeft judges an alert that shows although its subject was handled and
// nothing is left to be sent: only what kept the withdrawal away excuses it.
func (s *story) judgeLeft(i int, p *phone, x *subject, rows []Row) {
	t := p.about(x.id)
	switch {
	case t.mutedWhile, len(t.lostBack) > 0:
		return
	case s.now.Sub(x.closedAt) >= takeBackFor:
		return
	case before(p.killed, i), before(p.refused, i), p.changedHands(t.firstSince - 1):
		return
	}
	s.findf("R22", i, "%s still shows %s, handled at #%d by %q; withdrawal: %s",
		p.name, short(x.id), x.closed, x.closedBy, s.wordOf(p, x, rows, true))
}

// wordOf is what the server says about a push to a phone, for a finding.
func (s *story) wordOf(p *phone, x *subject, rows []Row, withdraw bool) string {
	i := slices.IndexFunc(rows, func(r Row) bool {
		return r.Subject == x.id && r.Withdraw == withdraw && s.owner[r.Installation] == p.name
	})
	if i < 0 {
		return "no row"
	}
	return rows[i].State + " " + rows[i].Reason
}
