package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Binaries are the built programs.
type Binaries struct {
	Beckond string
	Beckon  string
	Phones  string
}

// Build makes the binaries in dir. The server is built with the given tags;
// "failpoints" gives one that can be told where to die.
func Build(ctx context.Context, dir, tags string) (Binaries, error) {
	b := Binaries{
		Beckond: filepath.Join(dir, "beckond"),
		Beckon:  filepath.Join(dir, "beckon"),
		Phones:  filepath.Join(dir, "beckon-phones"),
	}
	root, err := Root()
	if err != nil {
		return b, err
	}
	for _, one := range []struct{ out, pkg, tags string }{
		{b.Beckond, "./server/cmd/beckond", tags},
		{b.Beckon, "./clients/cmd/beckon", ""},
		{b.Phones, "./push/emulator/cmd/beckon-phones", ""},
	} {
		cmd := exec.CommandContext(ctx, "go", "build", "-tags", one.tags, "-o", one.out, one.pkg)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return b, fmt.Errorf("build %s: %w\n%s", one.pkg, err, out)
		}
	}
	return b, nil
}

// Root is the folder of go.mod above the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod above the working directory: %w", os.ErrNotExist)
		}
		dir = up
	}
}
