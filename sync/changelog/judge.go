package changelog

import "github.com/beckon-dev/beckon/sync/off"

// Reset says why a cursor is not good any more. The zero value is no reset.
type Reset uint8

// Reasons, in the order in which they are looked for.
const (
	NoReset Reset = iota
	// Malformed: not a cursor of this server, or its horizon is missing.
	Malformed
	// Forbidden: a cursor of another scope or account.
	Forbidden
	// UnknownEpoch: of a history the store does not know, or of one it left
	// after the client saw what was lost.
	UnknownEpoch
	// Ahead: of this very history, yet ahead of the store. Somebody restored
	// it without saying so.
	Ahead
	// TooOld: tombstones after the cursor are gone.
	TooOld
)

// Base is where a scope stood when an epoch first wrote to it.
type Base struct {
	// Epoch is the index in the store's list.
	Epoch int
	// Head is the scope's last position before that write.
	Head Seq
}

// History is what a cursor is judged against.
type History struct {
	// Epochs is the store's list, oldest first; the last one is writing.
	Epochs []Epoch
	// Oldest is the index of the first epoch whose cursors may still be good.
	// Those before it are cut off: the store was restored, and written to
	// before anybody noticed, so that no base tells what was lost.
	Oldest int
	// Head is the scope's last position.
	Head Seq
	// Floor is the position at or below which tombstones have been purged.
	Floor Seq
	// Bases are in the order of their epochs.
	Bases []Base
}

// Current is the epoch that is writing.
func (h History) Current() Epoch {
	if len(h.Epochs) == 0 {
		return Epoch{}
	}
	return h.Epochs[len(h.Epochs)-1]
}

// Judge says whether a client may go on from cursor. horizon is the highest
// stamp it has applied: the cursor alone is not enough, because a page read in
// a lost future can end below a base while rows it skipped fall back under it.
func Judge(h History, cursor, horizon Position) Reset {
	if horizon.Epoch != cursor.Epoch || horizon.Seq < cursor.Seq {
		return Malformed
	}
	index := -1
	for i, e := range h.Epochs {
		if e == cursor.Epoch {
			index = i
		}
	}
	if index < 0 || index < h.Oldest {
		return UnknownEpoch
	}
	for _, b := range h.Bases {
		if b.Epoch > index && horizon.Seq > b.Head && !off.Rule("R25") {
			return UnknownEpoch
		}
	}
	if horizon.Seq > h.Head {
		if index == len(h.Epochs)-1 {
			return Ahead
		}
		return UnknownEpoch
	}
	if cursor.Seq < h.Floor {
		return TooOld
	}
	return NoReset
}
