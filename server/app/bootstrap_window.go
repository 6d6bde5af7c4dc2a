package app

import (
	"errors"
	"slices"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/thread"
)

// Window is what a bootstrap sends first.
type Window uint8

// Windows, numbered as on the wire. One that does not fit the scope is none.
const (
	WindowNone   Window = 0
	WindowHome   Window = 1
	WindowThread Window = 2
)

// What a window holds at most. The bodies of the first screen are less than its
// limit on the wire by what ids, kinds and versions add.
const (
	homeDecisions = 50
	homeThreads   = 20
	homeBytes     = 24 << 10
	threadItems   = 30
	threadBytes   = 40 << 10
	threadTasks   = 50
	// anchorItems stand on either side of where a thread was left.
	anchorItems = 10
	// recentDecisions of a thread stand among its last items, answered or not.
	recentDecisions = 10
)

func windowBytes(wanted int) int {
	if wanted <= 0 || wanted > threadBytes {
		return threadBytes
	}
	return wanted
}

// home is what the first screen shows, the most urgent first, so that what does
// not fit is what can wait for the pages behind: an inbox of ten thousand
// threads opens as fast as one of twenty.
func home(tx *store.Read) ([]changelog.Entity, error) {
	keys := []changelog.Key{{Kind: changelog.Counters, ID: "counters"}, {Kind: changelog.Settings, ID: "settings"}}
	named := func(kind changelog.Kind, id string) {
		if id != "" {
			keys = append(keys, changelog.Key{Kind: kind, ID: id})
		}
	}
	open, err := tx.OpenHeaders(homeDecisions)
	if err != nil {
		return nil, err
	}
	for _, h := range open {
		named(changelog.DecisionHeader, h.ID)
		named(changelog.AgentLink, h.Agent)
	}
	recent, err := tx.MovedBefore(thread.State{}, homeThreads)
	if err != nil {
		return nil, err
	}
	for _, id := range recent {
		th, err := tx.Thread(id)
		if err != nil {
			return nil, err
		}
		named(changelog.ThreadHeader, id)
		named(changelog.TaskHeader, th.LastTask)
		named(changelog.AgentLink, th.Agent)
	}
	// Large texts can wait; they cut nothing off that is smaller.
	for _, kind := range []changelog.Kind{changelog.ViewState, changelog.Draft} {
		for _, id := range recent {
			named(kind, id)
		}
	}
	for _, h := range open {
		named(changelog.Draft, h.ID)
	}
	all, err := tx.Living(changelog.AccountScope, keys)
	return fitting(all, homeBytes), err
}

// fitting keeps the first entities that fit, and at least one.
func fitting(all []changelog.Entity, maxBytes int) []changelog.Entity {
	size := 0
	for i, e := range all {
		size += len(e.Body) + len(e.ID) + 16
		if i > 0 && size > maxBytes {
			return all[:i]
		}
	}
	return all
}

// threadWindow is what a thread opens with: its open questions, its last items,
// and the questions that stand among them. However long the thread is, it is one
// page.
func threadWindow(tx *store.Read, scope changelog.Scope, maxBytes int) ([]changelog.Entity, error) {
	tasks, err := tx.TasksOf(scope.Thread, threadTasks)
	if err != nil {
		return nil, err
	}
	var open, recent []changelog.Key
	for _, s := range tasks {
		asked, err := tx.OpenDecisions(s.ID)
		if err != nil {
			return nil, err
		}
		for _, d := range asked {
			open = append(open, changelog.Key{Kind: changelog.Decision, ID: d.ID})
		}
		if len(recent) >= recentDecisions {
			continue
		}
		asked, err = tx.DecisionsOf(s.ID, recentDecisions-len(recent))
		if err != nil {
			return nil, err
		}
		for _, d := range asked {
			recent = append(recent, changelog.Key{Kind: changelog.Decision, ID: d.ID})
		}
	}
	items, err := windowItems(tx, scope.Thread, maxBytes)
	if err != nil {
		return nil, err
	}
	keys := open
	for _, it := range items {
		keys = append(keys, changelog.Key{Kind: changelog.Item, ID: it.ID})
	}
	all, err := tx.Living(scope, slices.Concat(keys, recent))
	if err != nil {
		return nil, err
	}
	// Open questions are never left out: nothing else calls for the person.
	rest := len(all)
	for i, e := range all {
		if !slices.Contains(open, e.Key) {
			rest = i
			break
		}
	}
	return slices.Concat(all[:rest], fitting(all[rest:], maxBytes)), nil
}

// windowItems are the last items of a thread, and those around the place where
// it was left.
func windowItems(tx *store.Read, id string, maxBytes int) ([]thread.Item, error) {
	items, _, err := tx.Items(id, 0, threadItems, maxBytes)
	if err != nil {
		return nil, err
	}
	view, err := tx.View(id)
	if errors.Is(err, store.ErrNotFound) || err == nil && view.Anchor == 0 {
		return items, nil
	}
	if err != nil {
		return nil, err
	}
	around, _, err := tx.Items(id, view.Anchor+anchorItems+1, 2*anchorItems+1, maxBytes)
	return append(items, around...), err
}
