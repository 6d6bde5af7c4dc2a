package push

import "time"

// AddressKind says which vendor an address belongs to and what its opaque
// token means there.
type AddressKind string

// The kinds of addresses. Google hands out registration tokens and, in their
// place, Firebase installation ids; one device may move from one to the other.
const (
	// KindAPNs is a device token of Apple's push service.
	KindAPNs AddressKind = "apns"
	// KindFCMToken is a registration token of Firebase Cloud Messaging.
	KindFCMToken AddressKind = "fcm_token"
	// KindFCMFID is a Firebase installation id.
	KindFCMFID AddressKind = "fcm_fid"
)

// Lanes: one for each vendor, so that the outage of one delays nobody else.
const (
	LaneAPNs = "apns"
	LaneFCM  = "fcm"
)

// Lane names the vendor that sends to an address of this kind. Two addresses of
// one app on one device and one lane are the same endpoint under two names.
func (k AddressKind) Lane() string {
	switch k {
	case KindAPNs:
		return LaneAPNs
	case KindFCMToken, KindFCMFID:
		return LaneFCM
	default:
		return ""
	}
}

// Env is the vendor environment an address was registered in. Apple device
// tokens are valid in exactly one; vendors without environments leave it empty.
type Env string

// The two environments of APNs.
const (
	EnvSandbox    Env = "sandbox"
	EnvProduction Env = "production"
)

// Other returns the environment a token may belong to when e refused it, or
// the empty string for vendors without environments.
func (e Env) Other() Env {
	switch e {
	case EnvSandbox:
		return EnvProduction
	case EnvProduction:
		return EnvSandbox
	default:
		return ""
	}
}

// AddressState is the health of an address as sync reports it to its owner, so
// that a phone whose token was dropped registers again.
type AddressState string

// States of an address. Suspect addresses are still sent to: a refusal may be
// our own configuration. Denied means the person switched notifications off in
// the operating system.
const (
	AddressOK      AddressState = "ok"
	AddressSuspect AddressState = "suspect"
	AddressDead    AddressState = "dead"
	AddressDenied  AddressState = "denied"
)

// Level is how much of a card may stand on a lock screen.
type Level string

// Levels, from nothing but a constant sentence to the whole card.
const (
	LevelIDs   Level = "ids"
	LevelTitle Level = "title"
	LevelFull  Level = "full"
)

// Address is one push endpoint of one installation. An endpoint has one owner
// at a time: Generation is the value the address registry gave this owner, so
// a row whose generation is no longer the registry's was moved to another
// owner and must not be sent to.
type Address struct {
	// ID names the address within its account and survives token rotation.
	ID string
	// Account, Installation and App are the owner.
	Account      string
	Installation string
	App          string
	Kind         AddressKind
	// Env is where the token is valid, as registered or as learned since.
	Env Env
	// Token is the vendor's opaque device address. It is never logged.
	Token string
	// Topic is the bundle id the vendor files the push under.
	Topic string
	// AccountTag is the opaque tag that payloads carry and the app must match
	// before it shows or stores anything.
	AccountTag string
	Generation uint64
	// RegisteredAt is the last time the app handed in this token. A vendor's
	// word that a token died earlier than this is out of date.
	RegisteredAt time.Time
	State        AddressState
	// Locale is the device's BCP 47 language tag.
	Locale string
	// Level is what this device may show while locked.
	Level Level
}
