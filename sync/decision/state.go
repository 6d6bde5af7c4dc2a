package decision

import (
	"slices"
	"time"
)

// Status is where a decision stands. It leaves PENDING once.
type Status uint8

// States. The numbers are those of the wire and of the disk.
const (
	Pending    Status = 1
	Resolved   Status = 2
	Expired    Status = 3
	Canceled   Status = 4
	Superseded Status = 5
	Withdrawn  Status = 6
)

// Statuses lists all of them, for tables that have to be complete.
var Statuses = [...]Status{Pending, Resolved, Expired, Canceled, Superseded, Withdrawn}

// String is the word that people and logs see.
func (s Status) String() string {
	names := [...]string{"", "PENDING", "RESOLVED", "EXPIRED", "CANCELED", "SUPERSEDED", "WITHDRAWN"}
	if int(s) < len(names) {
		return names[s]
	}
	return "?"
}

// Kind is the shape of the answer.
type Kind uint8

// Kinds, as on the wire and on disk. Those from 16 up are asked by the server
// alone.
const (
	ConfirmAction Kind = 1
	Choose        Kind = 2
	Text          Kind = 3
	Form          Kind = 4
	OpenURL       Kind = 5
	ReviewResult  Kind = 16
	// ResolveUncertain: was this effect done? About names it.
	ResolveUncertain Kind = 17
	// Stalled: nobody is there to do this task. About names it.
	Stalled Kind = 18
	// AfterRestore: the server was restored from a backup; may the work go on?
	AfterRestore Kind = 21
)

// String is the word that enters the asked digest, so it never changes.
func (k Kind) String() string {
	switch k {
	case ConfirmAction:
		return "CONFIRM_ACTION"
	case Choose:
		return "CHOOSE"
	case Text:
		return "TEXT"
	case Form:
		return "FORM"
	case OpenURL:
		return "OPEN_URL"
	case ReviewResult:
		return "REVIEW_RESULT"
	case ResolveUncertain:
		return "RESOLVE_UNCERTAIN"
	case Stalled:
		return "STALLED"
	case AfterRestore:
		return "RESTORED"
	default:
		return "?"
	}
}

// OfServer reports whether only the server asks this.
func (k Kind) OfServer() bool { return k >= ReviewResult }

// OptionKind says what choosing an option means.
type OptionKind uint8

// Kinds of options, as on the wire and on disk.
const (
	AllowOnce  OptionKind = 1
	RejectOnce OptionKind = 2
	Pick       OptionKind = 3
	Respond    OptionKind = 4
	// Edit allows the action with the arguments that come with the answer.
	Edit OptionKind = 5
	// Ignore goes on without an answer, Cancel dismisses the question. Neither
	// allows anything, and neither is a denial.
	Ignore OptionKind = 6
	Cancel OptionKind = 7
)

// String is the word that enters the asked digest, so it never changes.
func (k OptionKind) String() string {
	names := [...]string{"", "ALLOW_ONCE", "REJECT_ONCE", "CHOOSE", "RESPOND", "EDIT", "IGNORE", "CANCEL"}
	if int(k) < len(names) {
		return names[k]
	}
	return "?"
}

// TextRule says whether an option takes a text.
type TextRule uint8

// Rules, as on the wire and on disk.
const (
	TextNone     TextRule = 1
	TextOptional TextRule = 2
	TextRequired TextRule = 3
)

// Option is one way to answer an item.
type Option struct {
	ID    string
	Label string
	Kind  OptionKind
	Text  TextRule
	// Prefill is where the text starts; the agent's words, not the person's.
	Prefill string
}

// Lowers reports whether choosing such an option lets nothing happen.
func (k OptionKind) Lowers() bool { return k == RejectOnce || k == Ignore || k == Cancel }

// Class is how much harm an action can do, 0 to 4.
type Class uint8

// Classes of actions.
const (
	ReadPublic      Class = 0
	ReadPrivate     Class = 1
	WriteReversible Class = 2
	Outward         Class = 3
	Irreversible    Class = 4
)

// Digest is a SHA-256 over canonical JSON.
type Digest [32]byte

// Action is what the agent wants to do, with its arguments as the bytes that
// came in.
type Action struct {
	App        string
	Connection string
	Operation  string
	ArgsJSON   []byte
	TargetJSON []byte
	// Class is the agent's word; nil counts as Outward.
	Class  *Class
	Digest Digest
	// ArgsSchema is the JSON Schema that edited arguments have to satisfy, as
	// the bytes that came in; empty where any object will do.
	ArgsSchema []byte
}

// Fact is a label and a value that the server drew from an action.
type Fact struct {
	Label string
	Value string
	// Marked: characters nobody can see, or that look like others, were made
	// visible in it.
	Marked bool
}

// Item is one question of a decision.
type Item struct {
	ID       string
	Question string
	Action   *Action
	Options  []Option
	Facts    []Fact
	// Header is a word or two above the question.
	Header string
	// Schema is the JSON Schema of a form's content, as the bytes that came in.
	Schema []byte
	// URL is the page of an OPEN_URL question.
	URL string
	// Min and Max are how many options of kind Pick may be chosen; zero is
	// exactly one option.
	Min, Max uint32
	// Evidence is what there is to look at.
	Evidence []Evidence
}

// Option finds one by id.
func (i Item) Option(id string) (Option, bool) {
	n := slices.IndexFunc(i.Options, func(o Option) bool { return o.ID == id })
	if n < 0 {
		return Option{}, false
	}
	return i.Options[n], true
}

// OnExpiry says what silence does.
type OnExpiry uint8

// What silence does, as on the wire and on disk.
const (
	TellAgent OnExpiry = 1
	StopTask  OnExpiry = 2
)

// Join says how the answers to several items belong together.
type Join uint8

// Joins, as on the wire and on disk.
const (
	// PerItem: each item stands by itself.
	PerItem Join = 1
	// AllItems: all actions are allowed or none is.
	AllItems Join = 2
)

// AnswerItem answers one item.
type AnswerItem struct {
	Item    string
	Options []string
	Text    string
	// EditedArgs are the whole arguments as the person wants them, as the bytes
	// that came in; Edited is the digest of the action with them.
	EditedArgs []byte
	Edited     Digest
	// Content is a filled-in form as the bytes that came in; ContentDigest is
	// that of its canonical form.
	Content       []byte
	ContentDigest Digest
}

// Surface is where a person answered.
type Surface uint8

// Surfaces, as on the wire and on disk.
const (
	SurfaceUnknown      Surface = 0
	SurfaceApp          Surface = 1
	SurfaceNotification Surface = 2
	SurfaceTerminal     Surface = 3
)

// String is the word that people and logs see.
func (s Surface) String() string {
	names := [...]string{"UNKNOWN", "APP", "NOTIFICATION", "TERMINAL"}
	if int(s) < len(names) {
		return names[s]
	}
	return "?"
}

// Answer is the one that won.
type Answer struct {
	Items        []AnswerItem
	Installation string
	Label        string
	Surface      Surface
	Key          string
	View         Digest
	Proof        []byte
	Time         time.Time
	// DeliverTime is when the agent acknowledged it; zero before.
	DeliverTime time.Time
}

// GrantState is the life of a single-use permission.
type GrantState uint8

// States of a grant, as on the wire and on disk.
const (
	Armed        GrantState = 1
	Consumed     GrantState = 2
	Void         GrantState = 3
	GrantExpired GrantState = 4
)

// String is the word that people and logs see.
func (s GrantState) String() string {
	names := [...]string{"", "ARMED", "CONSUMED", "VOID", "EXPIRED"}
	if int(s) < len(names) {
		return names[s]
	}
	return "?"
}

// Grant is the permission that an approval armed.
type Grant struct {
	ID         string
	Item       string
	Digest     Digest
	State      GrantState
	ExpireTime time.Time
	// Effect used it, at UseTime.
	Effect  string
	UseTime time.Time
}

// State is a decision.
type State struct {
	ID       string
	Task     string
	Thread   string
	Agent    string
	Key      string
	Revision uint32
	Status   Status
	Kind     Kind
	// About names what a question of the server is about, in which version: an
	// effect, or the offered result of the task. Both are empty for an agent's.
	About        string
	AboutVersion uint32
	Title        string
	Reason       string
	Items        []Item
	Asked        Digest
	Class        Class
	Join         Join
	// ExpireTime is zero where the question never ends by itself.
	ExpireTime time.Time
	OnExpiry   OnExpiry

	// Origin is the host that a program asks for; nil where it asks for itself.
	Origin *Origin

	// Reminders are when the person is called again, the next one first.
	Reminders []time.Time
	// SnoozeUntil is when a question that was put aside comes back; zero where it
	// was not.
	SnoozeUntil time.Time
	// Round counts how often the person was called again, so that each call is
	// one of its own.
	Round uint32

	Answer *Answer
	Grants []Grant

	CreateTime  time.Time
	CloseTime   time.Time
	CloseReason string
}

// Grant finds one by id.
func (s State) Grant(id string) (Grant, bool) {
	n := slices.IndexFunc(s.Grants, func(g Grant) bool { return g.ID == id })
	if n < 0 {
		return Grant{}, false
	}
	return s.Grants[n], true
}

// Item finds one by id.
func (s State) Item(id string) (Item, bool) {
	n := slices.IndexFunc(s.Items, func(i Item) bool { return i.ID == id })
	if n < 0 {
		return Item{}, false
	}
	return s.Items[n], true
}

// Open reports whether the question still waits at the given time.
func (s State) Open(now time.Time) bool { return s.Status == Pending && !s.Late(now) }

// Late reports whether the deadline has passed.
func (s State) Late(now time.Time) bool {
	return !s.ExpireTime.IsZero() && !now.Before(s.ExpireTime)
}

// Allows reports whether any of the chosen options permits an action.
func (s State) Allows(items []AnswerItem) bool {
	return slices.ContainsFunc(items, s.allows)
}

func (s State) allows(a AnswerItem) bool { return s.chose(a, AllowOnce) || s.chose(a, Edit) }

// Raises reports whether an answer does anything but refuse or dismiss: only
// that lowers risk.
func (s State) Raises(items []AnswerItem) bool {
	return !s.all(items, func(o Option) bool { return o.Kind.Lowers() })
}

// Refuses reports whether an answer says no to any item.
func (s State) Refuses(items []AnswerItem) bool {
	return slices.ContainsFunc(items, func(a AnswerItem) bool { return s.chose(a, RejectOnce) })
}

// all reports whether every item was answered with known options that are so.
func (s State) all(items []AnswerItem, so func(Option) bool) bool {
	for _, a := range items {
		n := slices.IndexFunc(s.Items, func(i Item) bool { return i.ID == a.Item })
		if n < 0 || len(a.Options) == 0 {
			return false
		}
		for _, id := range a.Options {
			if o, ok := s.Items[n].Option(id); !ok || !so(o) {
				return false
			}
		}
	}
	return true
}

// Denied returns the digests that an answer refused: of the action where there
// is one, else of the whole question.
func (s State) Denied() []Digest {
	if s.Status != Resolved || s.Answer == nil {
		return nil
	}
	var out []Digest
	for i, a := range s.Answer.Items {
		if !s.chose(a, RejectOnce) {
			continue
		}
		if act := s.Items[i].Action; act != nil {
			out = append(out, act.Digest)
		} else {
			out = append(out, s.Asked)
		}
	}
	return out
}

func (s State) chose(a AnswerItem, kind OptionKind) bool {
	n := slices.IndexFunc(s.Items, func(i Item) bool { return i.ID == a.Item })
	if n < 0 {
		return false
	}
	return slices.ContainsFunc(a.Options, func(id string) bool {
		o, ok := s.Items[n].Option(id)
		return ok && o.Kind == kind
	})
}
