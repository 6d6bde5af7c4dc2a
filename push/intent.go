package push

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// Kind is the cause of an intent. Exactly two call a person (R20), the others
// follow from those or were asked for.
type Kind string

// The two reasons to call a person.
const (
	DecisionRequired Kind = "decision_required"
	ResultReady      Kind = "result_ready"
)

// What else is sent.
const (
	// Withdraw takes an alert back that was accepted and is handled now.
	Withdraw Kind = "withdraw"
	// Sweep wakes the app of an iPhone to take away what withdrawals have left
	// there, and to count.
	Sweep Kind = "sweep"
	// BadgeOnly lowers the number on the icon.
	BadgeOnly Kind = "badge"
	// Test is a person trying out the own device.
	Test Kind = "test"
)

// Intent is what should be said to a person, independent of devices. It is
// written in the transaction of its cause; its id follows from its content, so
// a replayed command cannot say the same thing twice.
type Intent struct {
	ID   string
	Kind Kind
	Subject
	CreatedAt time.Time
	// ExpiresAt is when saying it becomes useless.
	ExpiresAt time.Time
}

// Subject names what an intent is about. Exactly one of Decision and the task
// alone is the thing itself; the other ids let the app open it.
type Subject struct {
	Thread string
	Task   string
	// Decision is empty for results.
	Decision string
	// Version is the decision's revision, or the version of the task's
	// outcome. A row of another version is superseded.
	Version uint32
}

// Key is the id of the thing itself: the decision where there is one, else the
// task. What shares a key replaces each other on the device.
func (s Subject) Key() string {
	if s.Decision != "" {
		return s.Decision
	}
	return s.Task
}

// idAlphabet keeps ids lower case and free of padding.
const idAlphabet = "0123456789abcdefghijklmnopqrstuv"

// IntentID derives the id of an intent. route is the account's routing key,
// which every id of an account carries.
func IntentID(route string, kind Kind, subject string, version uint32) string {
	var v [4]byte
	binary.BigEndian.PutUint32(v[:], version)
	return derivedID("int", route, string(kind), subject, string(v[:]))
}

// DeliveryID derives the id of the row for one intent and one address.
func DeliveryID(route, intent, address string) string {
	return derivedID("dlv", route, intent, address)
}

// derivedID hashes length-prefixed parts, so no two lists of parts collide by
// concatenation.
func derivedID(prefix, route string, parts ...string) string {
	h := sha256.New()
	for _, part := range append([]string{prefix}, parts...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	id := base32.NewEncoding(idAlphabet).WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:16])
	return prefix + "_" + route + "_" + id
}

// CollapseID is the replacement identity of a subject on every vendor: short
// enough for APNs (64 bytes) and Web Push (32), and free of anything readable.
func CollapseID(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:32]
}
