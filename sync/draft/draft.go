package draft

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
)

// Bounds of a draft.
const (
	// MaxTexts is how many texts a draft has: its own and three siblings.
	MaxTexts = 4
	// MaxWords bounds the words of a text, in bytes.
	MaxWords = 16384
	// MaxItems bounds what was chosen and filled in, in bytes over all items.
	// With them a whole draft fits a page of changes.
	MaxItems = 32768
)

// Errors of a write. Nothing is changed, and the text stays on its device.
var (
	// ErrFull: there is no room for a further text. Whoever has seen the others
	// builds on one of them, or names one as taken up.
	ErrFull = errors.New("draft: no room for a further text")
	// ErrLarge: more than MaxWords or MaxItems.
	ErrLarge = errors.New("draft: text too large")
)

// Base names a text as somebody saw it. The zero value is none.
type Base struct {
	Epoch changelog.Epoch
	Rev   uint64
}

// Text is one text of a draft.
type Text struct {
	// Rev is the text's name within the draft.
	Rev uint64
	// Base is what the text was built on.
	Base                Base
	Installation, Label string
	Words               string
	// Items are what was chosen and filled in so far, of a question; Revision
	// is that of the card they are for.
	Items    []decision.AnswerItem
	Revision uint32
	Time     time.Time
}

// same reports whether two texts say the same.
func (t Text) same(other Text) bool {
	return t.Words == other.Words && t.Revision == other.Revision && reflect.DeepEqual(t.Items, other.Items)
}

func (t Text) empty() bool { return t.Words == "" && len(t.Items) == 0 }

// size is the bytes of what was chosen and filled in.
func size(items []decision.AnswerItem) int {
	n := 0
	for _, it := range items {
		n += len(it.Item) + len(it.Text) + len(it.EditedArgs) + len(it.Content)
		for _, o := range it.Options {
			n += len(o)
		}
	}
	return n
}

// State is a draft. The zero value is one that was never written.
type State struct {
	// Subject is the thread it is written in or the question it answers, Thread
	// the thread of that.
	Subject, Thread string
	// Rev is the highest that was given to a text; it outlives them.
	Rev uint64
	// Texts are the own text, then the siblings, the newest first.
	Texts []Text
}

// Write is one write. Text.Rev and Text.Time are not looked at; an empty text
// takes away what its device has written.
type Write struct {
	Text Text
	// Merged are revs of texts that this one has taken up, or the person gives
	// up; they count only in the epoch of the text's base.
	Merged []uint64
}

// Apply gives the draft after a write in an epoch, and whether the text became
// a further one beside those that its writer did not know. The draft is the
// same, with the same Rev, where the write says nothing new. Errors: ErrFull,
// ErrLarge.
func Apply(s State, w Write, epoch changelog.Epoch, now time.Time) (next State, diverged bool, err error) {
	if len(w.Text.Words) > MaxWords || size(w.Text.Items) > MaxItems {
		return s, false, ErrLarge
	}
	next = s
	next.Texts = slices.Clone(s.Texts)
	known := w.Text.Base.Epoch == epoch
	if known {
		next.Texts = slices.DeleteFunc(next.Texts, func(t Text) bool {
			// What the text builds on is replaced by it, below.
			return slices.Contains(w.Merged, t.Rev) && (w.Text.empty() || t.Rev != w.Text.Base.Rev)
		})
	}
	if w.Text.empty() {
		next.Texts = slices.DeleteFunc(next.Texts, func(t Text) bool {
			return t.Installation == w.Text.Installation && continues(w.Text, t, known)
		})
		return next, false, nil
	}
	w.Text.Time = now
	if slices.ContainsFunc(next.Texts, w.Text.same) {
		return next, false, nil
	}
	w.Text.Rev = next.Rev + 1
	switch at := slices.IndexFunc(next.Texts, func(t Text) bool { return continues(w.Text, t, known) }); {
	case at >= 0:
		next.Texts[at] = w.Text
	case len(next.Texts) == 0:
		next.Texts = []Text{w.Text}
	case len(next.Texts) == MaxTexts:
		return s, false, ErrFull
	default:
		next.Texts = slices.Insert(next.Texts, 1, w.Text)
		diverged = true
	}
	next.Rev++
	return next, diverged, nil
}

// continues reports whether a write knows all that a text says: it builds on
// it, or it is of the same device and builds on what that text was built on.
func continues(w, t Text, known bool) bool {
	return known && w.Base.Rev == t.Rev || w.Installation == t.Installation && w.Base == t.Base
}

// Consume gives the draft without the text that was sent, and nothing else: a
// text that was written on since has another rev. A base of another epoch
// consumes nothing.
func Consume(s State, sent Base, epoch changelog.Epoch) State {
	if sent.Epoch != epoch {
		return s
	}
	return without(s, func(t Text) bool { return t.Rev == sent.Rev })
}

// Answered gives the draft without what a device has written, once that device
// has answered the question; what others wrote stays for the person to clear.
func Answered(s State, installation string) State {
	return without(s, func(t Text) bool { return t.Installation == installation })
}

func without(s State, gone func(Text) bool) State {
	s.Texts = slices.DeleteFunc(slices.Clone(s.Texts), gone)
	return s
}
