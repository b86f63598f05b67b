package contrib_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestMRTG has Debian's mrtg write with RRDs.pm and with librrd's, the same readings at the same
// times, and compares what is in the end in rondo with what is in the file.
func TestMRTG(t *testing.T) {
	rrdtooltest.Need(t, "mrtg", "perl", "rrdtool")
	t.Parallel()
	const begin, runs = 1_700_000_000, 4
	configure := func(dir string) {
		script := "#!/bin/sh\n" + `n=$(((CLOCK - ` + strconv.Itoa(begin) + `) / 100 + 1)); echo $((n * 123457)); echo $((n * n * 7654)); echo 1 day; echo host` + "\n"
		config := fmt.Sprintf("WorkDir: %[1]s/work\nLogFormat: rrdtool\nTarget[router]: `%[1]s/target`\nMaxBytes[router]: 12500000\nTitle[router]: R\nPageTop[router]: R\n", dir)
		write(t, filepath.Join(dir, "target"), script, 0o700)
		write(t, filepath.Join(dir, "mrtg.cfg"), config, 0o600)
		if err := os.Mkdir(filepath.Join(dir, "work"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(dir string, n int, env []string) {
		cmd := exec.Command("mrtg", "mrtg.cfg", "--logging", filepath.Join(dir, "log"), "--lock-file", "lock", "--confcache-file", "cache")
		cmd.Dir = dir
		cmd.Env = append(env, "CLOCK="+strconv.Itoa(begin+290*n), "PERL5OPT=-I"+absolute(t, "testdata")+" -MClock")
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			log, _ := os.ReadFile(filepath.Join(dir, "log")) // it may not be there
			t.Fatalf("mrtg: %v\n%s%s", err, out, log)
		}
	}
	const name = "work/router.rrd"
	original, mine := t.TempDir(), t.TempDir()
	configure(original)
	configure(mine)
	for n := range runs {
		run(original, n, bare())
		if n == runs/2 { // from here through a server
			serve(t, mine)
		}
		run(mine, n, environment(t, mine, "RONDO_BASE="+mine))
	}
	cmd := exec.Command("rrdtool", "dump", filepath.Join(original, name))
	cmd.Env = bare()
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := rondo(t, mine, "rrdtool", "dump", name)
	if strings.Count(string(want), "<v>NaN</v>") == strings.Count(string(want), "<v>") {
		t.Fatal("mrtg has written nothing")
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("(-librrd +rondo):\n%s", d)
	}
	t.Logf("%d runs of mrtg compared", runs)
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
