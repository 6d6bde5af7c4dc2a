package app

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// workers are the workers that this process has seen: those that wait for work,
// and those that hold a lease. Nothing of it is stored. After a start nobody has
// been seen, and who lives shows up again by the next claim or heartbeat.
type workers struct {
	mu sync.Mutex
	// byAgent has one sighting for each set of labels.
	byAgent map[string]map[string]*sighting
	// leases remember with which labels a lease was claimed.
	leases map[string]leaseSight
	// sweepAt is how many leases are kept before those that are over go.
	sweepAt int
}

// sighting is every worker of an agent that has the same labels.
type sighting struct {
	labels map[string]string
	// waiting for work now.
	waiting int
	// until is when one of them was, or will be, last there.
	until time.Time
}

type leaseSight struct {
	labels map[string]string
	until  time.Time
}

const (
	// sightings are kept for each agent: an agent cannot fill the memory by
	// inventing labels.
	maxSightings = 256
	// leasesSwept is the least number of leases that are looked through.
	leasesSwept = 1024
)

func newWorkers() *workers {
	return &workers{byAgent: map[string]map[string]*sighting{}, leases: map[string]leaseSight{}, sweepAt: leasesSwept}
}

// of finds or makes the sighting of an agent's workers with these labels.
func (w *workers) of(agent string, labels map[string]string) *sighting {
	var key strings.Builder
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		key.WriteString(k + "\x00" + labels[k] + "\x00")
	}
	all := w.byAgent[agent]
	if all == nil {
		all = map[string]*sighting{}
		w.byAgent[agent] = all
	}
	s := all[key.String()]
	if s == nil {
		if len(all) >= maxSightings {
			dropOldest(all)
		}
		s = &sighting{labels: labels}
		all[key.String()] = s
	}
	return s
}

// dropOldest forgets the labels that nobody waits with and that were there
// longest ago.
func dropOldest(all map[string]*sighting) {
	oldest := ""
	for key, s := range all {
		if s.waiting == 0 && (oldest == "" || s.until.Before(all[oldest].until)) {
			oldest = key
		}
	}
	delete(all, oldest)
}

// waits notes a worker that waits for work until done is called.
func (w *workers) waits(agent string, labels map[string]string) (done func(now time.Time)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.of(agent, labels)
	s.waiting++
	return func(now time.Time) {
		w.mu.Lock()
		defer w.mu.Unlock()
		s.waiting--
		s.until = later(s.until, now)
	}
}

// claimed notes a worker that holds a lease.
func (w *workers) claimed(agent string, labels map[string]string, lease string, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.leases) >= w.sweepAt {
		// A lease that ended before this one began is over or was extended; in
		// the latter case its heartbeat has moved the end.
		maps.DeleteFunc(w.leases, func(_ string, l leaseSight) bool { return l.until.Add(time.Minute).Before(until) })
		w.sweepAt = max(2*len(w.leases), leasesSwept)
	}
	w.leases[lease] = leaseSight{labels, until}
	s := w.of(agent, labels)
	s.until = later(s.until, until)
}

// beats notes that a worker still holds its lease. One that was not seen to
// claim it has at least the labels of its task.
func (w *workers) beats(agent, lease string, until time.Time, atLeast map[string]string) {
	w.mu.Lock()
	labels := atLeast
	if known, ok := w.leases[lease]; ok {
		labels = known.labels
	}
	w.mu.Unlock()
	w.claimed(agent, labels, lease, until)
}

// seen is when a worker that may have a task with these labels was last there:
// now, while one is; zero where none was.
func (w *workers) seen(agent string, labels map[string]string, now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	var last time.Time
	for _, s := range w.byAgent[agent] {
		switch {
		case !labelsMatch(labels, s.labels):
		case s.waiting > 0, s.until.After(now):
			return now
		default:
			last = later(last, s.until)
		}
	}
	return last
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
