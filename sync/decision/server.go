package decision

import "time"

// Exits are the ids of the options of questions that the server asks. Each
// stands for one thing that happens when it is chosen.
const (
	// ExitAccept takes an offered result: the task is done.
	ExitAccept = "accept"
	// ExitSendBack asks for another result; the text says what is missing.
	ExitSendBack = "send_back"
	// ExitHappened says that an uncertain effect was done.
	ExitHappened = "happened"
	// ExitDoIt says that it was not, and is to be.
	ExitDoIt = "do_it"
	// ExitSkip says that it was not, and is not to be.
	ExitSkip = "skip"
	// ExitStop ends the task instead.
	ExitStop = "stop"
	// ExitKeepWaiting leaves a task to wait for a worker; the person is asked
	// again later.
	ExitKeepWaiting = "keep_waiting"
	// ExitGoOn lets the work go on that a restore has held.
	ExitGoOn = "go_on"
)

// Exits are the ways to answer a question of the server.
func Exits(k Kind) []Option {
	switch k {
	case ReviewResult:
		return []Option{
			{ID: ExitAccept, Label: "Accept", Kind: Pick, Text: TextNone},
			{ID: ExitSendBack, Label: "Send back", Kind: Pick, Text: TextRequired},
		}
	case ResolveUncertain:
		return []Option{
			{ID: ExitHappened, Label: "It happened", Kind: Pick, Text: TextNone},
			{ID: ExitDoIt, Label: "It did not: do it", Kind: AllowOnce, Text: TextNone},
			{ID: ExitSkip, Label: "It did not: skip it", Kind: RejectOnce, Text: TextNone},
			{ID: ExitStop, Label: "Stop the task", Kind: RejectOnce, Text: TextNone},
		}
	case Stalled:
		return []Option{
			{ID: ExitKeepWaiting, Label: "Keep waiting", Kind: Pick, Text: TextNone},
			{ID: ExitStop, Label: "Stop the task", Kind: RejectOnce, Text: TextNone},
		}
	case AfterRestore:
		return []Option{
			{ID: ExitGoOn, Label: "Let the work go on", Kind: Pick, Text: TextNone},
			{ID: ExitStop, Label: "Stop all of it", Kind: RejectOnce, Text: TextNone},
		}
	default:
		return nil
	}
}

// AskByServer completes a question of the server, which has one item. It never
// ends by itself: it outlives the lease and the agent of its task.
func AskByServer(s State, now time.Time) State {
	it := s.Items[0]
	s.Class = WriteReversible // a question without an action
	if it.Action != nil {
		s.Class = Outward // no class given
		if it.Action.Class != nil {
			s.Class = *it.Action.Class
		}
		it.Facts = drawFacts(*it.Action, s.Class)
	}
	if len(it.Options) == 0 {
		it.Options = Exits(s.Kind)
	}
	s.Items = []Item{it}
	s.Status, s.Revision, s.OnExpiry, s.CreateTime = Pending, 1, TellAgent, now
	return s
}

// Exit is how a question of the server was answered, with the words that came
// along; empty while it is not.
func (s State) Exit() (option, text string) {
	if !s.Kind.OfServer() || s.Answer == nil {
		return "", ""
	}
	a := s.Answer.Items[0]
	return a.Options[0], a.Text
}
