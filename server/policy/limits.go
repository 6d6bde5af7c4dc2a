package policy

import "time"

// Limits are the working bounds of one server. The contract holds the hard
// ones; these may be lowered by the operator, and raised with a warning.
type Limits struct {
	// Counts per account.
	OpenTasks            int
	OpenDecisions        int
	OpenDecisionsPerTask int
	TimersPerTask        int
	OpenEffectsPerTask   int
	Agents               int
	Installations        int
	AddressesPerDevice   int
	PairingOffers        int
	// ArtifactBytes is what all artifacts of an account may take, ArtifactSize
	// one of them; both in bytes.
	ArtifactBytes, ArtifactSize int64
	ArtifactsPerTask            int

	// ArtifactGrace is how long bytes that nobody has are kept: longer than any
	// upload takes.
	ArtifactGrace time.Duration

	// KeysPerAgent may be active at a time.
	KeysPerAgent int

	// NoWorkerShow is how long a READY task may be without a worker before people
	// are told, NoWorkerAsk before the person is asked, and NoWorkerAgain before
	// one who chose to wait is asked anew.
	NoWorkerShow, NoWorkerAsk, NoWorkerAgain time.Duration
	// SilenceDefault is how long a worker may say nothing where its task names
	// no span.
	SilenceDefault time.Duration

	LeaseDefault, LeaseMin, LeaseMax time.Duration
	MaxAttemptsDefault               int

	ClaimLife, OfferLife, UnlockOfferLife time.Duration
	// ClaimWindow is how long the claiming device counts as verified.
	ClaimWindow time.Duration
	Probation   time.Duration
	UnlockLife  time.Duration
	Elevation   time.Duration
	TaskToken   time.Duration
	KeyDays     int
	Idempotency time.Duration
	TapLife     time.Duration

	// PresenceLife is how long a report of presence proves anything.
	// PresenceGrace is how long an alert waits on a device that shows its
	// thread: 0 to 2 minutes.
	PresenceLife, PresenceGrace time.Duration

	// How long what is over is kept: tombstones of the sync, after which an older
	// cursor starts again; rows of pushes; and what only a living task needs.
	TombstoneLife, DeliveryLife, LeftoverLife time.Duration

	// Wrong tries that end a pairing offer or an unlock.
	DigitTries, UnlockTries int

	// Rates per second, with bursts.
	InstallationRate, AgentRate, AnonymousRate    float64
	InstallationBurst, AgentBurst, AnonymousBurst int
	// Waits are the longest long polls.
	PullWait, ClaimWait, DecisionWait time.Duration

	// DueAtOnce is how many accounts' due work is done at a time.
	DueAtOnce int

	// Streams that may be open at a time.
	StreamsPerDevice, StreamsPerAccount int
	// Beat is the time between heartbeats of a stream, give or take a fifth.
	Beat time.Duration
	// StreamAgeMin and StreamAgeMax are between which ages a stream ends.
	StreamAgeMin, StreamAgeMax time.Duration
	// ResumeRate is how many streams a second this server takes back after a
	// restart; clients are asked to spread themselves over the time it needs.
	// Two cores shake 250 to 460 hands a second while they serve the rest.
	ResumeRate int
}

// DefaultLimits are the ones in force unless the operator says otherwise.
func DefaultLimits() Limits {
	return Limits{
		OpenTasks: 1000, OpenDecisions: 200, OpenDecisionsPerTask: 20, TimersPerTask: 100, OpenEffectsPerTask: 100,
		Agents: 100, Installations: 20, AddressesPerDevice: 4, PairingOffers: 3, KeysPerAgent: 2,
		NoWorkerShow: 2 * time.Minute, NoWorkerAsk: time.Hour, NoWorkerAgain: 24 * time.Hour, SilenceDefault: 30 * time.Minute,
		ArtifactBytes: 1 << 30, ArtifactSize: 32 << 20, ArtifactsPerTask: 200, ArtifactGrace: 24 * time.Hour,
		LeaseDefault: 30 * time.Second, LeaseMin: time.Second, LeaseMax: 300 * time.Second,
		MaxAttemptsDefault: 5,
		ClaimLife:          30 * time.Minute, OfferLife: 2 * time.Minute, UnlockOfferLife: 2 * time.Minute,
		ClaimWindow: 30 * time.Minute, Probation: 24 * time.Hour, UnlockLife: 15 * time.Minute,
		Elevation: 5 * time.Minute, TaskToken: time.Hour, KeyDays: 90,
		Idempotency: 30 * 24 * time.Hour, TapLife: time.Hour,
		PresenceLife: 30 * time.Second, PresenceGrace: 5 * time.Second,
		TombstoneLife: 30 * 24 * time.Hour, DeliveryLife: 30 * 24 * time.Hour, LeftoverLife: 7 * 24 * time.Hour,
		DigitTries: 2, UnlockTries: 5,
		InstallationRate: 20, InstallationBurst: 60, AgentRate: 20, AgentBurst: 100,
		AnonymousRate: 1, AnonymousBurst: 10,
		DueAtOnce: 16,
		PullWait:  25 * time.Second, ClaimWait: 60 * time.Second, DecisionWait: 60 * time.Second,
		StreamsPerDevice: 4, StreamsPerAccount: 16,
		Beat: 25 * time.Second, StreamAgeMin: 15 * time.Minute, StreamAgeMax: 30 * time.Minute, ResumeRate: 250,
	}
}

// BenchLimits are those of load tests: the same shape, with rates out of the
// way. They are a named set so that numbers can say what they were made with.
func BenchLimits() Limits {
	l := DefaultLimits()
	l.OpenTasks, l.OpenDecisions = 1<<30, 1<<30
	l.StreamsPerDevice, l.StreamsPerAccount = 1<<30, 1<<30
	l.InstallationRate, l.AgentRate, l.AnonymousRate = 1e9, 1e9, 1e9
	l.InstallationBurst, l.AgentBurst, l.AnonymousBurst = 1<<30, 1<<30, 1<<30
	return l
}
