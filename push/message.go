package push

import "time"

// Message is one delivery, rendered for one device and ready to be sent.
type Message struct {
	// Delivery is the row's id, for logs and results.
	Delivery string
	// Address is the endpoint as read right before the send, with the row's
	// environment applied.
	Address    Address
	ProviderID string
	CollapseID string
	// ExpiresAt is when the vendor should stop trying. Zero means now or never.
	ExpiresAt time.Time
	Text      Text
	Payload   Payload
}

// Text is what the device shows by itself, already cut to fit.
type Text struct {
	Title string
	Body  string
}

// Payload is what travels for the app. Its JSON form is described at Encode.
type Payload struct {
	Kind Kind
	// Account is the opaque account tag of the receiving address.
	Account string
	Subject
	// Asked is the lower-case hex digest an answer to this card has to name;
	// empty for results.
	Asked string
	// AsOf is the opaque account stamp a read has to reach to see what the
	// push is about.
	AsOf  string
	Badge Badge
	// ExpiresAt tells the app when to hide its buttons; zero means never.
	ExpiresAt time.Time
	Actions   []Action
	// Tags are the collapse ids of alerts that are handled, in a sweep.
	Tags []string
}

// Badge is the absolute size of the attention set. Within one epoch a device
// ignores a badge of a lower version than one it has applied.
type Badge struct {
	Count   uint32
	Epoch   string
	Version uint64
}

// Verb is an answer that a button on a notification stands for.
type Verb string

// The verbs a notification may carry. Opening the card needs none.
const (
	Approve Verb = "approve"
	Deny    Verb = "deny"
)

// Action is one button: a verb and the single-use tap token that sends it.
type Action struct {
	Verb  Verb
	Token string
}

// HasAction reports whether a button for verb is on the notification.
func (p Payload) HasAction(verb Verb) bool {
	for _, a := range p.Actions {
		if a.Verb == verb {
			return true
		}
	}
	return false
}
