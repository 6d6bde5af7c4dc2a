package app

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// ArchiveFilter says which threads are looked through.
type ArchiveFilter uint8

// Filters, numbered as on the wire.
const (
	AnyThread    ArchiveFilter = 0
	NotArchived  ArchiveFilter = 1
	OnlyArchived ArchiveFilter = 2
)

func (f ArchiveFilter) takes(s thread.State) bool {
	return f == AnyThread || s.Archived == (f == OnlyArchived)
}

// ListThreads asks for a page of threads.
type ListThreads struct {
	// Query holds the words to look for; without any, all threads are found.
	Query   string
	Archive ArchiveFilter
	// Size is how many at most; 0 means 30.
	Size int
	Page []byte
}

// ThreadMatch is a thread that was found, with its newest task.
type ThreadMatch struct {
	Thread thread.State
	Task   task.State
	// Position and Snippet tell of the item that was found; zero where the title
	// was.
	Position uint64
	Snippet  string
}

// ThreadPage is what was found up to a place; Next is empty at the end.
type ThreadPage struct {
	Matches []ThreadMatch
	Next    []byte
}

// What one call looks at, so that a search in a large account is many short
// reads and not one long one.
const (
	threadPage     = 30
	searchThreads  = 1000
	searchBytes    = 2 << 20
	searchItems    = 100
	searchItemsMax = 256 << 10
)

// ListThreads looks through the account's threads, those that moved last first,
// by words if there are any. A thread that moves while a client pages through
// may be named twice or, if it had not been reached, not at all: it is in the
// synced set then. Errors: ErrPage, ErrWrongPrincipal, ErrRevoked.
func (a *App) ListThreads(ctx context.Context, p policy.Principal, c ListThreads) (ThreadPage, error) {
	if c.Size == 0 {
		c.Size = threadPage
	}
	var page ThreadPage
	err := a.readAccount(ctx, p, func(tx *store.Read, _ store.Installation) error {
		from, err := a.openPlace(tx, c.Page)
		if err != nil {
			return err
		}
		s := search{tx: tx, words: wordsOf(c.Query), archive: c.Archive, want: c.Size, left: searchBytes}
		last, err := s.run(from)
		if err != nil {
			return err
		}
		page = ThreadPage{Matches: s.found}
		if last.id != "" {
			page.Next = a.sealPlace(tx, last)
		}
		return nil
	})
	return page, err
}

// place is where a search goes on: behind a thread, or within it before a
// position of its timeline.
type place struct {
	id     string
	moved  time.Time
	before uint64
}

func (a *App) sealPlace(tx *store.Read, at place) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(at.moved.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, at.before)
	return a.stamps.PageToken(tx.Account(), changelog.AccountScope, changelog.Position{}, changelog.Key{
		Kind: changelog.ThreadHeader, ID: string(b) + at.id,
	})
}

// openPlace reads what sealPlace wrote. A page token of a bootstrap names an
// epoch, so neither passes for the other.
func (a *App) openPlace(tx *store.Read, token []byte) (place, error) {
	if len(token) == 0 {
		return place{}, nil
	}
	position, key, err := a.stamps.OpenPageToken(tx.Account(), changelog.AccountScope, token)
	if err != nil || position != (changelog.Position{}) || len(key.ID) <= 16 {
		return place{}, ErrPage
	}
	b := []byte(key.ID)
	return place{
		moved:  time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(),
		before: binary.BigEndian.Uint64(b[8:]), id: string(b[16:]),
	}, nil
}

// search is one call's way through the threads.
type search struct {
	tx      *store.Read
	words   words
	archive ArchiveFilter
	want    int
	// left is how many bytes of text may still be looked at.
	left  int
	found []ThreadMatch
}

// run looks on from a place, and gives the place to go on at; none at the end.
func (s *search) run(from place) (place, error) {
	at := from
	if from.before > 0 {
		th, err := s.tx.Thread(from.id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return at, err
		}
		if err == nil {
			if at, err = s.look(th, from.before); err != nil || at.before > 0 {
				return at, err
			}
		}
	}
	at = place{id: from.id, moved: from.moved}
	for range searchThreads {
		if len(s.found) >= s.want || s.left <= 0 {
			return at, nil
		}
		ids, err := s.tx.MovedBefore(thread.State{ID: at.id, MoveTime: at.moved}, 1)
		if err != nil || len(ids) == 0 {
			return place{}, err
		}
		th, err := s.tx.Thread(ids[0])
		if err != nil {
			return at, err
		}
		if at, err = s.look(th, 0); err != nil || at.before > 0 {
			return at, err
		}
	}
	return at, nil
}

// look looks for the words in a thread: in its title, then in its items before a
// position, the newest first. It gives the place behind the thread, or, where
// there is more of it than may be looked at now, within.
func (s *search) look(th thread.State, before uint64) (place, error) {
	at := place{id: th.ID, moved: th.MoveTime}
	if !s.archive.takes(th) {
		return at, nil
	}
	if before == 0 && s.words.in(th.Title) {
		return at, s.hit(ThreadMatch{Thread: th})
	}
	for {
		items, more, err := s.tx.Items(th.ID, before, searchItems, min(searchItemsMax, max(s.left, 1)))
		if err != nil {
			return at, err
		}
		for _, it := range items {
			for _, part := range it.Parts {
				s.left -= len(part.Text)
				if s.words.in(part.Text) {
					return at, s.hit(ThreadMatch{Thread: th, Position: it.Position, Snippet: s.words.around(part.Text)})
				}
			}
			s.left -= itemCost
			before = it.Position
		}
		switch {
		case !more:
			return at, nil
		case s.left <= 0:
			at.before = before
			return at, nil
		}
	}
}

// itemCost is what an item costs beside its text.
const itemCost = 128

func (s *search) hit(m ThreadMatch) error {
	if m.Thread.LastTask != "" {
		var err error
		if m.Task, err = s.tx.Task(m.Thread.LastTask); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	s.found = append(s.found, m)
	return nil
}
