package original

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// originalSource names the folder of rrdtool's source, which .ci/run peers fetches.
const originalSource = "RONDO_RRDTOOL_SOURCE"

// originalScripts returns the folder of rrdtool's own test scripts.
func originalScripts(t *testing.T) string {
	t.Helper()
	named, source := os.LookupEnv(originalSource)
	if !source {
		named = "/usr/src/rrdtool-1.7.2"
	}
	tests := filepath.Join(named, "tests")
	if _, err := os.Stat(filepath.Join(tests, "functions")); err != nil {
		if source {
			t.Fatalf("%s: %v", originalSource, err)
		}
		rrdtooltest.Lacks(t, "there is no source of rrdtool: ", err)
	}
	return tests
}

// fewScripts are run where time is short.
var fewScripts = []string{"create-no-overwrite", "graph1", "rpn1", "tune2"}

// stepsThatFail are those that fail with rondo by design, by script. docs/rrdtool-compat.md says
// why.
var stepsThatFail = map[string][]string{"list1": {"only lists RRDs and directories"}}

// TestOriginalScripts runs rrdtool's own test scripts with rondo in rrdtool's place, alone and
// through a server: each of their steps ends as with rrdtool.
func TestOriginalScripts(t *testing.T) {
	tests := originalScripts(t)
	rrdtool := rrdtooltest.RRDtool(t)
	rrdtooltest.Need(t, "bash", "perl", "awk", "diff")
	rondo, err := exec.LookPath("rondo") // where testscript.Main has put it
	if err != nil {
		t.Fatal(err)
	}
	names := fewScripts
	if seedtest.More() {
		names = scriptsIn(t, tests)
	}
	tools, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	place := []string{"RONDO=" + rondo, "RRDTOOL=" + filepath.Join(tools, "rrdtool"), "PATH=" + tools + ":" + os.Getenv("PATH")}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := runScript(t, tests, name, append(slices.Clone(place), "RRDTOOL="+rrdtool))
			for _, step := range stepsThatFail[name] {
				if i := slices.Index(want, "OK: "+step); i >= 0 {
					want[i] = "FAILED: " + step
				}
			}
			if len(want) == 0 {
				t.Fatal("no step")
			}
			if d := cmp.Diff(want, runScript(t, tests, name, place)); d != "" {
				t.Errorf("alone (-rrdtool +rondo):\n%s", d)
			}
			db := filepath.Join(t.TempDir(), "db")
			serveFor(t, rondo, db)
			if d := cmp.Diff(want, runScript(t, tests, name, append(slices.Clone(place), "RONDO_DB="+db))); d != "" {
				t.Errorf("through a server (-rrdtool +rondo):\n%s", d)
			}
		})
	}
}

// scriptsIn returns the scripts of a folder.
func scriptsIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err == nil && strings.HasPrefix(string(text), "#!") && strings.Contains(string(text), "$RRDTOOL") {
			names = append(names, e.Name())
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %q in %s", names, folder)
	}
	return names
}

// step is a line of a script that says how a step has ended.
var (
	step   = regexp.MustCompile(`(?m)^(OK|FAILED): .*$`)
	detail = regexp.MustCompile(`\([^)]*\) ?|/\S+/`) // exit codes, measured values, folders
)

// runScript runs a script in a copy of its folder and returns how its steps have ended.
func runScript(t *testing.T, tests, name string, env []string) []string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "tests")
	if err := os.CopyFS(folder, os.DirFS(tests)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(folder, name))
	cmd.Dir = folder
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C", "GORACE=" + os.Getenv("GORACE"), "CONTINUE=1",
		"BASEDIR=" + folder, "BUILDDIR=" + folder, "TOP_BUILDDIR=" + folder, "RONDO_BASE=" + folder,
	}, env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	t.Logf("%s", out)
	steps := step.FindAllString(string(out), -1)
	for i := range steps {
		steps[i] = strings.TrimSpace(detail.ReplaceAllString(steps[i], ""))
	}
	return steps
}

// serveFor runs a server on a database until the test ends.
func serveFor(t *testing.T, rondo, db string) {
	t.Helper()
	cmd := exec.Command(rondo, "--db", db, "serve", "--http=", "--collectd=", "--gmetric=", "--mono=", "--rrdcached=")
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
	rrdtooltest.Run(t, cmd)
	rrdtooltest.Listening(t, "unix", filepath.Join(db, "rondo.sock"))
}
