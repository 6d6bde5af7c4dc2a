package store

import (
	"context"
	"strings"
	"time"
)

// ArtifactState is what the row of an artifact promises, on disk.
//
//	from      to        when
//	–         KEPT      its bytes are in place; the transaction gives it to a task
//	KEPT      DELETING  nobody has had it for the grace
//	DELETING  KEPT      its bytes were stored anew, for a task
//	DELETING  –         its bytes are gone
type ArtifactState uint8

// States of an artifact.
const (
	// ArtifactKept: the bytes are there.
	ArtifactKept ArtifactState = 1
	// ArtifactDeleting: the bytes may be gone. No task has it.
	ArtifactDeleting ArtifactState = 2
)

// Artifact says that bytes are kept, and counts against the account.
type Artifact struct {
	Size       uint64
	State      ArtifactState
	CreateTime time.Time
	// LooseTime is since when no task has it; zero while one does.
	LooseTime time.Time
}

// ArtifactRef says that a task has an artifact, and what it takes it for.
type ArtifactRef struct {
	Sum             Sum
	Task            string
	Name, MediaType string
	CreateTime      time.Time
}

// Loose is an artifact that no task has.
type Loose struct {
	Account string
	Sum     Sum
	Since   time.Time
}

// Artifact reads the row of bytes.
func (r *Read) Artifact(sum Sum) (Artifact, error) {
	return missing(getRow[Artifact](r.r, tabArtifact, accountKey(r.account, sum.String())))
}

// ArtifactBytes is what the account's artifacts take.
func (r *Read) ArtifactBytes() uint64 { return r.head.ArtifactBytes }

// ArtifactOf reads what a task takes an artifact for.
func (r *Read) ArtifactOf(task string, sum Sum) (ArtifactRef, error) {
	return missing(getRow[ArtifactRef](r.r, tabArtifactOf, accountKey(r.account, task, sum.String())))
}

// ArtifactsOf lists what a task has, by digest.
func (r *Read) ArtifactsOf(task string) ([]ArtifactRef, error) {
	var out []ArtifactRef
	err := scanRows(r.r, tabArtifactOf, append(accountKey(r.account, task), 0), func(_ []byte, ref ArtifactRef) bool {
		out = append(out, ref)
		return true
	})
	return out, err
}

// ArtifactHolders lists the tasks that have an artifact, in the order of their
// ids, until fn returns false.
func (r *Read) ArtifactHolders(sum Sum, fn func(task string) bool) error {
	prefix := append(accountKey(r.account, sum.String()), 0)
	return r.r.Scan(tabHolder, prefix, after(prefix), func(k, _ []byte) bool {
		return fn(string(k[len(prefix):]))
	})
}

// PutArtifact gives an artifact, whose bytes are in place, to a task.
func (t *Tx) PutArtifact(size uint64, ref ArtifactRef) error {
	row, found, err := getRow[Artifact](t.r, tabArtifact, accountKey(t.account, ref.Sum.String()))
	if err != nil {
		return err
	}
	if !found {
		row = Artifact{Size: size, CreateTime: t.now}
		t.head.ArtifactBytes += size
	}
	if err := t.tie(ref.Sum, row); err != nil {
		return err
	}
	row.State, row.LooseTime = ArtifactKept, time.Time{}
	if err := putRow(t.w, tabArtifact, accountKey(t.account, ref.Sum.String()), row); err != nil {
		return err
	}
	if err := t.w.Put(tabHolder, accountKey(t.account, ref.Sum.String(), ref.Task), []byte{1}); err != nil {
		return err
	}
	return putRow(t.w, tabArtifactOf, accountKey(t.account, ref.Task, ref.Sum.String()), ref)
}

// DropArtifact takes an artifact from a task. Bytes that no task has are swept
// after a grace.
func (t *Tx) DropArtifact(task string, sum Sum) error {
	if err := deleteRow(t.w, tabArtifactOf, accountKey(t.account, task, sum.String())); err != nil {
		return err
	}
	if err := t.w.Delete(tabHolder, accountKey(t.account, sum.String(), task)); err != nil {
		return err
	}
	row, found, err := getRow[Artifact](t.r, tabArtifact, accountKey(t.account, sum.String()))
	if err != nil || !found || !row.LooseTime.IsZero() {
		return err
	}
	held := false
	if err := t.ArtifactHolders(sum, func(string) bool { held = true; return false }); err != nil || held {
		return err
	}
	row.LooseTime = t.now
	if err := t.w.Put(tabLoose, looseKey(t.account, sum, row.LooseTime), []byte{1}); err != nil {
		return err
	}
	return putRow(t.w, tabArtifact, accountKey(t.account, sum.String()), row)
}

// DeletingArtifact says that the bytes of a loose artifact are about to go.
func (t *Tx) DeletingArtifact(sum Sum) error {
	row, err := t.Artifact(sum)
	if err != nil {
		return err
	}
	row.State = ArtifactDeleting
	return putRow(t.w, tabArtifact, accountKey(t.account, sum.String()), row)
}

// DeleteArtifact forgets an artifact whose bytes are gone.
func (t *Tx) DeleteArtifact(sum Sum) error {
	row, err := t.Artifact(sum)
	if err != nil {
		return err
	}
	if err := t.tie(sum, row); err != nil {
		return err
	}
	t.head.ArtifactBytes -= min(row.Size, t.head.ArtifactBytes)
	return deleteRow(t.w, tabArtifact, accountKey(t.account, sum.String()))
}

// tie takes an artifact off the list of the loose ones.
func (t *Tx) tie(sum Sum, row Artifact) error {
	if row.LooseTime.IsZero() {
		return nil
	}
	return t.w.Delete(tabLoose, looseKey(t.account, sum, row.LooseTime))
}

func looseKey(account string, sum Sum, since time.Time) []byte {
	return accountKey(beTime(since), account, sum.String())
}

// LooseArtifacts lists artifacts that no task has had since before a time,
// those that were left first in front, at most n.
func (s *Store) LooseArtifacts(ctx context.Context, before time.Time, n int) ([]Loose, error) {
	var out []Loose
	err := s.engine.View(ctx, "", func(r Reader) error {
		out = nil
		return r.Scan(tabLoose, nil, []byte(beTime(before)), func(k, _ []byte) bool {
			account, text, _ := strings.Cut(string(k[9:]), "\x00")
			if sum, ok := ParseSum(text); ok {
				out = append(out, Loose{Account: account, Sum: sum, Since: parseTime(k[:8])})
			}
			return len(out) < n
		})
	})
	return out, err
}
