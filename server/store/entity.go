package store

import (
	"fmt"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/draft"
	"github.com/beckon-dev/beckon/sync/thread"
)

// entity is a kind of synced entity with the type of its body and its codec.
type entity[T any, C codec[T]] changelog.Kind

const (
	entThreadHeader   = entity[ThreadHeader, threadHeaderCodec](changelog.ThreadHeader)
	entTaskHeader     = entity[TaskHeader, taskHeaderCodec](changelog.TaskHeader)
	entDecisionHeader = entity[DecisionHeader, decisionHeaderCodec](changelog.DecisionHeader)
	entCounters       = entity[Counters, countersCodec](changelog.Counters)
	entInstallation   = entity[Installation, installationCodec](changelog.Installation)
	entSettings       = entity[Settings, settingsCodec](changelog.Settings)
	entItem           = entity[thread.Item, itemCodec](changelog.Item)
	entDecision       = entity[decision.State, decisionCodec](changelog.Decision)
	entAgentLink      = entity[AgentLink, linkCodec](changelog.AgentLink)
	entDraft          = entity[draft.State, draftCodec](changelog.Draft)
	entViewState      = entity[thread.View, viewCodec](changelog.ViewState)
)

func decodeEntity[T any, C codec[T]](_ entity[T, C], body []byte) (T, error) {
	var c C
	return c.decode(body)
}

// publishAs publishes a value as an entity of its kind.
func publishAs[T any, C codec[T]](t *Tx, scope changelog.Scope, kind entity[T, C], id string, v T) error {
	var c C
	body, err := c.encode(v)
	if err != nil {
		return err
	}
	return t.publish(scope, changelog.Key{Kind: changelog.Kind(kind), ID: id}, body)
}

// DecodeEntity reads the stored bytes of a synced entity, so that whoever
// sends it never learns how it is stored. The result is a ThreadHeader,
// TaskHeader, DecisionHeader, Counters, Installation, Settings, thread.Item,
// decision.State, AgentLink, draft.State or thread.View, by kind. The error means damage, or a kind that
// this release does not know.
func DecodeEntity(kind changelog.Kind, body []byte) (any, error) {
	switch kind {
	case changelog.ThreadHeader:
		return decodeEntity(entThreadHeader, body)
	case changelog.TaskHeader:
		return decodeEntity(entTaskHeader, body)
	case changelog.DecisionHeader:
		return decodeEntity(entDecisionHeader, body)
	case changelog.Counters:
		return decodeEntity(entCounters, body)
	case changelog.Installation:
		return decodeEntity(entInstallation, body)
	case changelog.Settings:
		return decodeEntity(entSettings, body)
	case changelog.Item:
		return decodeEntity(entItem, body)
	case changelog.Decision:
		return decodeEntity(entDecision, body)
	case changelog.AgentLink:
		return decodeEntity(entAgentLink, body)
	case changelog.Draft:
		return decodeEntity(entDraft, body)
	case changelog.ViewState:
		return decodeEntity(entViewState, body)
	default:
		return nil, fmt.Errorf("store: unknown kind of entity: %d", kind)
	}
}
