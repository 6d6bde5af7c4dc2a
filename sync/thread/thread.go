package thread

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Role says who speaks in an item.
type Role uint8

// Roles, as on the wire and on disk.
const (
	RoleAgent  Role = 1
	RolePerson Role = 2
	RoleTool   Role = 3
	RoleServer Role = 4
)

// ItemKind says what an item is.
type ItemKind uint8

// Kinds of items, as on the wire and on disk.
const (
	Message ItemKind = 1
	Output  ItemKind = 2
	Result  ItemKind = 3
	Failure ItemKind = 4
	Notice  ItemKind = 5
)

// Stream is where output came from.
type Stream uint8

// Streams, as on the wire and on disk.
const (
	StreamUnknown Stream = 0
	Stdout        Stream = 1
	Stderr        Stream = 2
)

// Part is one piece of an item: text for people, or a command's raw output.
type Part struct {
	Text string
	// Output is nil for text.
	Output *OutputPart
}

// OutputPart is what a command printed.
type OutputPart struct {
	Stream Stream
	Data   []byte
	// Omitted bytes stood right before Data.
	Omitted uint64
}

// Item is one entry of a timeline.
type Item struct {
	ID       string
	Thread   string
	Task     string
	Position uint64
	Role     Role
	Kind     ItemKind
	Parts    []Part
	// Notable items count as unread.
	Notable         bool
	NotablePosition uint64
	CreateTime      time.Time
}

// Text is what a preview may show: the first text of the item.
func (i Item) Text() string {
	for _, p := range i.Parts {
		if p.Text != "" {
			return p.Text
		}
	}
	return ""
}

// ReadMark is how far a person has read; marks merge by the larger one.
type ReadMark struct {
	Generation uint64
	Position   uint64
}

// Live is a task that has not ended.
type Live struct {
	Task       string
	Agent      string
	NoMessages bool
}

// State is a thread.
type State struct {
	ID    string
	Title string
	// Agent is that of the newest task; NoMessages says whether it reads any.
	Agent      string
	NoMessages bool

	Head        uint64
	NotableHead uint64
	Read        ReadMark
	Preview     string
	LastTask    string
	Live        []Live

	CreateTime time.Time
	UpdateTime time.Time
	// HeaderTime is when clients last saw the head move; non-notable items
	// move it at most every HeaderEvery.
	HeaderTime time.Time
	// Archived threads are out of the way until something happens in them.
	Archived bool
	// MoveTime is the UpdateTime that clients last saw: lists are in its order.
	// The store keeps it.
	MoveTime time.Time
}

// HeaderEvery bounds how often chatter rewrites a header that every client
// gets: 10,000 output lines must not be 10,000 changes of the account.
const HeaderEvery = 2 * time.Second

// PreviewRunes bounds the preview.
const PreviewRunes = 200

// ErrNoAgent: nobody is there to read a message.
var ErrNoAgent = errors.New("thread: no agent to read messages")

// Unread is the number of notable items not read.
func (s State) Unread() uint64 { return s.NotableHead - min(s.Read.Position, s.NotableHead) }

// TaskStarted makes a task the newest live one.
func TaskStarted(s State, l Live, now time.Time) State {
	s.Live = append(slices.Clone(s.Live), l)
	s.Agent, s.NoMessages, s.LastTask, s.UpdateTime = l.Agent, l.NoMessages, l.Task, now
	s.Archived = false
	return s
}

// TaskEnded takes a task from the live ones.
func TaskEnded(s State, task string, now time.Time) State {
	s.Live = slices.DeleteFunc(slices.Clone(s.Live), func(l Live) bool { return l.Task == task })
	s.UpdateTime = now
	return s
}

// Archive puts a thread out of the way, or fetches it back. What is open in it
// stays open and goes on calling: only lists leave it out.
func Archive(s State, away bool) State {
	s.Archived = away
	return s
}

// Asked says that a question of the thread calls for the person.
func Asked(s State, now time.Time) State {
	s.UpdateTime, s.Archived = now, false
	return s
}

// Append gives an item its place. What is worth the person's attention, or is
// the person's own, brings an archived thread back. What a person writes is read by that person
// already, so it never counts as unread.
func Append(s State, it Item, now time.Time) (State, Item) {
	s.Head++
	it.Thread, it.Position, it.CreateTime = s.ID, s.Head, now
	if it.Role == RolePerson || it.Kind == Output {
		it.Notable = false
	}
	if it.Notable || it.Role == RolePerson {
		s.Archived = false
	}
	if it.Notable {
		s.NotableHead++
		it.NotablePosition = s.NotableHead
	}
	if text := it.Text(); text != "" && it.Kind != Output {
		s.Preview = preview(text)
	}
	s.UpdateTime = now
	return s, it
}

// Route says which live task reads a message; none means that a new task is
// to be made. usable says whether the thread's agent may work in the account.
func Route(s State, usable bool) (task string, err error) {
	if n := len(s.Live); n > 0 {
		if s.Live[n-1].NoMessages {
			return "", ErrNoAgent
		}
		return s.Live[n-1].Task, nil
	}
	if s.Agent == "" || s.NoMessages || !usable {
		return "", ErrNoAgent
	}
	return "", nil
}

// MarkRead merges a mark. A position above the head is cut to it: a mark from
// a lost future would hide results still to come.
func MarkRead(s State, m ReadMark) State {
	m.Position = min(m.Position, s.NotableHead)
	if m.Generation > s.Read.Generation || m.Generation == s.Read.Generation && m.Position > s.Read.Position {
		s.Read = m
	}
	return s
}

// ShowHead reports whether clients should see the head move now. worth says
// that it moved for more than chatter.
func ShowHead(s State, worth bool, now time.Time) bool {
	return worth || now.Sub(s.HeaderTime) >= HeaderEvery
}

// preview is the first line's start, cut between characters.
func preview(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= PreviewRunes {
		return text
	}
	return string([]rune(text)[:PreviewRunes-1]) + "…"
}
