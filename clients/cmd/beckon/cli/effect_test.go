package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// What an agent or a provider wrote cannot draw on the screen, the arguments
// stand whole, and what is uncertain says where to answer.
func TestPrintEffect(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it is read back below
	s := &session{out: file, err: file, line: &commandLine{}}
	args := `{"to":"` + strings.Repeat("x", 500) + `"}`
	s.printEffect(effectViewOf(&v1.Effect{
		Id: "eff_1", Key: "send\x1b[2J", TaskId: "tsk_1", State: v1.EffectState_EFFECT_STATE_UNCERTAIN, Generation: 1,
		Action: &v1.Action{App: "mail", Operation: "send", ArgsJson: []byte(args)}, Receipt: "ok\x1b]0;x\x07",
		EffectClass: v1.EffectClass_EFFECT_CLASS_OUTWARD, ResolveDecisionId: "dec_1",
		Evidence: []*v1.Evidence{{Generation: 1, Kind: v1.EvidenceKind_EVIDENCE_KIND_NOT_FOUND, Text: "looked\x1b[1A"}},
	}))
	s.printAsked(decisionViewOf(&v1.Decision{Kind: v1.DecisionKind_DECISION_KIND_RESOLVE_UNCERTAIN, Title: "Did this happen?"}))
	out, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"eff_1  uncertain", args, "not_found", "beckon show dec_1", "Beckon asks:"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "the agent says") {
		t.Error("the server's question is shown as the agent's")
	}
	if bytes.ContainsAny(out, "\x1b\x07") {
		t.Errorf("control characters reach the screen:\n%q", out)
	}
}
