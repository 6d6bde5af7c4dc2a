package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestAllowList looks at the inside, since no line of the server breaks the
// list on purpose.
func TestAllowList(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(allowList{slog.NewTextHandler(&out, nil)})
	log.Info("a", slog.String("procedure", "kept"), slog.String("title", "LEAK"))
	log.With("token", "LEAK", "lane", "kept").Info("b")
	log.WithGroup("g").Info("c", slog.String("body", "LEAK"), slog.String("code", "kept"))
	log.Info("d", slog.Group("any", slog.String("code", "LEAK")))
	if got := out.String(); strings.Contains(got, "LEAK") || strings.Count(got, "kept") != 3 {
		t.Error(got)
	}
}
