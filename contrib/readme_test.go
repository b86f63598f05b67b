package contrib_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/pagetest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestCommandsOfThePage runs the commands of README.md in order and compares what they print.
func TestCommandsOfThePage(t *testing.T) {
	rrdtooltest.Need(t, "sh", "perl", "python3")
	all, err := pagetest.Read(".")
	all = slices.DeleteFunc(all, func(p *pagetest.Page) bool { return p.Name != "README.md" }) // others have tests of their own
	if err != nil || len(all) != 1 {
		t.Fatalf("%d pages: %v", len(all), err)
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := append(environment(t, dir), "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"))
	command, printed, ran := "", "", 0
	check := func() {
		if command == "" {
			return
		}
		ran++
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != printed {
			t.Errorf("%s: %v\nprints\n%swant\n%s", command, err, out, printed)
		}
		command, printed = "", ""
	}
	for _, c := range all[0].Code {
		if c.Lang != "console" {
			continue
		}
		if line, ok := strings.CutPrefix(c.Text, "$ "); ok {
			check()
			command = line
			continue
		}
		printed += c.Text + "\n"
	}
	check()
	if ran < 4 {
		t.Errorf("only %d commands found", ran)
	}
}
