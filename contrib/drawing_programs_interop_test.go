package contrib_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
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
		rrdtooltest.Lacks(t, "there is no ", folder)
	}
	return folder
}

// The time that the series of drawing programs are about.
const (
	drawnDay = 86400
	drawnEnd = 1700100000
)

// A drawing is a graph that a program asked for, and what came of it.
type drawing struct {
	Call  []string `json:"call"`
	Got   any      `json:"got"`
	Error string   `json:"error"`
}

// A showing is a program that draws.
type showing struct {
	seconds int // that its series are about
	command []string
	env     []string
	prepare func(dir string)
}

// A shown is what a program left.
type shown struct {
	output string // standard output without pictures, and standard error
	code   int
	drawn  []drawing
}

// drawnByBoth runs a program with librrd and with rondo, and compares what it prints, how it ends,
// and what every graph gave it. Then all graphs are drawn again, and their numbers are compared. A
// program that wants more than one command has them one after another.
func drawnByBoth(t *testing.T, shows ...showing) []drawing {
	t.Helper()
	theirs, mine := t.TempDir(), t.TempDir()
	serve(t, mine, "--sync", "none")
	var all []drawing
	for _, s := range shows {
		if s.prepare != nil {
			s.prepare(theirs)
			s.prepare(mine)
		}
		want := s.run(t, theirs, bare())
		got := s.run(t, mine, environment(t, mine, "RONDO_BASE="+mine))
		all = append(all, want.drawn...)
		got.output = strings.ReplaceAll(got.output, mine, theirs)
		for i := range got.drawn {
			for j, word := range got.drawn[i].Call {
				got.drawn[i].Call[j] = strings.ReplaceAll(word, mine, theirs)
			}
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(shown{})); d != "" {
			t.Errorf("%q (-librrd +rondo):\n%s", s.command, d)
		}
	}
	driver := absolute(t, "testdata/drive.pl")
	original := drive(t, "librrd", theirs, bare(), "perl", driver)
	shim := drive(t, "rondo", mine, environment(t, mine, "RONDO_BASE="+mine), "perl", driver)
	failed := 0
	for _, d := range all {
		call := append([]string{"graphv"}, d.Call[1:]...)
		want := pictured(call, original.call(call))
		for i := range call {
			call[i] = strings.ReplaceAll(call[i], theirs, mine)
		}
		got := pictured(call, shim.call(call))
		if d := sameInPerl(call, want, got); d != "" {
			t.Errorf("%q (-librrd +rondo):\n%s", call, d)
		}
		if want.Error != "" {
			failed++
			t.Logf("%s: %s", call[1], want.Error)
		}
	}
	if failed > len(all)/2 { // some programs make no series without their hardware
		t.Errorf("librrd draws %d of %d graphs", len(all)-failed, len(all))
	}
	t.Logf("%d graphs compared", len(all))
	return all
}

// run runs a program in a folder.
func (s showing) run(t *testing.T, dir string, env []string) (was shown) {
	t.Helper()
	file := filepath.Join(dir, "drawn")
	cmd := exec.Command(s.command[0], s.command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(env, "RECORDED="+file, fmt.Sprintf("RECORDED_START=%d", drawnEnd-s.seconds), fmt.Sprintf("RECORDED_END=%d", drawnEnd),
		fmt.Sprintf("CLOCK=%d", drawnEnd), "PERL5OPT=-I"+absolute(t, "testdata")+" -MClock", "PERL_HASH_SEED=0", "PERL_PERTURB_KEYS=0")
	cmd.Env = append(cmd.Env, s.env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		was.code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	was.output = differing.ReplaceAllString(withoutPictures(string(out))+errs.String(), "")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return was
	}
	if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var d drawing
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		d.Got = plainPrints(d.Got)
		for i := range d.Call {
			d.Call[i] = differing.ReplaceAllString(d.Call[i], "")
		}
		was.drawn = append(was.drawn, d)
	}
	return was
}

// withoutPictures takes the pictures out of what a program prints.
func withoutPictures(text string) string {
	before, rest, found := strings.Cut(text, "\x89PNG\r\n")
	if !found {
		return text
	}
	_, rest, _ = strings.Cut(rest, "IEND")
	return before + "a picture" + withoutPictures(rest[min(len(rest), 4):])
}

// differing is what is another thing every time: the size of a page with a picture, and a name that
// Smokeping makes of the number of its process.
var differing = regexp.MustCompile(`(?i)content-length: \d+|(?-i)__navcache/\d+`)

// needLibrrd wants Perl with librrd's module.
func needLibrrd(t *testing.T) {
	t.Helper()
	rrdtooltest.Need(t, "perl", "rrdtool")
	if exec.Command("perl", "-MRRDs", "-e", "1").Run() != nil {
		rrdtooltest.Lacks(t, "there is no ", "RRDs of librrds-perl")
	}
}

// TestMonitorix has the modules of Debian's Monitorix make, update and draw series.
func TestMonitorix(t *testing.T) {
	needLibrrd(t)
	folder := drawingProgram(t, "monitorix")
	t.Parallel()
	modules := filepath.Join(folder, "usr/lib/monitorix")
	names := []string{"kern", "proc", "system", "net", "process", "user"}
	if seedtest.More() {
		names = nil
		all, err := filepath.Glob(filepath.Join(modules, "[a-z]*.pm"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range all {
			names = append(names, strings.TrimSuffix(filepath.Base(name), ".pm"))
		}
	}
	args := append([]string{"perl", absolute(t, "testdata/monitorix.pl"), modules, filepath.Join(folder, "etc/monitorix/monitorix.conf")}, names...)
	drawn := drawnByBoth(t, showing{seconds: 100000, command: args})
	if len(drawn) < 3*len(names) {
		t.Errorf("%d modules have drawn %d graphs", len(names), len(drawn))
	}
}

// TestMunin has Debian's munin-graph draw what munin-update's way of making series made.
func TestMunin(t *testing.T) {
	needLibrrd(t)
	folder := drawingProgram(t, "munin")
	t.Parallel()
	drawn := drawnByBoth(t, showing{
		seconds: 10 * drawnDay,
		command: perlOf(t, folder, absolute(t, "testdata/munin.pl"), absolute(t, "testdata/munin.txt")),
	})
	if len(drawn) < 6*4 {
		t.Errorf("%d graphs", len(drawn))
	}
}

// TestSmokeping has Debian's Smokeping make series and show its pages: overviews, details, several
// hosts in one, the navigator, and what its script asks for.
func TestSmokeping(t *testing.T) {
	needLibrrd(t)
	folder := drawingProgram(t, "smokeping")
	t.Parallel()
	drawn := drawnByBoth(t, showing{
		seconds: 10 * drawnDay,
		command: perlOf(t, folder, absolute(t, "testdata/smokeping.pl"), absolute(t, "testdata/smokeping.conf")),
	})
	if len(drawn) < 50 {
		t.Errorf("%d graphs", len(drawn))
	}
}

// TestCollectionCGI has the page that collectd comes with draw its types of series.
func TestCollectionCGI(t *testing.T) {
	needLibrrd(t)
	folder := drawingProgram(t, "collectd-core")
	t.Parallel()
	every := "9"
	if seedtest.More() {
		every = "1"
	}
	drawn := drawnByBoth(t, showing{
		seconds: 2 * drawnDay,
		command: perlOf(t, folder, absolute(t, "testdata/collection.pl"), filepath.Join(folder, "usr/share/doc/collectd-core/examples/collection.cgi"), every),
	})
	if len(drawn) < 20 {
		t.Errorf("%d graphs", len(drawn))
	}
}

// perlOf begins the command of a program in Perl that is not installed, and finds its modules.
func perlOf(t *testing.T, folder string, more ...string) []string {
	t.Helper()
	binary, err := filepath.Glob(filepath.Join(folder, "usr/lib/*/perl5/*"))
	if err != nil {
		t.Fatal(err)
	}
	command := []string{"perl", "-I" + filepath.Join(folder, "usr/share/perl5")}
	for _, dir := range binary {
		command = append(command, "-I"+dir)
	}
	return append(command, more...)
}
