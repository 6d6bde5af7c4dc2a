package arch_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/e2e/arch"
)

// TestRulesPage is the check of this repository's page: every rule is there,
// and every test it names.
func TestRulesPage(t *testing.T) {
	t.Parallel()
	found, err := arch.CheckPromises(os.DirFS("../.."), "RULES.md", 30, arch.Repository())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

func TestCheckPromises(t *testing.T) {
	t.Parallel()
	const good = "**R1 One.** Text.\nTest: `push/plan.TestPlan`, `push/plan.FuzzPlan`. The rest: not yet built.\n\n**R2 Two.** Text.\nTest: not yet built\n"
	for name, test := range map[string]struct {
		old, instead string
		want         []string
	}{
		"good":         {},
		"missing rule": {"**R2 Two", "**R3 Two", []string{"RULES.md:4: promise: R3 follows R1", "RULES.md:5: promise: the last rule is R3, want R2"}},
		"cut short":    {"\n\n**R2 Two.** Text.\nTest: not yet built\n", "", []string{"RULES.md:2: promise: the last rule is R1, want R2"}},
		"no line":      {"\nTest: not yet built", "", []string{"RULES.md:5: promise: R2 has no line of tests"}},
		"unknown test": {"TestPlan`", "TestPlans`", []string{"RULES.md:2: promise: R1 names push/plan.TestPlans, which is not in the tree"}},
		"other folder": {"push/plan.FuzzPlan", "push.FuzzPlan", []string{"RULES.md:2: promise: R1 names push.FuzzPlan, which is not in the tree"}},
		"no test":      {"FuzzPlan", "TestMain", []string{"RULES.md:2: promise: R1 names push/plan.TestMain, which is not in the tree"}},
		"method":       {"FuzzPlan", "TestMethod", []string{"RULES.md:2: promise: R1 names push/plan.TestMethod, which is not in the tree"}},
		"empty words":  {"Test: not yet built", "Test: to be filled", []string{`RULES.md:5: promise: R2 names no test; of what does not exist say "not yet built"`}},
		"unquoted":     {"The rest", "TestOther too", []string{"RULES.md:2: promise: R1: TestOther: a test is named as `folder.TestName`, with the quotes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{
				"RULES.md":               {Data: []byte(strings.Replace(good, test.old, test.instead, 1))},
				"push/plan/plan_test.go": {Data: []byte("package plan\n\nfunc TestMain() {}\nfunc TestPlan() {}\nfunc (s suite) TestMethod() {}\n")},
				"push/plan/off_test.go":  {Data: []byte("//go:build off\n\npackage plan\n\nfunc FuzzPlan() {}\n")},
			}
			found, err := arch.CheckPromises(tree, "RULES.md", 2, arch.Repository())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckPromises_NoPageIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := arch.CheckPromises(fstest.MapFS{}, "RULES.md", 2, arch.Repository()); err == nil {
		t.Error("a tree without the page passed")
	}
}
