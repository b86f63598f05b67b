package contrib_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// drawingPrograms names the folder into which .ci/run peers unpacks programs that draw, each into a
// folder of its name. They are not installed.
const drawingPrograms = "RONDO_DRAWING_PROGRAMS"

// drawingProgram returns the folder of a program.
func drawingProgram(t *testing.T, name string) string {
	t.Helper()
	folder, set := os.LookupEnv(drawingPrograms)
	if !set {
		folder = "/usr/src/rondo-drawing-programs"
	}
	folder = filepath.Join(folder, name)
	if _, err := os.Stat(folder); err != nil {
		if set {
			t.Fatalf("%s: %v", drawingPrograms, err)
		}
		t.Skip("there is no ", folder)
	}
	return folder
}

// The time that the series of drawing programs are about.
const (
	drawnStart = "1700000000"
	drawnEnd   = "1700100000"
)

// TestMonitorix has the modules of Debian's Monitorix make, update and draw series by RRDs.pm. What
// they draw is drawn again with librrd from files that rondo exports, and every number is compared.
func TestMonitorix(t *testing.T) {
	rrdtooltest.Need(t, "perl", "rrdtool")
	if exec.Command("perl", "-MRRDs", "-e", "1").Run() != nil {
		rrdtooltest.Lacks(t, "there is no ", "RRDs of librrds-perl")
	}
	folder := drawingProgram(t, "monitorix")
	t.Parallel()
	modules := filepath.Join(folder, "usr/lib/monitorix")
	names := []string{"kern", "proc", "system", "net", "process", "user"}
	if os.Getenv("RONDO_PROGRAMS") != "" {
		names = nil
		all, err := filepath.Glob(filepath.Join(modules, "[a-z]*.pm"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range all {
			names = append(names, strings.TrimSuffix(filepath.Base(name), ".pm"))
		}
	}
	dir := t.TempDir()
	serve(t, dir, "--sync", "none")
	args := append([]string{absolute(t, "testdata/monitorix.pl"), modules, filepath.Join(folder, "etc/monitorix/monitorix.conf")}, names...)
	drawn := record(t, dir, append([]string{"perl", "-I" + absolute(t, "testdata")}, args...)...)
	if len(drawn) < 3*len(names) {
		t.Errorf("%d modules have drawn %d graphs", len(names), len(drawn))
	}
	compareDrawn(t, dir, drawn)
}

// record runs a program whose graphs testdata/Recorded.pm writes down, and returns them.
func record(t *testing.T, dir string, args ...string) (drawn [][]string) {
	t.Helper()
	file := filepath.Join(dir, "drawn")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = environment(t, dir, "RONDO_BASE="+dir, "RECORDED="+file, "RECORDED_START="+drawnStart, "RECORDED_END="+drawnEnd)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%s: %v\n%s", args[0], err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var call []string
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			t.Fatal(err)
		}
		drawn = append(drawn, call)
	}
	return drawn
}

// picture is a name of a picture in the arguments of a graph.
var picture = regexp.MustCompile(`\.(?i:png|svg|gif)$`)

// compareDrawn draws graphs again, with librrd and with rondo, and compares what comes back.
func compareDrawn(t *testing.T, dir string, drawn [][]string) {
	t.Helper()
	theirs := t.TempDir()
	rondo(t, dir, "export", "--to", theirs)
	driver := absolute(t, "testdata/drive.pl")
	original := drive(t, "librrd", theirs, bare(), "perl", driver)
	shim := drive(t, "rondo", dir, environment(t, dir, "RONDO_BASE="+dir), "perl", driver)
	known := 0
	for _, call := range drawn {
		if i := slices.IndexFunc(call, picture.MatchString); i > 0 {
			if err := os.MkdirAll(filepath.Join(theirs, filepath.Dir(call[i])), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		call[0] = "graphv"
		want, got := pictured(call, original.call(call)), pictured(call, shim.call(call))
		if d := sameInPerl(call, want, got); d != "" {
			t.Errorf("%q (-librrd +rondo):\n%s", call, d)
		}
		if want.Error == "" {
			known++
		} else {
			t.Logf("%s: %s", call[1], want.Error)
		}
	}
	if known < len(drawn)/2 { // some modules make no series without their hardware
		t.Errorf("librrd draws only %d of %d graphs", known, len(drawn))
	}
	t.Logf("%d graphs compared", len(drawn))
}
