package contrib_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestSyntax shows that the languages take the modules without a warning.
func TestSyntax(t *testing.T) {
	for _, args := range [][]string{
		{"perl", "-wc", perlFolder + "/RRDs.pm"},
		{"python3", "-W", "error", "-c", "import pathlib, sys; compile(pathlib.Path(sys.argv[1]).read_text(), sys.argv[1], 'exec')", pythonFolder + "/rrdtool.py"},
	} {
		t.Run(args[0], func(t *testing.T) {
			rrdtooltest.Need(t, args[0])
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env = bare()
			out, err := cmd.CombinedOutput()
			if text := strings.TrimSuffix(string(out), perlFolder+"/RRDs.pm syntax OK\n"); err != nil || text != "" {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestLife has programs fork, be interrupted and lose what they talk to: with a server, and
// without.
func TestLife(t *testing.T) {
	for _, args := range [][]string{{"perl", "testdata/life.pl"}, {"python3", "testdata/life.py"}} {
		for _, served := range []bool{false, true} {
			name, lasts := args[0], "short"
			if served {
				name, lasts = name+" and a server", "long"
			}
			t.Run(name, func(t *testing.T) {
				rrdtooltest.Need(t, args[0])
				t.Parallel()
				dir := t.TempDir()
				env := environment(t, dir)
				rondo, err := program()
				if err != nil {
					t.Fatal(err)
				}
				if served {
					serve(t, dir)
				}
				write(t, filepath.Join(dir, "known"), "#!/bin/sh\necho $$ >pid\nexec "+rondo+" \"$@\"\n", 0o700)
				write(t, filepath.Join(dir, "silent"), "#!/bin/sh\nexec cat >/dev/null\n", 0o700)
				cmd := exec.Command(args[0], absolute(t, args[1]), filepath.Join(dir, "known"), filepath.Join(dir, "silent"), lasts)
				cmd.Dir, cmd.Env = dir, env
				out, err := cmd.CombinedOutput()
				if string(out) != "as it should be\n" || cmd.ProcessState.ExitCode() != 3 {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// TestDatabaseOfTheConfigurationFile has both modules make a series where nothing but the user's
// configuration file names a database: they made one of their own in whatever folder they were run
// in.
func TestDatabaseOfTheConfigurationFile(t *testing.T) {
	const create = "'a.rrd', '--step', '10', 'DS:v:GAUGE:20:U:U', 'RRA:AVERAGE:0.5:1:10'"
	for _, args := range [][]string{
		{"perl", "-e", "use RRDs; RRDs::create(" + create + "); die RRDs::error if RRDs::error"},
		{"python3", "-c", "import rrdtool; rrdtool.create(" + create + ")"},
	} {
		t.Run(args[0], func(t *testing.T) {
			rrdtooltest.Need(t, args[0])
			home, dir := t.TempDir(), t.TempDir()
			if err := os.MkdirAll(filepath.Join(home, "rondo"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(home, "rondo", "rondo.yaml"), "db: "+home+"/named.db\n", 0o600)
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir, cmd.Env = dir, environment(t, dir, "RONDO_DB=", "XDG_CONFIG_HOME="+home)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if _, err := os.Stat(filepath.Join(dir, "rondo.db")); !os.IsNotExist(err) {
				t.Errorf("a database was made in the working folder: %v", err)
			}
			if out := rondo(t, dir, "--db", home+"/named.db", "list"); out != "a.rrd\n" {
				t.Errorf("the database that is named holds %q", out)
			}
		})
	}
}
