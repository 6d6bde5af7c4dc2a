package server_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/beckon-dev/beckon/server/policy"
)

// TestSecurityPage: what people are told about terminals and resets has the
// times that hold.
func TestSecurityPage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../.github/SECURITY.md")
	check(t, err)
	limits := policy.DefaultLimits()
	for _, says := range []string{
		fmt.Sprintf("lasts %.0f minutes", limits.UnlockLife.Minutes()),
		fmt.Sprintf("first %.0f minutes after it claimed", limits.ClaimWindow.Minutes()),
		fmt.Sprintf("good once, for %.0f minutes", limits.ClaimLife.Minutes()),
		fmt.Sprintf("may change the account for %.0f minutes", limits.ClaimWindow.Minutes()),
		"`beckond owner reset`", "inside the boundary of a terminal",
	} {
		if !strings.Contains(string(raw), says) {
			t.Errorf("the page does not say %q", says)
		}
	}
}
