package oracle

import (
	"slices"
	"time"
)

// grace is how long a question leaves alone whoever has its thread in hand; no
// more than half of the time there is to answer.
const grace = 5 * time.Second

// takeBackFor is for how long taking an alert back is tried.
const takeBackFor = 24 * time.Hour

// resultFor is for how long a result is worth a ring.
const resultFor = 24 * time.Hour

// story is what the facts so far add up to.
type story struct {
	facts    []Fact
	now      time.Time
	phones   map[string]*phone
	tasks    map[string]*work
	threads  map[string]*thread
	subjects map[string]*subject
	// order lists subjects as they came up.
	order []*subject
	// owner is the phone that an installation was paired on.
	owner map[string]string
	// counts has what each account's badge became, and when.
	counts   map[string][]count
	findings []Finding
}

type count struct{ since, n int }

// phone is one device as far as its person and its network go.
type phone struct {
	name, account string
	android       bool
	registered    bool
	offline, doze bool
	quit, muted   bool
	// logins are when which account logged in.
	logins []login
	// inHand is what it was proven to show, by the installation that said so: that is
	// believed for its time also when another one follows.
	inHand       map[string]hold
	installation string
	// Times of what excuses silence; empty where it never happened.
	killed, refused, troubled, offlines, dozes, mutes, quits []int
	// shows is what is on the screen: the subject of each alert, and whether it
	// is the alert itself.
	shows map[string]bool
	// told is what happened to each subject here.
	told map[string]*told
}

// hold is a thread that a person has on the screen until then.
type hold struct {
	thread string
	until  time.Time
}

type login struct {
	at      int
	account string
}

// told is what one phone did about one subject.
type told struct {
	rings, shown, sent int
	// sentBack counts pushes that took it back.
	sentBack int
	// firstSince is the earliest Since of an alert that was sent.
	firstSince int
	gone       bool // since the last ring
	unsure     bool
	lost       []string // reasons of lost alerts
	lostBack   []string // reasons of lost withdrawals
	mutedWhile bool     // notifications were switched off while it showed
}

type work struct {
	account, thread string
	answered        bool
}

type thread struct {
	account string
	unread  bool
}

// subject is something a person may be called for.
type subject struct {
	id, account, thread, task string
	question                  bool
	// needed: it calls for the person.
	needed bool
	at     int
	asked  time.Time
	until  time.Time // zero for none
	// closed is the index of the fact that handled it, 0 while it is open.
	closed   int
	closedAt time.Time
	closedBy string // phone
	// eligible are the phones that have to show it, with the installation that
	// each was then; held those that may only do
	// so later.
	eligible map[string]string
	held     map[string]time.Time
	// mayWait are phones that showed the thread, maybe as whose they were before, or
	// have opened the card.
	mayWait map[string]bool
}

func newStory() *story {
	return &story{
		phones: map[string]*phone{}, tasks: map[string]*work{}, threads: map[string]*thread{},
		subjects: map[string]*subject{}, owner: map[string]string{}, counts: map[string][]count{},
	}
}

func (s *story) phone(name string) *phone {
	p, ok := s.phones[name]
	if !ok {
		p = &phone{name: name, inHand: map[string]hold{}, shows: map[string]bool{}, told: map[string]*told{}}
		s.phones[name] = p
	}
	return p
}

func (p *phone) about(subject string) *told {
	t, ok := p.told[subject]
	if !ok {
		t = &told{firstSince: -1}
		p.told[subject] = t
	}
	return t
}

// open is a subject that calls for its person now.
func (x *subject) open() bool { return x.needed && x.closed == 0 }

// handledBefore reports whether the subject was handled when only the facts
// before an index were known.
func (x *subject) handledBefore(i int) bool { return x.closed != 0 && x.closed < i }

// take folds one fact that somebody did.
func (s *story) take(i int, f Fact) {
	switch f.Kind {
	case Asked:
		s.ask(i, f)
	case Answered:
		s.tasks[s.subjects[f.Subject].task].answered = true
		s.close(s.subjects[f.Subject], i, f)
	case TakenBack:
		s.close(s.subjects[f.Subject], i, f)
	case Ended:
		s.end(i, f)
	case Noted:
		s.inThread(f).unread = true
	case Chatted:
		s.inThread(f)
	case Read:
		s.read(i, f)
	case Passed:
		s.pass(i, f)
	case Restarted:
		for _, p := range s.phones {
			clear(p.inHand)
		}
	default:
		s.takePhone(i, f)
	}
}

func (s *story) takePhone(i int, f Fact) {
	p := s.phone(f.Phone)
	switch f.Kind {
	case LoggedIn:
		p.account, p.registered, p.android = f.Account, true, f.Android
		p.installation = f.Installation
		p.logins = append(p.logins, login{i, f.Account})
		s.owner[f.Installation] = f.Phone
	case Registered:
		p.registered = true
	case Killed:
		p.registered = false
		p.killed = append(p.killed, i)
	case Refused:
		p.refused = append(p.refused, i)
	case Troubled:
		p.troubled = append(p.troubled, i)
	case Offline:
		p.offline, p.offlines = true, append(p.offlines, i)
	case Online:
		p.offline = false
	case Dozed:
		p.doze, p.dozes = true, append(p.dozes, i)
	case Woke:
		p.doze = false
	case Muted:
		p.muted, p.mutes = true, append(p.mutes, i)
		for id := range p.shows {
			p.about(id).mutedWhile = true
		}
	case Unmuted:
		p.muted = false
	case Quit:
		p.quit, p.quits = true, append(p.quits, i)
	case Launched:
		p.quit = false
	case Present:
		p.inHand[p.installation] = hold{f.Thread, f.Until}
		if x := s.subjects[f.Subject]; x != nil {
			x.mayWait[p.name] = true // its card is open there, which counts as well
		}
	case Absent:
		delete(p.inHand, p.installation)
	default:
	}
}

func (s *story) inThread(f Fact) *thread {
	t, ok := s.threads[f.Thread]
	if !ok {
		t = &thread{account: f.Account}
		s.threads[f.Thread] = t
	}
	return t
}

func (s *story) inTask(f Fact) *work {
	s.inThread(f)
	t, ok := s.tasks[f.Task]
	if !ok {
		t = &work{account: f.Account, thread: f.Thread}
		s.tasks[f.Task] = t
	}
	return t
}

func (s *story) add(i int, f Fact, x *subject) {
	x.account, x.thread, x.task, x.at, x.asked = f.Account, f.Thread, f.Task, i, f.Time
	x.eligible, x.held = map[string]string{}, map[string]time.Time{}
	x.mayWait = map[string]bool{}
	if s.subjects[x.id] != nil {
		return // the end of a task is told once
	}
	s.subjects[x.id] = x
	s.order = append(s.order, x)
	for _, p := range s.phones {
		if x.needed && p.account == x.account && p.registered {
			x.eligible[p.name] = p.installation
		}
		for installation, in := range p.inHand {
			if !x.question || in.thread != x.thread || !in.until.After(f.Time) {
				continue
			}
			x.mayWait[p.name] = true
			wait := grace
			if !x.until.IsZero() {
				wait = min(wait, x.until.Sub(f.Time)/2)
			}
			if installation == p.installation {
				x.held[p.name] = f.Time.Add(wait)
			}
		}
	}
}

func (s *story) ask(i int, f Fact) {
	s.inTask(f)
	if old := s.subjects[f.Other]; old != nil {
		s.close(old, i, Fact{Time: f.Time})
	}
	s.add(i, f, &subject{id: f.Subject, question: true, needed: true, until: f.Until})
}

// end is R20 for the end of a task: bad news always calls, good news unless there
// is nothing to read and the person has just dealt with the task. What the task
// still asked is asked no more.
func (s *story) end(i int, f Fact) {
	t := s.inTask(f)
	for _, x := range s.order {
		if x.question && x.task == f.Task {
			s.close(x, i, Fact{Time: f.Time})
		}
	}
	calls := f.Failed || f.Result || !t.answered
	if calls {
		s.threads[f.Thread].unread = true
	}
	s.add(i, f, &subject{id: f.Task, needed: calls})
}

func (s *story) read(i int, f Fact) {
	s.inThread(f).unread = false
	for _, x := range s.order {
		if !x.question && x.thread == f.Thread {
			s.close(x, i, f)
		}
	}
}

func (s *story) pass(i int, f Fact) {
	for _, x := range s.order {
		if x.question && !x.until.IsZero() && !x.until.After(f.Time) {
			s.close(x, i, Fact{Time: f.Time})
		}
	}
}

func (s *story) close(x *subject, i int, f Fact) {
	if x != nil && x.closed == 0 {
		x.closed, x.closedAt, x.closedBy = i, f.Time, f.Phone
	}
}

// recount notes what every account's badge is after fact i.
func (s *story) recount(i int) {
	now := map[string]int{}
	for _, x := range s.order {
		if x.question && x.closed == 0 {
			now[x.account]++
		}
	}
	for _, t := range s.threads {
		if t.unread {
			now[t.account]++
		}
	}
	for account := range s.counts {
		if _, ok := now[account]; !ok {
			now[account] = 0
		}
	}
	for account, n := range now {
		all := s.counts[account]
		if len(all) == 0 || all[len(all)-1].n != n {
			s.counts[account] = append(all, count{i, n})
		}
	}
}

// countBefore is an account's badge when only the facts before i were known.
func (s *story) countBefore(account string, i int) int {
	n := 0
	for _, c := range s.counts[account] {
		if c.since >= i {
			break
		}
		n = c.n
	}
	return n
}

// accountBefore is whose a phone was when only the facts before i were known.
func (p *phone) accountBefore(i int) string {
	account := ""
	for _, l := range p.logins {
		if l.at < i {
			account = l.account
		}
	}
	return account
}

// before reports whether something happened earlier than fact i.
func before(times []int, i int) bool { return len(times) > 0 && times[0] < i }

// changedHands reports whether another account, or the same one anew, logged in on
// a phone after fact i.
func (p *phone) changedHands(i int) bool {
	return slices.ContainsFunc(p.logins, func(l login) bool { return l.at > i })
}
