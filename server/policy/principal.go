package policy

import "slices"

// Kind says what kind of caller a principal is.
type Kind uint8

// Kinds of principals. Anonymous is the zero value, so a caller nobody
// authenticated can do the least.
const (
	Anonymous Kind = iota
	// Installation is a device of a person that is past probation.
	Installation
	// Probation is a device that is not.
	Probation
	// Agent is a program with its own key.
	Agent
	// TaskToken is a child process of an agent, for one task under one lease.
	TaskToken
	// Operator is whoever reaches the admin socket.
	Operator
)

// Kinds lists all of them, for tables that have to be complete.
var Kinds = [...]Kind{Anonymous, Installation, Probation, Agent, TaskToken, Operator}

// String is the word for golden files and logs.
func (k Kind) String() string {
	names := [...]string{"anonymous", "installation", "probation", "agent", "task_token", "operator"}
	if int(k) < len(names) {
		return names[k]
	}
	return "?"
}

// Principal is whoever calls. It is made from a verified credential and from
// nothing in the request.
type Principal struct {
	Kind Kind
	// Account is the key of the person's account; empty for agents, which may
	// work in many.
	Account string
	// Installation is the person's device.
	Installation string
	// Agent and Key are the program and the key it used.
	Agent, Key string
	// Task and Lease are what a task token is good for.
	Task, Lease string
}

// Person reports whether a person's device calls.
func (p Principal) Person() bool { return p.Kind == Installation || p.Kind == Probation }

// Works reports whether a program calls that may work on a task of agent.
func (p Principal) Works(agent, task string) bool {
	return p.Agent == agent && (p.Kind == Agent || p.Kind == TaskToken && p.Task == task)
}

// ID names the principal in audit entries, idempotency records and logs.
func (p Principal) ID() string {
	switch p.Kind {
	case Installation, Probation:
		return p.Installation
	case Agent, TaskToken:
		return p.Agent
	case Operator:
		return "operator"
	default:
		return "anonymous"
	}
}

// Allowed reports whether kind is among those a row names.
func Allowed(row []Kind, kind Kind) bool { return slices.Contains(row, kind) }
