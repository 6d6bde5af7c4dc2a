package replica_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/replica"
)

const account = "acc_test"

var scope = changelog.ThreadScope("thr_test")

// row is an entity of the model server; a nil body is a tombstone.
type row struct {
	version changelog.Seq
	body    []byte
}

// server is one scope of a store as the protocol describes it, as small as it
// can be. Stamps and judgement are the real ones.
type server struct {
	codec  changelog.Codec
	epochs []changelog.Epoch
	bases  []changelog.Base
	head   changelog.Seq
	floor  changelog.Seq
	rows   map[changelog.Key]row
	// made numbers the epochs ever made, also the lost ones, and bodies the
	// values ever written, so that no two are alike.
	made, bodies uint64
}

func newServer() *server {
	s := &server{codec: changelog.NewCodec([]byte("0123456789abcdef")), rows: map[changelog.Key]row{}}
	s.newEpoch()
	return s
}

func (s *server) newEpoch() {
	s.made++
	var e changelog.Epoch
	// Later epochs do not sort behind earlier ones.
	binary.BigEndian.PutUint64(e[:], s.made*0x9e3779b97f4a7c15)
	s.epochs = append(s.epochs, e)
}

func (s *server) epoch() changelog.Epoch { return s.epochs[len(s.epochs)-1] }

func (s *server) at(seq changelog.Seq) changelog.Position {
	return changelog.Position{Epoch: s.epoch(), Seq: seq}
}

func (s *server) advance() changelog.Seq {
	index := len(s.epochs) - 1
	if n := len(s.bases); n == 0 || s.bases[n-1].Epoch < index {
		s.bases = append(s.bases, changelog.Base{Epoch: index, Head: s.head})
	}
	s.head++
	return s.head
}

func (s *server) write(k changelog.Key) {
	s.bodies++
	s.rows[k] = row{version: s.advance(), body: fmt.Appendf(nil, "%d", s.bodies)}
}

func (s *server) remove(k changelog.Key) {
	if s.rows[k].body != nil {
		s.rows[k] = row{version: s.advance()}
	}
}

// purge forgets tombstones, all but those of the last keep changes.
func (s *server) purge(keep changelog.Seq) {
	for k, r := range s.rows {
		if r.body == nil && r.version+keep <= s.head {
			s.floor = max(s.floor, r.version)
			delete(s.rows, k)
		}
	}
}

// backup is a copy of the store; restore goes back to one and begins an epoch.
func (s *server) backup() server {
	b := *s
	b.rows, b.epochs, b.bases = maps.Clone(s.rows), slices.Clone(s.epochs), slices.Clone(s.bases)
	return b
}

func (s *server) restore(b server) {
	made, bodies := s.made, s.bodies
	*s = b.backup()
	s.made, s.bodies = made, bodies
	s.newEpoch()
}

func (s *server) stamp() (asOf, epoch []byte) {
	e := s.epoch()
	return s.codec.Stamp(account, scope, s.at(s.head)), e[:]
}

// bootstrap answers a page of the present state, or refuses its token.
func (s *server) bootstrap(token []byte, limit int) (p replica.BootstrapPage, ok bool) {
	from, last := s.at(s.head), changelog.Key{}
	if len(token) > 0 {
		var err error
		if from, last, err = s.codec.OpenPageToken(account, scope, token); err != nil || from.Epoch != s.epoch() {
			return p, false
		}
	}
	window := len(token) == 0 && limit%2 == 1
	if window {
		// The latest come first; the pages behind them are the whole.
		p.Put = s.latest(limit)
		p.Page = s.codec.PageToken(account, scope, from, changelog.Key{})
	}
	for _, k := range s.keys() {
		if window {
			break
		}
		if less(k, last) || k == last || s.rows[k].body == nil {
			continue
		}
		if len(p.Put) == limit {
			p.Page = s.codec.PageToken(account, scope, from, p.Put[limit-1].Key)
			break
		}
		p.Put = append(p.Put, changelog.Entity{Key: k, Version: s.rows[k].version, Body: s.rows[k].body})
	}
	p.Complete = p.Page == nil
	p.Cursor = s.codec.Cursor(account, scope, from)
	p.AsOf, p.Epoch = s.stamp()
	return p, true
}

// latest is what was written last.
func (s *server) latest(n int) []changelog.Entity {
	var out []changelog.Entity
	for _, k := range s.keys() {
		if s.rows[k].body != nil {
			out = append(out, changelog.Entity{Key: k, Version: s.rows[k].version, Body: s.rows[k].body})
		}
	}
	slices.SortFunc(out, func(a, b changelog.Entity) int { return int(b.Version) - int(a.Version) })
	return out[:min(n, len(out))]
}

// pull answers what changed since a cursor, or why it is not good any more.
func (s *server) pull(cursor, horizon []byte, limit int) (replica.ChangesPage, changelog.Reset) {
	var p replica.ChangesPage
	from, err := s.codec.OpenCursor(account, scope, cursor)
	if err != nil {
		return p, changelog.Malformed
	}
	seen, err := s.codec.OpenStamp(account, scope, horizon)
	if err != nil {
		return p, changelog.Malformed
	}
	h := changelog.History{Epochs: s.epochs, Head: s.head, Floor: s.floor, Bases: s.bases}
	if reset := changelog.Judge(h, from, seen); reset != changelog.NoReset {
		return p, reset
	}
	keys := slices.DeleteFunc(s.keys(), func(k changelog.Key) bool { return s.rows[k].version <= from.Seq })
	slices.SortFunc(keys, func(a, b changelog.Key) int { return int(s.rows[a].version) - int(s.rows[b].version) })
	next := s.head // the last page ends at the head, also where purged rows were
	for i, k := range keys {
		if i == limit {
			p.More, next = true, s.rows[keys[i-1]].version
			break
		}
		r := s.rows[k]
		if r.body == nil {
			p.Del = append(p.Del, changelog.Tombstone{Key: k, Version: r.version})
		} else {
			p.Put = append(p.Put, changelog.Entity{Key: k, Version: r.version, Body: r.body})
		}
	}
	p.Next = s.codec.Cursor(account, scope, s.at(next))
	p.AsOf, p.Epoch = s.stamp()
	return p, changelog.NoReset
}

// point reads one entity.
func (s *server) point(k changelog.Key) (p replica.Point) {
	if r := s.rows[k]; r.body != nil {
		p.Put = []changelog.Entity{{Key: k, Version: r.version, Body: r.body}}
	}
	p.AsOf, p.Epoch = s.stamp()
	return p
}

// live is what a fresh read shows.
func (s *server) live() map[changelog.Key]string {
	out := map[changelog.Key]string{}
	for k, r := range s.rows {
		if r.body != nil {
			out[k] = string(r.body)
		}
	}
	return out
}

func (s *server) keys() []changelog.Key {
	return slices.SortedFunc(maps.Keys(s.rows), func(a, b changelog.Key) int {
		switch {
		case a == b:
			return 0
		case less(a, b):
			return -1
		default:
			return 1
		}
	})
}

func less(a, b changelog.Key) bool {
	return a.Kind < b.Kind || a.Kind == b.Kind && a.ID < b.ID
}

func shown(v *replica.View) map[changelog.Key]string {
	out := map[changelog.Key]string{}
	for e := range v.All() {
		out[e.Key] = string(e.Body)
	}
	return out
}
