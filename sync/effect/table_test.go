package effect_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/proof"
)

var (
	now   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	mine  = proof.Digest{1}
	other = proof.Digest{2}
)

// must gives a command that is known to do something.
func must(s effect.State, c effect.Command) effect.State {
	events, _, err := effect.Decide(s, c, now)
	if err != nil || len(events) == 0 {
		panic(fmt.Sprintf("%T in %s: %v, %v", c, s.Status, events, err))
	}
	return effect.ApplyAll(s, events, now)
}

// states are the rows of the package doc's table, each as it comes about.
func states() []effect.State {
	none := effect.State{ID: "eff_1", Key: "send", Task: "tsk_1", Digest: mine}
	begun := must(none, effect.Begin{Digest: mine, Attempt: "a1", Alive: true})
	unsure := must(begun, effect.LoseLease{})
	return []effect.State{
		none,
		begun,
		unsure,
		must(begun, effect.Confirm{Generation: 1, Holder: true, Receipt: "no"}),
		must(unsure, effect.Resolve{Exit: effect.DoIt, By: "ins_1", Until: now.Add(time.Hour)}),
		must(begun, effect.Confirm{Generation: 1, OK: true, Receipt: "yes"}),
		must(unsure, effect.Confirm{Generation: 1, Receipt: "no"}),
		must(unsure, effect.Resolve{Exit: effect.Skip, By: "ins_1"}),
	}
}

// name is the name of a state in the table.
func name(s effect.State) string {
	if s.Open() {
		return s.Status.String() + " (open)"
	}
	return s.Status.String()
}

// row is one command in one variant with what follows by state, in the order of
// states: GO, where the effect then is, "kept", "ends", "known", "refused", or
// "-" where nothing is left to do.
type row struct {
	column  string // of the package doc's table; empty if its cells do not tell
	name    string
	command effect.Command
	given   func(*effect.State)
	later   time.Duration
	want    [8]string
}

func rows() []row {
	const (
		ok, no, noOpen = "CONFIRMED", "FAILED", "FAILED (open)"
		human, doIt    = "RESOLVED_BY_HUMAN", "RESOLVED_BY_HUMAN (open)"
		unsure         = "UNCERTAIN"
	)
	begin := effect.Begin{Digest: mine, Attempt: "a2", Alive: true}
	later := begin
	later.Alive = false
	doubtful := begin
	doubtful.Doubtful = true
	elsewhere := begin
	elsewhere.Digest = other
	said := func(kind effect.Kind) effect.Report { return effect.Report{Generation: 1, Kind: kind, Text: "t"} }
	trusted := said(effect.NotFound)
	trusted.Authoritative = true
	third := func(s *effect.State) {
		if s.Generation > 0 {
			s.Generation = effect.MaxGenerations
		}
	}
	second := func(s *effect.State) {
		if s.Generation > 0 {
			s.Generation = 2
		}
	}
	ended := func(s *effect.State) { s.TaskEnded = true }
	keyed := func(s *effect.State) { s.ProviderKey = "idem-1" }
	probed := func(s *effect.State) { s.Probe = "GET /sent" }
	kept := [8]string{"refused", "kept", "kept", "kept", "kept", "kept", "kept", "kept"}
	refused := [8]string{"refused", "refused", "refused", "refused", "refused", "refused", "refused", "refused"}
	return []row{
		{"Begin", "with a living permission", begin, nil, 0, [8]string{"GO", "known", "known", "GO", "GO", "known", "known", "known"}},
		{"Begin", "too late", later, nil, time.Hour, [8]string{"GO", "known", "known", "known", "known", "known", "known", "known"}},
		{"", "after a restore", doubtful, nil, 0, [8]string{unsure, "known", "known", "GO", "GO", "known", "known", "known"}},
		{"", "after a restore, the provider knows", doubtful, keyed, 0, [8]string{"GO", "known", "known", "GO", "GO", "known", "known", "known"}},
		{"", "after a restore, somebody can be asked", doubtful, probed, 0, [8]string{"GO", "known", "known", "GO", "GO", "known", "known", "known"}},
		{"", "another action", elsewhere, nil, 0, [8]string{"GO", "refused", "refused", "refused", "refused", "refused", "refused", "refused"}},

		{"Confirm(ok)", "", effect.Confirm{Generation: 1, OK: true, Receipt: "yes"}, nil, 0, [8]string{"refused", ok, ok, ok, ok, "-", "kept", "kept"}},
		{"Confirm(failure)", "by the holder", effect.Confirm{Generation: 1, Receipt: "no", Holder: true}, nil, 0, [8]string{"refused", noOpen, noOpen, "-", "kept", "kept", "-", "kept"}},
		{"Confirm(failure)", "late", effect.Confirm{Generation: 1, Receipt: "no"}, nil, 0, [8]string{"refused", no, no, "-", "kept", "kept", "-", "kept"}},
		{"", "failure, by the holder, the third", effect.Confirm{Generation: effect.MaxGenerations, Receipt: "no", Holder: true}, third, 0, [8]string{"refused", no, no, "-", "kept", "kept", "-", "kept"}},
		{"", "failure after the end", effect.Confirm{Generation: 1, Receipt: "no", Holder: true}, ended, 0, [8]string{"refused", no, no, "-", "kept", "kept", "-", "kept"}},
		{"", "ok, an older generation", effect.Confirm{Generation: 1, OK: true}, second, 0, kept},
		{"", "failure, an older generation", effect.Confirm{Generation: 1, Holder: true}, second, 0, kept},
		{"", "a generation to come", effect.Confirm{Generation: 2, OK: true}, nil, 0, refused},
		{"", "no generation", effect.Confirm{OK: true}, nil, 0, refused},

		{"Report(found)", "", said(effect.Found), nil, 0, [8]string{"refused", ok, ok, ok, ok, "kept", "kept", "kept"}},
		{"Report(not found)", "", said(effect.NotFound), nil, 0, kept},
		{"Report(not found)", "authoritative", trusted, nil, 0, [8]string{"refused", "kept", noOpen, "kept", "kept", "kept", "kept", "kept"}},
		{"", "not found, authoritative, after the end", trusted, ended, 0, kept},
		{"", "not found, authoritative, an older generation", trusted, second, 0, kept},
		{"Report(unknown)", "", said(effect.Unknown), nil, 0, kept},
		{"", "found, an older generation", said(effect.Found), second, 0, kept},
		{"", "found, a generation to come", effect.Report{Generation: 2, Kind: effect.Found}, nil, 0, refused},

		{"LoseLease", "", effect.LoseLease{}, nil, 0, [8]string{"-", unsure, "-", "-", "-", "-", "-", "-"}},
		{"EndTask", "", effect.EndTask{}, nil, 0, [8]string{"-", unsure, "ends", no, human, "-", "-", "-"}},
		{"Restore", "", effect.Restore{Skip: 1024}, nil, 0, [8]string{"-", unsure, "anew", unsure, unsure, "-", "-", "-"}},
		{"", "restore after the end", effect.Restore{}, func(s *effect.State) { s.TaskEnded, s.Opening = true, effect.Shut }, 0, [8]string{"-", unsure, "anew", "-", "-", "-", "-", "-"}},
		{"Resolve", "happened", effect.Resolve{Exit: effect.Happened}, nil, 0, [8]string{"-", "-", human, "-", "-", "-", "-", "-"}},
		{"Resolve", "do it", effect.Resolve{Exit: effect.DoIt, Until: now.Add(time.Hour)}, nil, 0, [8]string{"-", "-", doIt, "-", "-", "-", "-", "-"}},
		{"", "do it, after the end", effect.Resolve{Exit: effect.DoIt, Until: now.Add(time.Hour)}, ended, 0, [8]string{"-", "-", "refused", "-", "-", "-", "-", "-"}},
		{"", "skip", effect.Resolve{Exit: effect.Skip}, nil, 0, [8]string{"-", "-", human, "-", "-", "-", "-", "-"}},
		{"", "stop", effect.Resolve{Exit: effect.StopTask}, nil, 0, [8]string{"-", "-", human, "-", "-", "-", "-", "-"}},
		{"", "no exit at all", effect.Resolve{}, nil, 0, [8]string{"-", "-", "refused", "-", "-", "-", "-", "-"}},
	}
}

// follows says in the words of a row what a command did.
func follows(c effect.Command, before, after effect.State, events []effect.Event, o effect.Outcome, err error) string {
	_, begin := c.(effect.Begin)
	switch {
	case err != nil && (errors.Is(err, effect.ErrOtherAction) || errors.Is(err, effect.ErrGeneration) || errors.Is(err, effect.ErrExit)):
		return "refused"
	case err != nil:
		return err.Error()
	case o == effect.Go:
		return "GO"
	case begin && len(events) == 0:
		return "known"
	case len(events) == 0:
		return "-"
	case name(before) != name(after):
		return name(after)
	case before.Generation != after.Generation:
		return "anew"
	case before.TaskEnded != after.TaskEnded:
		return "ends"
	case len(after.Evidence) > len(before.Evidence):
		return "kept"
	default:
		return "?"
	}
}

// run carries out one row in one state.
func run(r row, s effect.State) (before, after effect.State, word string) {
	if r.given != nil {
		r.given(&s)
	}
	when := now.Add(r.later)
	events, o, err := effect.Decide(s, r.command, when)
	after = effect.ApplyAll(s, events, when)
	return s, after, follows(r.command, s, after, events, o, err)
}

// Every state × command, in every variant of the command.
func TestDecide_Table(t *testing.T) {
	t.Parallel()
	for _, r := range rows() {
		for i, s := range states() {
			t.Run(fmt.Sprintf("%T %s/%s", r.command, r.name, name(s)), func(t *testing.T) {
				t.Parallel()
				before, after, word := run(r, s)
				if word != r.want[i] {
					t.Fatalf("got %s, want %s", word, r.want[i])
				}
				untouched := states()[i]
				if r.given != nil {
					r.given(&untouched)
				}
				if diff := cmp.Diff(untouched, before); diff != "" {
					t.Errorf("Decide or Apply changed what they were given:\n%s", diff)
				}
				changed := !cmp.Equal(before, after)
				if quiet := word == "-" || word == "known" || word == "refused"; quiet == changed {
					t.Errorf("%s, yet the state changed: %v", word, changed)
				}
			})
		}
	}
}

// GO opens a generation of its own, whatever it follows.
func TestBegin_NextGeneration(t *testing.T) {
	t.Parallel()
	for _, s := range states() {
		events, o, err := effect.Decide(s, effect.Begin{Digest: mine, Attempt: "a2", Alive: true}, now)
		after := effect.ApplyAll(s, events, now)
		if o != effect.Go {
			continue
		}
		if err != nil || after.Status != effect.Begun || after.Generation != s.Generation+1 || after.Attempt != "a2" || after.Open() || after.Exit != 0 {
			t.Errorf("from %s: %+v, %v", name(s), after, err)
		}
	}
}

// Evidence is bounded, repeats are kept once, and the newest stays.
func TestEvidence_Bounded(t *testing.T) {
	t.Parallel()
	s := states()[2]
	for i := range effect.MaxEvidence + 3 {
		said := effect.Report{Generation: 1, Kind: effect.Unknown, Text: fmt.Sprint(i)}
		s = must(s, said)
		if events, o, _ := effect.Decide(s, said, now); len(events) > 0 || o != effect.Known {
			t.Fatalf("a repeat of note %d: %v", i, events)
		}
	}
	if len(s.Evidence) != effect.MaxEvidence || s.Dropped != 3 || s.Evidence[0].Text != "3" {
		t.Errorf("%d notes, %d dropped, first %+v", len(s.Evidence), s.Dropped, s.Evidence[0])
	}
}
