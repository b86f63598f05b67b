package seedtest

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func TestEach(t *testing.T) {
	if testing.Short() { // there are fewer then
		defer func() { _ = flag.Set("test.short", "true") }()
		_ = flag.Set("test.short", "false")
	}
	t.Setenv("RONDO_SEED", "")
	x, err := read()
	if err != nil {
		t.Fatal(err)
	}
	x.seeds["TestEach"] = []uint64{3, 4711}
	defer delete(x.seeds, "TestEach")
	var got []uint64
	all := func(t *testing.T) { got = append(got, One(t)) }
	Each(t, all)
	t.Setenv("RONDO_SEED", "5")
	Each(t, all)
	if want := []uint64{3, 4711, 5}; !slices.Equal(got, want) {
		t.Errorf("seeds %d, want %d", got, want)
	}
	t.Setenv("RONDO_SEED", "")
	if got, want := Many(t, 3), []uint64{3, 4, 5, 4711}; !slices.Equal(got, want) {
		t.Errorf("seeds %d, want %d", got, want)
	}
	t.Setenv("RONDO_SEED", "fresh")
	if got := Many(t, 2); len(got) != 2 || got[1] != got[0]+1 || got[0] == 3 {
		t.Errorf("fresh seeds are %d", got)
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"", "TestX 1", "* 1\nTestX", "* 1\nTestX one", "* 1\nTestX 1 zeros", "* -1"} {
		if err := (&table{seeds: make(map[string][]uint64)}).parse(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestRandomTestsHaveSeeds looks into all files of tests: each name of the table is a test, and no
// test begins with what is different each time.
func TestRandomTestsHaveSeeds(t *testing.T) {
	x, err := read()
	if err != nil {
		t.Fatal(err)
	}
	chance := regexp.MustCompile(`Getenv\("RONDO_SEED|\brand\.(Int|Uint|Float|Norm|Exp|Perm|Shuffle|N\()|[sS]eed\w* :?= .*time\.Now`)
	function := regexp.MustCompile(`(?m)^func (Test\w+)`)
	tests := map[string]bool{"*": true}
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, filepath.Join(root, "internal", "seeds")) {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range function.FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
		for line := range strings.Lines(string(text)) {
			if found := chance.FindString(line); found != "" && !strings.Contains(line, "port") {
				t.Errorf("%s: %q makes a test another one each time: see internal/seedtest", name, found)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range x.seeds {
		if !tests[name] {
			t.Errorf("%s names %s, which is no test", file, name)
		}
	}
}
