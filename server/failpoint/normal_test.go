//go:build !failpoints

package failpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/beckon-dev/beckon/server/failpoint"
)

func TestHit_NormalBuildSurvives(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	t.Setenv("BECKON_FAILPOINT", "here")
	t.Setenv("BECKON_FAILPOINT_MARK", mark)
	failpoint.Hit("here")
	if _, err := os.Stat(mark); !os.IsNotExist(err) {
		t.Errorf("a normal build left a mark (stat: %v)", err)
	}
}
