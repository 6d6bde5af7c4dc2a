package store

import (
	"encoding/binary"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/sync/draft"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// rows is the name of a table with the type of its rows and their codec, so
// that the compiler keeps records of another kind out of it.
type rows[T any, C codec[T]] string

// Tables of records. Keys of all tables start with the account key unless noted
// as global.
const (
	tabMeta       rows[meta, metaCodec]                 = "meta"       // global: the store's own row
	tabHead       rows[head, headCodec]                 = "head"       // account
	tabAccount    rows[AccountRow, accountCodec]        = "account"    // global: account key → account row
	tabScope      rows[scopeRow, scopeCodec]            = "scope"      // account, scope
	tabTask       rows[task.State, taskCodec]           = "task"       // account, task
	tabThread     rows[thread.State, threadCodec]       = "thread"     // account, thread
	tabTimer      rows[task.Timer, timerCodec]          = "timer"      // account, task, key
	tabSignal     rows[task.Signal, signalCodec]        = "signal"     // account, task, id
	tabCheck      rows[Checkpoint, checkpointCodec]     = "check"      // account, task, version
	tabOnce       rows[Idempotent, idempotentCodec]     = "once"       // account, principal, method, key
	tabInstall    rows[Installation, installationCodec] = "install"    // account, installation
	tabFamily     rows[credential.Family, familyCodec]  = "family"     // account, installation
	tabUnlock     rows[Unlock, unlockCodec]             = "unlock"     // account, installation
	tabAgent      rows[Agent, agentCodec]               = "agent"      // account, agent
	tabLink       rows[AgentLink, linkCodec]            = "link"       // account, agent
	tabKeyOf      rows[AgentKey, keyCodec]              = "keyof"      // account, agent, key id
	tabAddress    rows[push.Address, addressCodec]      = "address"    // account, address
	tabSettings   rows[Settings, settingsCodec]         = "settings"   // account
	tabQuiet      rows[push.Quiet, quietCodec]          = "quiet"      // account, address
	tabOutbox     rows[push.Delivery, deliveryCodec]    = "outbox"     // account, delivery
	tabCredential rows[Credential, credentialCodec]     = "credential" // global: credential id → row
	tabOffers     rows[Offer, offerCodec]               = "offers"     // account, offer
	tabRegistry   rows[Registered, ownerCodec]          = "registry"   // global: endpoint hash → owner
	tabEffect     rows[effect.State, effectCodec]       = "effect"     // account, effect
	tabArtifact   rows[Artifact, artifactCodec]         = "artifact"   // account, digest in hex
	tabDraft      rows[draft.State, draftCodec]         = "draft"      // account, thread or decision
	tabArtifactOf rows[ArtifactRef, artifactRefCodec]   = "artifactof" // account, task, digest in hex
	tabPointReady rows[readyRow, readyCodec]            = "pointready" // global: agent, time, account, task
)

// Tables of bare bytes: ids, pointers, marks, entities and the audit chain,
// whose bytes are hashed.
const (
	tabEntity    Table = "entity"    // account, scope, kind, id
	tabIndex     Table = "index"     // account, scope, seq → kind, id
	tabGone      Table = "gone"      // account, time, scope, kind, id → version of the tombstone
	tabThreadOf  Table = "threadof"  // account, decision → thread
	tabMoved     Table = "moved"     // account, time of the last move that clients saw, thread
	tabTasksOf   Table = "tasksof"   // account, thread, task
	tabAsked     Table = "asked"     // account, task, decision
	tabOpen      Table = "open"      // account, task, decision: open, or with armed grants
	tabGrantOf   Table = "grantof"   // account, grant → decision
	tabEffectsOf Table = "effectsof" // account, task, effect
	tabEffectKey Table = "effectkey" // account, task, agent's own name → effect
	tabAtWork    Table = "atwork"    // account, task, effect: begun, uncertain, or may begin again
	tabAskKey    Table = "askkey"    // account, task, "ask"/"item", agent's own name → decision or item
	tabDenied    Table = "denied"    // account, task, digest
	tabItemID    Table = "itemid"    // account, thread, position → item
	tabAttention Table = "attention" // account, id
	tabTokenOf   Table = "tokenof"   // account, task, credential id → end, lease
	tabClaim     Table = "claim"     // global: agent, claim id → account, task
	tabLinked    Table = "linked"    // global: agent, account
	tabAudit     Table = "audit"     // account, seq
	tabDue       Table = "due"       // account, kind, id → pointer key
	tabReadyOf   Table = "readyof"   // account, task → pointer key
	tabOfferCode Table = "offercode" // global: code hash → offer id
	tabPointDue  Table = "pointdue"  // global: time, kind, account, id
	tabPointOut  Table = "pointout"  // global: lane, time, account, delivery
	tabAbout     Table = "about"     // account, subject, delivery
	tabRecent    Table = "recent"    // account, time, delivery
	tabHolder    Table = "holder"    // account, digest in hex, task that has the artifact
	tabLoose     Table = "loose"     // global: time, account, digest in hex of an artifact that no task has
	tabUnread    Table = "unread"    // account, thread, task → notable position of an end that called
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

func getRow[T any, C codec[T]](r Reader, table rows[T, C], key []byte) (v T, found bool, err error) {
	b, err := r.Get(Table(table), key)
	if err != nil || b == nil {
		return v, false, err
	}
	var c C
	v, err = c.decode(b)
	return v, err == nil, err
}

func putRow[T any, C codec[T]](w Writer, table rows[T, C], key []byte, v T) error {
	var c C
	b, err := c.encode(v)
	if err != nil {
		return err
	}
	return w.Put(Table(table), key, b)
}

func deleteRow[T any, C codec[T]](w Writer, table rows[T, C], key []byte) error {
	return w.Delete(Table(table), key)
}

// scanRows decodes the rows under a prefix until fn returns false.
func scanRows[T any, C codec[T]](r Reader, table rows[T, C], prefix []byte, fn func(key []byte, v T) bool) error {
	return scanRange(r.Scan, table, prefix, after(prefix), fn)
}

type scanFunc func(table Table, from, to []byte, fn func(key, value []byte) bool) error

func scanRange[T any, C codec[T]](scan scanFunc, table rows[T, C], from, to []byte, fn func(key []byte, v T) bool) error {
	var c C
	var failed error
	err := scan(Table(table), from, to, func(k, b []byte) bool {
		v, err := c.decode(b)
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
