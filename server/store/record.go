package store

import (
	"cmp"
	"time"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// Checkpoint is one stored version of a task's state.
type Checkpoint struct {
	Version       uint64
	Data          []byte
	SchemaVersion uint32
	NextStep      string
	CreateTime    time.Time
}

// CheckpointsKept is how many versions of a task's state are kept.
const CheckpointsKept = 3

// TaskHeader is what lists show of a task.
type TaskHeader struct {
	ID, Thread, Agent, Title string
	Phase                    task.Phase
	Hold                     task.HoldKind
	Progress                 task.Progress
	ResultSummary            string
	FailureCode              string
	CreateTime, EndTime      time.Time
	// RetryTime is task.State.RetryTime.
	RetryTime time.Time
	// WaitingSince and WaitingFor are those of task.NoWorker.
	WaitingSince time.Time
	WaitingFor   string
	// EndPosition is task.State.EndPosition.
	EndPosition uint64
}

// ThreadHeader is what lists show of a thread.
type ThreadHeader struct {
	ID, Title, Agent       string
	Head, NotableHead      uint64
	Read                   thread.ReadMark
	Preview, LastTask      string
	CreateTime, UpdateTime time.Time
	Archived               bool
}

// HeaderOf is what lists show of a thread.
func HeaderOf(s thread.State) ThreadHeader {
	return ThreadHeader{
		ID: s.ID, Title: s.Title, Agent: s.Agent, Head: s.Head, NotableHead: s.NotableHead, Read: s.Read,
		Preview: s.Preview, LastTask: s.LastTask, CreateTime: s.CreateTime, UpdateTime: s.UpdateTime,
		Archived: s.Archived,
	}
}

// DecisionHeader is what lists show of a question.
type DecisionHeader struct {
	ID, Task, Thread, Agent string
	Status                  decision.Status
	Kind                    decision.Kind
	Title                   string
	Revision                uint32
	Class                   decision.Class
	ExpireTime, CreateTime  time.Time
	// SnoozeUntil is zero where it was not put aside.
	SnoozeUntil time.Time
	Winner      *Winner
}

// Open reports whether the question still waits for the person.
func (h DecisionHeader) Open() bool { return h.Status == decision.Pending }

// compare puts what ends first at the front, what has no end behind it, and of
// two that are alike the older one first.
func (h DecisionHeader) compare(other DecisionHeader) int {
	if a, b := h.ExpireTime.IsZero(), other.ExpireTime.IsZero(); a != b {
		if a {
			return 1
		}
		return -1
	}
	return cmp.Or(h.ExpireTime.Compare(other.ExpireTime), h.CreateTime.Compare(other.CreateTime), cmp.Compare(h.ID, other.ID))
}

// Winner is whose answer counts.
type Winner struct {
	Installation, Label string
	Surface             decision.Surface
	Time                time.Time
}

// Counters is what the badge shows.
type Counters struct {
	OpenDecisions uint32
	UnreadThreads uint32
}

// Badge is the size of the attention set.
func (c Counters) Badge() uint32 { return c.OpenDecisions + c.UnreadThreads }

// ContentLevel says how much a push may show.
type ContentLevel uint8

// Levels, as on the wire and on disk.
const (
	LevelIDs   ContentLevel = 1
	LevelTitle ContentLevel = 2
	LevelFull  ContentLevel = 3
)

// Settings are a person's choices.
type Settings struct {
	Level      ContentLevel
	KillSwitch KillSwitch
}

// KillSwitch stops every agent of the account; the zero value lets them work.
type KillSwitch struct {
	// By is the installation that turned it on.
	By    string
	Since time.Time
}

// On reports whether the agents are stopped.
func (k KillSwitch) On() bool { return !k.Since.IsZero() }

// Platform is what an installation runs on, as on the wire and on disk.
type Platform uint8

// Platforms.
const (
	PlatformIOS      Platform = 1
	PlatformAndroid  Platform = 2
	PlatformWeb      Platform = 3
	PlatformDesktop  Platform = 4
	PlatformTerminal Platform = 5
)

// InstallationState is the life of an installation, as on the wire and on disk.
type InstallationState uint8

// States of an installation.
const (
	InstallationProbation InstallationState = 1
	InstallationActive    InstallationState = 2
	InstallationRevoked   InstallationState = 3
)

// PushHealth tells a device whether it has to register again.
type PushHealth uint8

// Healths, as on the wire and on disk.
const (
	PushNone    PushHealth = 1
	PushOK      PushHealth = 2
	PushSuspect PushHealth = 3
	PushDead    PushHealth = 4
)

// Installation is one program on one device of a person.
type Installation struct {
	ID       string
	Label    string
	Platform Platform
	App      string
	Locale   string
	// PublicKey and ApprovalKey are uncompressed P-256 points.
	PublicKey   []byte
	ApprovalKey []byte
	State       InstallationState
	// ProbationEnd is when probation ends by itself.
	ProbationEnd time.Time
	// FullUntil ends the window after a claim in which this installation
	// counts as verified for account changes and as unlocked.
	FullUntil time.Time
	// ElevatedUntil ends what a proof by the approval key opened.
	ElevatedUntil time.Time
	// UnlockUntil ends what another installation unlocked on a terminal.
	UnlockUntil time.Time
	// AuthEpoch is raised to end every access token given before.
	AuthEpoch  uint64
	Health     PushHealth
	CreateTime time.Time
}

// Full reports whether probation is over.
func (i Installation) Full(now time.Time) bool {
	return i.State == InstallationActive || i.State == InstallationProbation && !now.Before(i.ProbationEnd)
}

// AgentScope is one thing an agent may do, as on the wire and on disk.
type AgentScope uint8

// Scopes of agents.
const (
	ScopeTaskCreate      AgentScope = 1
	ScopeTaskWork        AgentScope = 2
	ScopeDecisionRequest AgentScope = 3
	ScopeReadOwn         AgentScope = 4
	ScopeEffectWrite     AgentScope = 5
)

// Agent is a program with a stable identity, owned by an account.
type Agent struct {
	ID         string
	Name       string
	CreateTime time.Time
}

// AgentLink lets an agent work in an account.
type AgentLink struct {
	Agent      string
	Name       string
	Scopes     []AgentScope
	Ceiling    decision.Class
	LockScreen bool
	Revoked    bool
	CreateTime time.Time
}

// AgentKey is a stored credential of an agent: the hash, never the secret.
type AgentKey struct {
	ID         string
	Agent      string
	Hash       []byte
	CreateTime time.Time
	ExpireTime time.Time
	Revoked    bool
}

// TaskToken is a stored credential for one task under one lease.
type TaskToken struct {
	ID         string
	Agent      string
	Key        string
	Task       string
	Lease      string
	Hash       []byte
	ExpireTime time.Time
}

// AuditEntry is one link of an account's chain.
type AuditEntry struct {
	Seq     uint64    `json:"seq"`
	Prev    []byte    `json:"prev"`
	Time    time.Time `json:"time"`
	Actor   string    `json:"actor"`
	Kind    string    `json:"kind"`
	Subject string    `json:"subject"`
	Outcome string    `json:"outcome"`
	// Detail holds what else belongs to the fact, words and digests only.
	Detail map[string]string `json:"detail,omitempty"`
}

// Idempotent is the remembered result of a write: the hash of the command and
// the verb's own result, never wire bytes.
type Idempotent struct {
	BodyHash   []byte
	Result     []byte
	ExpireTime time.Time
}

// PairingState is the life of an offer, as on the wire and on disk.
type PairingState uint8

// States of an offer.
const (
	OfferOpen      PairingState = 1
	OfferRedeemed  PairingState = 2
	OfferConfirmed PairingState = 3
	OfferDead      PairingState = 4
)

// Offer is a pairing in progress.
type Offer struct {
	ID           string
	By           string // installation that offered
	SecretHash   []byte // of the QR secret
	CodeHash     []byte // of the typed code
	WrongSecrets int
	State        PairingState
	ExpireTime   time.Time
	NoProbation  bool
	DigitsHash   []byte
	Tries        int
	Device       Installation // as redeemed, without an id until confirmed
	KeyMAC       []byte       // of its key under the QR secret; the server cannot check it
	RedeemHash   []byte       // names the redeeming device
	Installation string       // once confirmed
	Refresh      string       // id of its first refresh token, once confirmed
}

// Unlock is what a terminal shows to be unlocked elsewhere.
type Unlock struct {
	DigitsHash []byte
	Tries      int
	ExpireTime time.Time
}

// head is the one row that every command of an account reads and writes.
type head struct {
	LastCommit time.Time
	Counters   Counters
	// LiveTasks counts the tasks that have not ended.
	LiveTasks int
	AuditSeq  uint64
	AuditHash []byte
	// ArtifactBytes is what the artifacts that have a row take.
	ArtifactBytes uint64
	// EpochNumber is the epoch whose consequences the account has drawn; 0
	// stands for 1.
	EpochNumber uint64
}

// scopeRow is where a scope stands.
type scopeRow struct {
	Head  changelog.Seq
	Floor changelog.Seq
	Bases []changelog.Base
}

// Registered is the owner of a push endpoint: an endpoint has one at a time.
type Registered struct {
	Account      string
	Installation string
	Address      string
	Generation   uint64
}
