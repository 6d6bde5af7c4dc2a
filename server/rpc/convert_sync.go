package rpc

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/draft"
	"github.com/beckon-dev/beckon/sync/thread"
)

func scopeIn(field string, s *v1.Scope) (changelog.Scope, error) {
	switch scope := s.GetScope().(type) {
	case *v1.Scope_Account:
		if scope.Account {
			return changelog.AccountScope, nil
		}
	case *v1.Scope_ThreadId:
		return changelog.ThreadScope(scope.ThreadId), nil
	}
	return changelog.Scope{}, &app.FieldError{Field: field, Reason: "MISSING"}
}

func scopeOfSyncOut(s changelog.Scope) *v1.Scope {
	if s == changelog.AccountScope {
		return &v1.Scope{Scope: &v1.Scope_Account{Account: true}}
	}
	return &v1.Scope{Scope: &v1.Scope_ThreadId{ThreadId: s.Thread}}
}

func atIn(at []*v1.At) ([]app.At, error) {
	out := make([]app.At, len(at))
	for i, a := range at {
		scope, err := scopeIn(fmt.Sprintf("at[%d].scope", i), a.GetScope())
		if err != nil {
			return nil, err
		}
		out[i] = app.At{Scope: scope, Cursor: a.GetCursor(), Horizon: a.GetHorizon()}
	}
	return out, nil
}

// deltaOut gives the one message for all deltas with this content; nobody may
// change it.
func deltaOut(d app.Delta) (*v1.Delta, error) {
	made, err := d.Made.Do(func() (any, error) { return makeDelta(d) })
	if err != nil {
		return nil, err
	}
	out, ok := made.(*v1.Delta)
	if !ok {
		return nil, fmt.Errorf("rpc: a delta was made into %T", made)
	}
	return out, nil
}

func makeDelta(d app.Delta) (*v1.Delta, error) {
	out := &v1.Delta{Scope: scopeOfSyncOut(d.Scope)}
	if d.Reset != changelog.NoReset {
		out.Result = &v1.Delta_Reset_{Reset_: &v1.Reset{Reason: resetOut(d.Reset)}}
		return out, nil
	}
	put, err := entitiesOut(d.Page.Put)
	out.Result = &v1.Delta_Changes{Changes: &v1.Changes{
		Put: put, Del: mapAll(d.Page.Del, tombstoneOut), Next: d.Next, More: d.Page.More,
		AsOf: d.AsOf, Epoch: d.Page.AsOf.Epoch[:],
	}}
	return out, err
}

// resetOut: the wire's numbers are older than the order in which the reasons
// are looked for.
func resetOut(r changelog.Reset) v1.ResetReason {
	switch r {
	case changelog.Malformed:
		return v1.ResetReason_RESET_REASON_MALFORMED
	case changelog.Forbidden:
		return v1.ResetReason_RESET_REASON_FORBIDDEN
	case changelog.UnknownEpoch:
		return v1.ResetReason_RESET_REASON_EPOCH
	case changelog.Ahead:
		return v1.ResetReason_RESET_REASON_AHEAD
	case changelog.TooOld:
		return v1.ResetReason_RESET_REASON_TOO_OLD
	default:
		return v1.ResetReason_RESET_REASON_UNSPECIFIED
	}
}

func tombstoneOut(t changelog.Tombstone) *v1.Tombstone {
	return &v1.Tombstone{Id: t.ID, Kind: v1.EntityKind(t.Kind), Version: uint64(t.Version), Evicted: t.Evicted}
}

func entitiesOut(in []changelog.Entity) ([]*v1.Entity, error) {
	out := make([]*v1.Entity, len(in))
	for i, e := range in {
		stored, err := store.DecodeEntity(e.Kind, e.Body)
		if err != nil {
			return nil, err
		}
		message, err := entityOut(stored)
		if err != nil {
			return nil, err
		}
		// The same stored bytes always give the same wire bytes: a body changes
		// exactly when its version does.
		body, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil {
			return nil, fmt.Errorf("rpc: encode entity: %w", err)
		}
		out[i] = &v1.Entity{Id: e.ID, Kind: v1.EntityKind(e.Kind), Version: uint64(e.Version), Body: body, OriginMutation: e.Origin}
	}
	return out, nil
}

// entityOut gives the message that stands for a stored entity on the wire.
func entityOut(stored any) (proto.Message, error) {
	switch e := stored.(type) {
	case store.ThreadHeader:
		return threadHeaderOut(e), nil
	case store.TaskHeader:
		return taskHeaderOut(e), nil
	case store.DecisionHeader:
		return decisionHeaderOut(e), nil
	case store.Counters:
		return &v1.Counters{OpenDecisions: e.OpenDecisions, UnreadThreads: e.UnreadThreads, Badge: e.Badge()}, nil
	case store.Installation:
		return installationOut(e), nil
	case store.Settings:
		return settingsOut(e), nil
	case thread.Item:
		return itemOut(e), nil
	case decision.State:
		return decisionOut(e), nil
	case store.AgentLink:
		return linkOut(e), nil
	case draft.State:
		return draftOut(e), nil
	case thread.View:
		return viewOut(e), nil
	default:
		return nil, fmt.Errorf("rpc: no wire form for %T", stored)
	}
}
