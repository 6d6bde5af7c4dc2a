package app

import (
	"errors"
	"sync"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// Bounds of what is kept for sharing. A burst is over in moments, so this need
// not hold more than the pages of the accounts that something happens in now.
const (
	sharedPages = 1024
	sharedBytes = 4 << 20
)

// pageKey names a delta by everything it depends on. Each write to a scope moves
// its head, so two snapshots with the same head hold the same entities: whoever
// asks from the same place with the same head gets the same answer, byte by
// byte, and no read is taken for a later one.
type pageKey struct {
	account         string
	scope           changelog.Scope
	cursor, horizon string
	epoch           changelog.Epoch
	head, floor     changelog.Seq
	maxBytes        int
}

// Made is a place for what the edge makes of a delta: every delta with the same
// content has the same one, so it is made once, however many streams it goes to.
type Made struct {
	once  sync.Once
	value any
	err   error
}

// Do returns what build makes, which runs for the first caller only. The others
// wait for it and must not change the value.
func (m *Made) Do(build func() (any, error)) (any, error) {
	m.once.Do(func() {
		m.err = errUnread
		m.value, m.err = build()
	})
	return m.value, m.err
}

// pages are the deltas of late, the oldest of which give way. In a burst all
// streams of an account ask for the same one.
type pages struct {
	mu    sync.Mutex
	known map[pageKey]*page
	order []*page // oldest first; some are not known any more
	bytes int
}

// page is one delta, which the first who asks for it reads.
type page struct {
	key   pageKey
	bytes int // of the pages' lock
	once  sync.Once
	delta Delta
	err   error
}

// errUnread is of what nobody has come back with.
var errUnread = errors.New("app: page not read")

func newPages() *pages { return &pages{known: map[pageKey]*page{}} }

// share gives the delta with this key; of those who ask at the same time one
// reads. A read that failed is nobody else's: its error may be about its caller.
func (p *pages) share(key pageKey, read func() (Delta, error)) (Delta, error) {
	in, mine := p.find(key), false
	in.once.Do(func() {
		mine = true
		in.delta, in.err = read()
		p.settle(in)
	})
	if in.err != nil && !mine {
		return read()
	}
	return in.delta, in.err
}

// find gives the place of a delta, new or not.
func (p *pages) find(key pageKey) *page {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in, ok := p.known[key]; ok {
		return in
	}
	in := &page{key: key, err: errUnread}
	p.known[key], p.order = in, append(p.order, in)
	if len(p.order) > sharedPages {
		p.shrink()
	}
	return in
}

// settle counts what a read brought, and forgets what failed.
func (p *pages) settle(in *page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known[in.key] != in {
		return // has given way already
	}
	if in.err != nil {
		delete(p.known, in.key)
		return
	}
	in.bytes = sizeOf(in.delta)
	for p.bytes += in.bytes; p.bytes > sharedBytes; {
		p.shrink()
	}
}

// shrink lets the oldest give way.
func (p *pages) shrink() {
	in := p.order[0]
	p.order = p.order[1:]
	if p.known[in.key] == in {
		delete(p.known, in.key)
		p.bytes -= in.bytes
	}
}

// sizeOf is about what a delta keeps in memory, with what the edge makes of it.
func sizeOf(d Delta) int {
	size := 1024
	for _, e := range d.Page.Put {
		size += 256 + 2*len(e.Body)
	}
	return size + 256*len(d.Page.Del)
}

// shared is delta by way of what others have read.
func (a *App) shared(tx *store.Read, at At, maxBytes int) (Delta, error) {
	history, err := tx.History(at.Scope)
	if err != nil {
		return Delta{}, err
	}
	key := pageKey{
		account: tx.Account(), scope: at.Scope, cursor: string(at.Cursor), horizon: string(at.Horizon),
		epoch: history.Current(), head: history.Head, floor: history.Floor, maxBytes: maxBytes,
	}
	return a.pages.share(key, func() (Delta, error) { return a.delta(tx, at, history, maxBytes) })
}
