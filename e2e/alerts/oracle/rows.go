package oracle

// judgeRows judges what the server says against what the story bears out.
func (s *story) judgeRows(rows []Row) {
	for _, r := range rows {
		switch r.State {
		case "pending", "leased", "retry":
			s.findf("R21", -1, "all is over and a row about %q is still %s %s", short(r.Subject), r.State, r.Reason)
		}
		x := s.subjects[r.Subject]
		if r.Quiet {
			continue
		}
		if x == nil || !x.needed {
			s.findf("R20", -1, "a row calls for %s, which calls for nobody", short(r.Subject))
			continue
		}
		p, known := s.phones[s.owner[r.Installation]]
		if !known {
			continue
		}
		t := p.about(x.id)
		if r.State == "accepted" && (r.Withdraw && t.sentBack == 0 || !r.Withdraw && t.sent == 0) {
			s.findf("R21", -1, "%s: a row about %s (withdraw %v) counts as accepted and nothing was sent", p.name, short(x.id), r.Withdraw)
		}
		if r.Waited && !x.mayWait[p.name] {
			s.findf("R22", -1, "%s: %s waited although nothing proved that the phone is in hand", p.name, short(x.id))
		}
	}
}

// judgeCalls is R21: every call that was needed was shown, or its row says why
// not, and the story says so too.
func (s *story) judgeCalls(rows []Row) {
	for _, x := range s.order {
		for name, installation := range x.eligible {
			p := s.phones[name]
			t := p.about(x.id)
			if t.shown > 0 {
				continue
			}
			row, ok := rowOf(installation, x, rows)
			if !ok {
				// The device's own row goes with the device.
				if !p.changedHands(x.at) {
					s.findf("R21", -1, "%s was not called for %s, and there is no row", name, short(x.id))
				}
				continue
			}
			if why := s.excuse(p, x, t, row); why != "" {
				s.findf("R21", -1, "%s was not called for %s: the row says %s %s, but %s", name, short(x.id), row.State, row.Reason, why)
			}
		}
	}
}

func rowOf(installation string, x *subject, rows []Row) (Row, bool) {
	for _, r := range rows {
		if r.Subject == x.id && !r.Withdraw && r.Installation == installation {
			return r, true
		}
	}
	return Row{}, false
}

// excuse says what in the story contradicts a row about a phone that showed
// nothing; empty where the story bears it out.
func (s *story) excuse(p *phone, x *subject, t *told, r Row) string {
	switch r.State {
	case "accepted":
		return s.excuseAccepted(p, x, t)
	case "superseded":
		if r.Reason == "handled" && x.closed != 0 {
			return ""
		}
		return "nobody has handled it"
	case "expired":
		if s.late(x) {
			return ""
		}
		return "it is not late"
	case "dead_address":
		switch {
		case p.changedHands(x.at) && (r.Reason == "moved" || r.Reason == "address_gone"):
			return ""
		case len(p.killed) > 0 && r.Reason != "moved" && r.Reason != "address_gone":
			return ""
		}
		return "nothing happened to its address"
	case "rejected", "suspect":
		if len(p.refused) > 0 {
			return ""
		}
		return "the vendor was not told to refuse it"
	case "suppressed":
		return "nothing may silence it"
	default:
		return "that is no end"
	}
}

// late reports whether there was a time after which nothing had to be said.
func (s *story) late(x *subject) bool {
	if x.question {
		return !x.until.IsZero() && !s.now.Before(x.until)
	}
	return s.now.Sub(x.asked) >= resultFor
}

// excuseAccepted is for pushes that the vendor took and the phone did not show.
func (s *story) excuseAccepted(p *phone, x *subject, t *told) string {
	if p.changedHands(x.at) {
		return "" // the app dropped it
	}
	for _, reason := range t.lost {
		switch {
		case (reason == "newer" || reason == "collapse") && !p.android && len(p.offlines) > 0,
			reason == "force-quit" && p.android && len(p.quits) > 0,
			reason == "switch" && len(p.mutes) > 0,
			reason == "expiry" && (len(p.offlines) > 0 || len(p.dozes) > 0) && s.late(x):
			return ""
		}
	}
	if p.offline || p.doze && p.android {
		return "" // still on its way
	}
	return "nothing kept it from the phone"
}
