package effect

import (
	"time"

	"github.com/beckon-dev/beckon/sync/proof"
)

// Status is where an effect stands. Zero means that nothing was begun.
type Status uint8

// States. The numbers are those of the wire and of the disk.
const (
	Begun           Status = 1
	Confirmed       Status = 2
	Failed          Status = 3
	Uncertain       Status = 4
	ResolvedByHuman Status = 5
)

// Statuses lists all of them, for tables that have to be complete.
var Statuses = [...]Status{Begun, Confirmed, Failed, Uncertain, ResolvedByHuman}

// String is the word that people and logs see.
func (s Status) String() string {
	names := [...]string{"none", "BEGUN", "CONFIRMED", "FAILED", "UNCERTAIN", "RESOLVED_BY_HUMAN"}
	if int(s) < len(names) {
		return names[s]
	}
	return "?"
}

// Exit is what a person says about an uncertain effect.
type Exit uint8

// Exits, as on the wire and on disk.
const (
	// Happened: it was done.
	Happened Exit = 1
	// DoIt: it was not done, and is to be done.
	DoIt Exit = 2
	// Skip: it was not done, and is not to be done.
	Skip Exit = 3
	// StopTask: whether or not, the task is to end.
	StopTask Exit = 4
)

// String is the word that people and logs see.
func (e Exit) String() string {
	names := [...]string{"", "HAPPENED", "DO_IT", "SKIP", "STOP_TASK"}
	if int(e) < len(names) {
		return names[e]
	}
	return "?"
}

// Opening is why another generation may begin.
type Opening uint8

// Reasons, as on disk.
const (
	// Shut: none may.
	Shut Opening = 0
	// AfterFailure: the holder of the lease confirmed a definite failure.
	AfterFailure Opening = 1
	// AfterPerson: a person said that it is to be done.
	AfterPerson Opening = 2
	// AfterProbe: a probe that a rule trusts found nothing.
	AfterProbe Opening = 3
)

// Kind is what somebody says about a generation.
type Kind uint8

// Kinds, as on the wire and on disk. The first three answer a probe.
const (
	// Found: the outside shows it.
	Found Kind = 1
	// NotFound: the outside does not show it.
	NotFound Kind = 2
	// Unknown: the outside does not say.
	Unknown Kind = 3
	// SaidOK and SaidFailed are confirmations that came too late to settle.
	SaidOK     Kind = 4
	SaidFailed Kind = 5
)

// Note is one thing that was said and did not settle the effect, or did.
type Note struct {
	Generation uint32
	Kind       Kind
	Text       string
	Time       time.Time
}

// MaxEvidence is how many notes are kept, the newest.
const MaxEvidence = 16

// MaxGenerations is up to which generation a definite failure opens the next.
const MaxGenerations = 3

// Action is what is done, with its arguments as the bytes that were approved.
type Action struct {
	App        string
	Connection string
	Operation  string
	ArgsJSON   []byte
	TargetJSON []byte
}

// State is an effect. Key names it within its task, for ever.
type State struct {
	ID     string
	Key    string
	Task   string
	Thread string
	Agent  string

	Action Action
	Digest proof.Digest
	// Class is the risk it was judged by, 0 to 4.
	Class uint8
	// Grant is the permission that the first generation consumed, with the
	// decision it came from; empty where a rule allowed the action.
	Grant    string
	Decision string
	// ProviderKey makes the outside drop a repeat. Probe says how it can be asked
	// whether it happened. Both are the agent's words.
	ProviderKey string
	Probe       string

	Status     Status
	Generation uint32
	// Skipped is the last generation that a history which is over can have given:
	// none of those up to it is the one that now counts.
	Skipped uint32
	// Attempt is the random name of the call that got the GO of this generation.
	Attempt string
	// Receipt is what the outside gave for it, or how it failed.
	Receipt string
	Opening Opening
	// OpenUntil ends an opening by a person.
	OpenUntil time.Time
	// Exit and By are set by a person.
	Exit Exit
	By   string
	// TaskEnded: nothing is done any more, whatever else follows.
	TaskEnded bool
	// Card is the question to the person while it is UNCERTAIN, and after.
	Card string

	Evidence []Note
	// Dropped counts notes that were too many.
	Dropped uint32

	// BeginTime is when the newest generation got its GO.
	BeginTime time.Time
	// UncertainTime is when its lease was gone; SettleTime when it was settled.
	UncertainTime time.Time
	SettleTime    time.Time
	CreateTime    time.Time
}

// Open reports whether another generation may begin as far as the effect
// itself can tell.
func (s State) Open() bool { return s.Opening != Shut }

// Unsettled reports whether the lease or a person still has to do with it: it
// was begun or is uncertain, or may begin again.
func (s State) Unsettled() bool {
	return s.Status == Begun || s.Status == Uncertain || s.Open()
}

// Exits are the ways out that a person is offered, in order.
func (s State) Exits() []Exit {
	if s.TaskEnded {
		return []Exit{Happened, Skip, StopTask}
	}
	return []Exit{Happened, DoIt, Skip, StopTask}
}
