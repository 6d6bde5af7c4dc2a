package replica_test

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/beckon-dev/beckon/sync/changelog"
)

var update = flag.Bool("update", false, "rewrite testdata/programs.json")

// programs is how many random worlds become vectors.
const programs = 24

// vector is what happened to one view, for the folds of other languages to go
// through and come to the same, byte for byte. Bytes are base64.
type vector struct {
	World int    `json:"world"`
	Steps []move `json:"steps"`
}

// move is one step of a vector. Do is bootstrap, changes, point or reset, with
// what was asked, the page and whether it was applied; store and kill, which
// goes back to what was stored; or check, with the whole view.
type move struct {
	Do      string     `json:"do"`
	Asked   []byte     `json:"asked,omitempty"`
	Horizon []byte     `json:"horizon,omitempty"`
	Page    *pageText  `json:"page,omitempty"`
	Applied bool       `json:"applied,omitempty"`
	View    *wholeText `json:"view,omitempty"`
}

type pageText struct {
	Put      []entityText `json:"put,omitempty"`
	Del      []entityText `json:"del,omitempty"`
	Page     []byte       `json:"page,omitempty"`
	Cursor   []byte       `json:"cursor,omitempty"`
	Complete bool         `json:"complete,omitempty"`
	AsOf     []byte       `json:"as_of"`
	Epoch    []byte       `json:"epoch"`
}

type wholeText struct {
	Entities      []entityText `json:"entities,omitempty"`
	Cursor        []byte       `json:"cursor,omitempty"`
	Horizon       []byte       `json:"horizon,omitempty"`
	Epoch         []byte       `json:"epoch,omitempty"`
	Bootstrapping bool         `json:"bootstrapping,omitempty"`
	Page          []byte       `json:"page,omitempty"`
	Deleted       []entityText `json:"deleted,omitempty"`
}

type entityText struct {
	Kind    changelog.Kind `json:"kind"`
	ID      string         `json:"id"`
	Version changelog.Seq  `json:"version"`
	Body    []byte         `json:"body,omitempty"`
}

// The vectors are what this fold does today. They have to hold every answer
// both applied and dropped, or another language's fold could get away with one.
func TestVectors(t *testing.T) {
	t.Parallel()
	var all []vector
	seen := map[string]int{}
	codes := [][]byte{
		// A delete between two pages of a bootstrap, whose tombstone comes first.
		{0, 0, 0, 2, 30, 0, 50, 0, 30, 2, 14, 2, 40, 2, 50, 1, 50, 0},
		// A pull answered after a restore, overtaken by a page of the lost future.
		{0, 3, 0, 0, 24, 28, 0, 49, 0, 0, 3, 28, 0, 26, 38, 0, 49, 0, 49, 0},
	}
	for seed := range uint64(programs) {
		codes = append(codes, randomProgram(rand.New(rand.NewPCG(seed, 26))))
	}
	for i, code := range codes {
		v := vector{World: i}
		w, p := newWorld(), &program{code: code}
		w.heard = func(m move) {
			v.Steps = append(v.Steps, m)
			if m.Applied {
				seen[m.Do+", applied"]++
			} else {
				seen[m.Do]++
			}
		}
		for len(p.code) > 0 {
			if err := w.step(p); err != nil {
				t.Fatal(err)
			}
		}
		w.check()
		if err := w.settle(); err != nil {
			t.Fatal(err)
		}
		w.check()
		all = append(all, v)
	}
	for _, do := range []string{
		"bootstrap", "bootstrap, applied", "changes", "changes, applied", "point", "point, applied",
		"reset", "reset, applied", "store", "kill",
	} {
		if seen[do] < 5 {
			t.Errorf("the vectors have %q %d times", do, seen[do])
		}
	}
	got, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := filepath.Join("testdata", "programs.json")
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("testdata/programs.json is not what the fold does; look why, then run with -update")
	}
}

// tell reports a step to whoever records the run.
func (w *world) tell(m move) {
	if w.heard != nil {
		w.heard(m)
	}
}

func (w *world) check() {
	s := w.view.Snapshot()
	w.tell(move{Do: "check", View: &wholeText{
		Entities: entityTexts(s.Entities), Cursor: s.Cursor, Horizon: s.Horizon, Epoch: s.Epoch,
		Bootstrapping: s.Bootstrapping, Page: s.Page, Deleted: tombstoneTexts(s.Deleted),
	}})
}

func (a answer) move(applied bool) move {
	m := move{Do: "reset", Asked: a.asked, Horizon: a.horizon, Applied: applied}
	switch {
	case a.page != nil:
		m.Do, m.Page = "bootstrap", &pageText{
			Put: entityTexts(a.page.Put), Page: a.page.Page, Cursor: a.page.Cursor,
			Complete: a.page.Complete, AsOf: a.page.AsOf, Epoch: a.page.Epoch,
		}
	case a.changes != nil:
		m.Do, m.Page = "changes", &pageText{
			Put: entityTexts(a.changes.Put), Del: tombstoneTexts(a.changes.Del), Cursor: a.changes.Next,
			AsOf: a.changes.AsOf, Epoch: a.changes.Epoch,
		}
	case a.point != nil:
		m.Do, m.Page = "point", &pageText{Put: entityTexts(a.point.Put), AsOf: a.point.AsOf, Epoch: a.point.Epoch}
	}
	return m
}

func entityTexts(all []changelog.Entity) (out []entityText) {
	for _, e := range all {
		out = append(out, entityText{Kind: e.Key.Kind, ID: e.Key.ID, Version: e.Version, Body: e.Body})
	}
	return out
}

func tombstoneTexts(all []changelog.Tombstone) (out []entityText) {
	for _, d := range all {
		out = append(out, entityText{Kind: d.Key.Kind, ID: d.Key.ID, Version: d.Version})
	}
	return out
}
