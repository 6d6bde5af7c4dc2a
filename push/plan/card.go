package plan

import "github.com/beckon-dev/beckon/push"

// Card is what a person has to know to decide, as raw text; hidden characters
// are made visible here.
type Card struct {
	// Agent and Thread are display names.
	Agent  string
	Thread string
	// Question is the agent's own wording, Facts what the server drew itself.
	Question string
	Facts    []Fact
	// Class is the highest risk class of its items.
	Class int
	// MustView: evidence has to be opened in full before approving.
	MustView bool
	// Marked: the server had to make characters of its facts visible.
	Marked bool
	// Tappable: approve and deny each stand for one fixed answer to it.
	Tappable bool
}

// Fact is one line drawn by the server.
type Fact struct{ Label, Value string }

// maxTapClass is the highest risk class a notification may approve.
const maxTapClass = 2

// Offer is everything the rule about Approve on a notification looks at.
type Offer struct {
	Class    int
	MustView bool
	// Tappable is the card's.
	Tappable bool
	Level    push.Level
	// OptedIn: the person allowed lock-screen approval for this agent.
	OptedIn bool
	// Probation: the installation is too new to approve from a notification.
	Probation bool
	// Whole: the complete card fits uncut, and none of it had to be made
	// visible: what a person cannot read plainly is not approved at a glance.
	Whole bool
}

// MayApprove is R23: whether an Approve button may be on a notification. The
// tap still has to carry the installation's proof.
func MayApprove(o Offer) bool {
	return o.Tappable && o.Class >= 0 && o.Class <= maxTapClass && !o.MustView &&
		o.Level == push.LevelFull && o.OptedIn && !o.Probation && o.Whole
}
