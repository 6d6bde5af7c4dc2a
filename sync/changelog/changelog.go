package changelog

import "encoding/hex"

// Seq is a position in one scope. The first change has 1; 0 is before all.
type Seq uint64

// Epoch names one uninterrupted history of the store. It is random, never a
// counter, because a restore would rewind a counter.
type Epoch [16]byte

// String is the epoch in hex, for logs.
func (e Epoch) String() string { return hex.EncodeToString(e[:]) }

// Scope is one ordered set of entities: a thread, or the account itself where
// Thread is empty.
type Scope struct {
	Thread string
}

// AccountScope holds headers, marks, counters, devices and settings.
var AccountScope = Scope{}

// ThreadScope holds the items and whole decisions of one thread.
func ThreadScope(id string) Scope { return Scope{Thread: id} }

// String names the scope within its account.
func (s Scope) String() string {
	if s.Thread == "" {
		return "account"
	}
	return "thread:" + s.Thread
}

// Kind says what an entity is. The numbers are those of the wire and of the
// disk, and never change.
type Kind uint8

// Kinds of entities and the scope each lives in.
const (
	ThreadHeader   Kind = 1  // account
	TaskHeader     Kind = 2  // account
	DecisionHeader Kind = 3  // account
	Counters       Kind = 4  // account
	Installation   Kind = 5  // account
	Settings       Kind = 6  // account
	Item           Kind = 7  // thread
	Decision       Kind = 8  // thread
	AgentLink      Kind = 9  // account
	Draft          Kind = 10 // account
	ViewState      Kind = 11 // account
)

// Key is an entity's name within its scope.
type Key struct {
	Kind Kind
	ID   string
}

// Entity is one thing as it stood at Version, with its stored bytes.
type Entity struct {
	Key
	Version Seq
	// Origin is the mutation that wrote this version; empty where none did.
	Origin string
	Body   []byte
}

// Tombstone says that an entity is gone, or only left the synced set.
type Tombstone struct {
	Key
	Version Seq
	Evicted bool
}

// Position is a sequence number in the epoch that gave it.
type Position struct {
	Epoch Epoch
	Seq   Seq
}

// Page is what one read at a cursor found.
type Page struct {
	Put  []Entity
	Del  []Tombstone
	Next Position
	// More: read again from Next, which is strictly greater than the cursor.
	More bool
	// AsOf is the head of the scope in the same snapshot.
	AsOf Position
}

// Empty reports whether the page tells nothing new.
func (p Page) Empty() bool { return len(p.Put) == 0 && len(p.Del) == 0 && !p.More }
