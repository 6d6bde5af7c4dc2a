package policy

import "github.com/beckon-dev/beckon/sync/decision"

// Presence is what an answer shows about the person behind it.
type Presence struct {
	// Proof: signed by the installation's key. Approval: by its approval key.
	Proof, Approval bool
	// Unlocked is the client's word; on a terminal it is the server's: another
	// installation unlocked it, or the claim is less than 30 minutes old.
	Unlocked bool
	// Notification: a button was tapped, on a screen that may be locked.
	Notification bool
	// Terminal: an agent may run beside it under the same user.
	Terminal bool
	// Interactive: a real terminal asked, with no task token in reach.
	Interactive bool
	// Probation: the installation is new.
	Probation bool
	// OptedIn: the person allows approving on notifications for this agent.
	OptedIn bool
}

// Given is the step that was reached.
func (p Presence) Given() decision.Step {
	switch {
	case p.Notification && (p.Proof || p.Approval):
		return decision.StepProof // whoever holds the phone, locked or not
	case p.Approval:
		return decision.StepVerified
	case p.Proof && p.Unlocked:
		return decision.StepUnlocked
	case p.Proof:
		return decision.StepProof
	default:
		return decision.StepCredential
	}
}

// Needed is the step an answer has to reach. Refusing is free for whoever has
// a credential; anything else depends on the class of harm (R23 and the ladder
// S0 to S3).
func Needed(class decision.Class, raises bool, p Presence) decision.Step {
	if !raises {
		return decision.StepCredential
	}
	if p.Terminal {
		return neededOnTerminal(class, p)
	}
	if p.Notification && (class > decision.WriteReversible || p.Probation || !p.OptedIn) {
		return decision.StepUnlocked // which a notification never reaches
	}
	need := decision.StepCredential
	switch class {
	case decision.ReadPublic, decision.ReadPrivate:
	case decision.WriteReversible:
		need = decision.StepProof
	case decision.Outward:
		need = decision.StepUnlocked
	default:
		need = decision.StepVerified
	}
	if p.Notification {
		need = max(need, decision.StepProof) // a tap always carries the proof
	}
	if p.Probation {
		need++
	}
	return need
}

func neededOnTerminal(class decision.Class, p Presence) decision.Step {
	switch {
	case !p.Interactive || p.Probation || class > decision.WriteReversible:
		return decision.StepOtherDevice
	case class == decision.WriteReversible:
		return decision.StepUnlocked
	default:
		return decision.StepProof
	}
}
