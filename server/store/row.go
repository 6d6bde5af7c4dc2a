package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"
)

// Tables. Keys start with the account key unless noted as global.
const (
	tabMeta      Table = "meta"      // global: the store's own row
	tabHead      Table = "head"      // account
	tabAccount   Table = "account"   // global: account key → account row
	tabScope     Table = "scope"     // account, scope
	tabEntity    Table = "entity"    // account, scope, kind, id
	tabIndex     Table = "index"     // account, scope, seq → kind, id
	tabTask      Table = "task"      // account, task
	tabThread    Table = "thread"    // account, thread
	tabThreadOf  Table = "threadof"  // account, decision → thread
	tabTasksOf   Table = "tasksof"   // account, thread, task
	tabAsked     Table = "asked"     // account, task, decision
	tabOpen      Table = "open"      // account, task, decision: the open ones
	tabAskKey    Table = "askkey"    // account, task, "ask"/"item", agent's own name → decision or item
	tabDenied    Table = "denied"    // account, task, digest
	tabItemID    Table = "itemid"    // account, thread, position → item
	tabSignal    Table = "signal"    // account, task, id
	tabCheck     Table = "check"     // account, task, version
	tabAttention Table = "attention" // account, id
	tabOnce      Table = "once"      // account, principal, method, key
	tabInstall   Table = "install"   // account, installation
	tabFamily    Table = "family"    // account, installation
	tabUnlock    Table = "unlock"    // account, installation
	tabAgent     Table = "agent"     // account, agent
	tabLink      Table = "link"      // account, agent
	tabKeyOf     Table = "keyof"     // account, agent, key id
	tabTokenOf   Table = "tokenof"   // account, task, credential id → end, lease
	tabClaim     Table = "claim"     // global: agent, claim id → account, task
	tabLinked    Table = "linked"    // global: agent, account
	tabAddress   Table = "address"   // account, address
	tabSettings  Table = "settings"  // account
	tabAudit     Table = "audit"     // account, seq
	tabOutbox    Table = "outbox"    // account, delivery
	tabDue       Table = "due"       // account, kind, id → pointer key
	tabReadyOf   Table = "readyof"   // account, task → pointer key
	tabSent      Table = "sent"      // account, delivery → pointer key

	tabCredential Table = "credential" // global: credential id → row
	tabOfferCode  Table = "offercode"  // global: code hash → offer id
	tabOffers     Table = "offers"     // account, offer
	tabRegistry   Table = "registry"   // global: endpoint hash → owner
	tabPointDue   Table = "pointdue"   // global: time, kind, account, id
	tabPointReady Table = "pointready" // global: agent, time, account, task
	tabPointOut   Table = "pointout"   // global: lane, time, account, delivery
)

// accountKey joins the parts of a key. Parts never hold a zero byte: ids and
// words are printable, numbers go through be.
func accountKey(account string, parts ...string) []byte {
	n := len(account)
	for _, p := range parts {
		n += 1 + len(p)
	}
	b := make([]byte, 0, n)
	b = append(b, account...)
	for _, p := range parts {
		b = append(b, 0)
		b = append(b, p...)
	}
	return b
}

// be is a number whose bytes sort like it.
func be(n uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	return string(b[:])
}

// beTime is a time whose bytes sort like it, in microseconds.
func beTime(t time.Time) string {
	return be(uint64(max(t.UnixMicro(), 0)))
}

// after is the first key past all that have this prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("store: encode %T: %v", v, err)) // our own types always encode
	}
	return b
}

func decode[T any](b []byte) (T, error) {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("store: decode %T: %w", v, err)
	}
	return v, nil
}

func getRow[T any](r Reader, table Table, key []byte) (T, bool, error) {
	var v T
	b, err := r.Get(table, key)
	if err != nil || b == nil {
		return v, false, err
	}
	v, err = decode[T](b)
	return v, err == nil, err
}

func putRow[T any](w Writer, table Table, key []byte, v T) error {
	return w.Put(table, key, encode(v))
}

// scanRows decodes the rows under a prefix until fn returns false.
func scanRows[T any](r Reader, table Table, prefix []byte, fn func(key []byte, v T) bool) error {
	return scanRange(r.Scan, table, prefix, after(prefix), fn)
}

// scanRowsBack is scanRows from the last key to the first.
func scanRowsBack[T any](r Reader, table Table, prefix []byte, fn func(key []byte, v T) bool) error {
	return scanRange(r.ScanBack, table, prefix, after(prefix), fn)
}

type scanFunc func(table Table, from, to []byte, fn func(key, value []byte) bool) error

func scanRange[T any](scan scanFunc, table Table, from, to []byte, fn func(key []byte, v T) bool) error {
	var failed error
	err := scan(table, from, to, func(k, b []byte) bool {
		v, err := decode[T](b)
		if err != nil {
			failed = err
			return false
		}
		return fn(k, v)
	})
	if err != nil {
		return err
	}
	return failed
}

// parseTime reads what beTime wrote.
func parseTime(b []byte) time.Time {
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()
}
