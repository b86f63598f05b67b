package original

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// moved compares the files that a program leaves with the files that rondo exports, which rrdtool
// updates as its own, and with the series that rondo imports. rrdtool's files are in the folder
// theirs, and the series in the folder named folder.
func (c *contest) moved(one, two site, theirs, folder string, files []*file, later [][]string) (failure string) {
	out := filepath.Join(two.dir, "out")
	tool, rondo := &single{one}, &single{two}
	rondo.lead = nil
	if a, ok := rondo.run([]string{"export", "--to", out}); !ok || a.Exit != 0 {
		return fmt.Sprintf("export: %+v", a)
	}
	if a, ok := rondo.run([]string{"import", theirs, "--prefix", "imported"}); !ok || a.Exit != 0 {
		return fmt.Sprintf("import: %+v", a)
	}
	rondo.lead = two.lead
	for _, f := range files {
		own, exported := filepath.Join(theirs, f.name), filepath.Join(out, folder, f.name)
		if _, err := os.Stat(own); err != nil {
			continue
		}
		for _, verb := range []string{"dump", "info", "lastupdate"} {
			if d := c.differ(tool, tool, []string{verb, own}, []string{verb, exported}); d != "" {
				return "of an exported file, " + d
			}
			if d := c.differ(tool, rondo, []string{verb, own}, []string{verb, "imported/" + f.name}); d != "" {
				return "of an imported file, " + d
			}
		}
		for _, line := range later {
			if line[1] != f.name {
				continue
			}
			for _, name := range []string{own, exported} {
				line[1] = name
				_, _ = tool.run(line) // refused or not, both are the same afterwards
			}
			if d := c.differ(tool, tool, []string{"dump", own}, []string{"dump", exported}); d != "" {
				return fmt.Sprintf("of an exported file, after %s: %s", shellLine(line), d)
			}
		}
	}
	return ""
}

// differ says how the answers to two commands differ, apart from the name of the file.
func (c *contest) differ(one, two peer, first, second []string) string {
	want, ok := one.run(first)
	got, also := two.run(second)
	if !ok || !also {
		return fmt.Sprintf("%v %v: no answer", first, second)
	}
	want.Stdout = strings.ReplaceAll(want.Stdout, first[1], "NAME")
	got.Stdout = strings.ReplaceAll(got.Stdout, second[1], "NAME")
	c.asked++
	if d := cmp.Diff(comparable(first, want), comparable(second, got)); d != "" {
		return fmt.Sprintf("%s, %s:\n%s", shellLine(first), shellLine(second), d)
	}
	return ""
}
