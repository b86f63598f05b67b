package contrib_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// A commander is a program that draws with commands. It runs twice over the same readings, in a
// folder each: with rrdtool, and with rondo that is called rrdtool.
type commander struct {
	t            *testing.T
	theirs, mine string
	ours         []string // the environment of the second
	tool, link   string   // rrdtool, and rondo by that name
	shown        int
}

// newCommander makes both folders, each with a copy of the files of a program, and a server for the
// second.
func newCommander(t *testing.T, files string) *commander {
	t.Helper()
	rondo, err := program()
	if err != nil {
		t.Fatal(err)
	}
	c := &commander{t: t, theirs: t.TempDir(), mine: t.TempDir(), tool: rrdtooltest.Peer(t, "rrdtool")}
	c.ours = environment(t, c.mine, "RONDO_BASE="+c.mine)
	for _, dir := range []string{c.theirs, c.mine} {
		if err := os.CopyFS(dir, os.DirFS(files)); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "recorded"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	serve(t, c.mine, "--sync", "none")
	c.link = filepath.Join(t.TempDir(), "rrdtool")
	if err := os.Symlink(rondo, c.link); err != nil {
		t.Fatal(err)
	}
	return c
}

// write puts a file into both folders.
func (c *commander) write(name, text string) {
	c.t.Helper()
	for _, dir := range []string{c.theirs, c.mine} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			c.t.Fatal(err)
		}
		write(c.t, path, text, 0o600)
	}
}

// fill runs commands with both. Programs look whether there is a file of a series: rondo's database
// has the series, and an empty file stands beside it.
func (c *commander) fill(commands []string) {
	c.t.Helper()
	for _, words := range commands {
		if name, ok := strings.CutPrefix(words, "create "); ok {
			name, _, _ = strings.Cut(name, " ")
			c.write(name, "")
			if err := os.Remove(filepath.Join(c.theirs, name)); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	theirs, mine := rrdtooltest.StartPipe(c.t, c.tool, c.theirs, bare()), rrdtooltest.StartPipe(c.t, c.link, c.mine, c.ours)
	for _, words := range commands {
		_, err := theirs.Ask(words)
		_, mistake := mine.Ask(words)
		if err != nil || mistake != nil {
			c.t.Fatalf("%.100s: %v, %v", words, err, mistake)
		}
	}
}

// show runs a program with both, and compares what it prints and how it ends.
func (c *commander) show(env []string, command ...string) {
	c.t.Helper()
	want := c.run(c.theirs, append(bare("RRDTOOL="+c.tool), env...), command)
	got := c.run(c.mine, append(slices.Clone(c.ours), append([]string{"RRDTOOL=" + c.link}, env...)...), command)
	if d := cmp.Diff(want, got, cmp.AllowUnexported(shown{})); d != "" {
		c.t.Errorf("%q (-rrdtool +rondo):\n%s", command, d)
	}
	if want.output == "" {
		c.t.Errorf("%q shows nothing", command)
	}
	c.shown++
}

// drawnSVG is a picture in what a program prints, and the size of one.
var drawnSVG = regexp.MustCompile(`(?s)<\?xml.*</svg>\n?|BLOB_SIZE:\d+`)

func (c *commander) run(dir string, env, command []string) (was shown) {
	c.t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(env, "RECORDED="+filepath.Join(dir, "recorded"), fmt.Sprintf("CLOCK=%d", drawnEnd))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		was.code = exit.ExitCode()
	} else if err != nil {
		c.t.Fatal(err)
	}
	text := strings.ReplaceAll(withoutPictures(string(out))+errs.String(), "-nan", "nan")
	was.output = drawnSVG.ReplaceAllString(text, "a picture")
	return was
}

// recorded returns the commands that a program has run in a folder.
func (c *commander) recorded(dir string) (commands [][]string) {
	c.t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "recorded", "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			c.t.Fatal(err)
		}
		commands = append(commands, strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"))
	}
	return commands
}

// compare wants both programs to have run the same commands, and runs each again: graph as graphv,
// with all its numbers. It returns how many were graphs.
func (c *commander) compare() (graphs int) {
	c.t.Helper()
	commands := c.recorded(c.theirs)
	if d := cmp.Diff(commands, c.recorded(c.mine)); d != "" {
		c.t.Errorf("commands (-rrdtool +rondo):\n%s", d)
	}
	failed := 0
	for _, words := range commands {
		if words[0] == "graph" || words[0] == "graphv" {
			words = append([]string{"graphv", "o.png"}, words[2:]...)
			graphs++
		}
		want := c.run(c.theirs, bare(), append([]string{c.tool}, words...))
		got := c.run(c.mine, c.ours, append([]string{c.link}, words...))
		if d := cmp.Diff(want, got, cmp.AllowUnexported(shown{})); d != "" {
			c.t.Errorf("%q (-rrdtool +rondo):\n%s", words, d)
		}
		if want.code != 0 {
			failed++
			c.t.Logf("%.300q: %s", words, want.output)
		}
	}
	if failed > graphs/10 {
		c.t.Errorf("rrdtool refuses %d of %d commands", failed, len(commands))
	}
	c.t.Logf("%d pages, %d commands, %d of them graphs, compared; rrdtool refuses %d", c.shown, len(commands), graphs, failed)
	return graphs
}
